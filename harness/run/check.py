"""A user's own models, taken through the packages of some releases: what to ask, and the runs."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.files import replace_file, written_to
from harness.base.words import plural
from harness.catalogue.releases import Catalogue
from harness.gate.defect_table import own_torch_in_cases
from harness.gate.model_answer import ModelAnswer, model_answer
from harness.register.expected import read_expectations
from harness.run.judged_run import JudgedRun, raise_if_nothing_ran
from harness.run.options import OnSplit, Progress, RunOptions
from harness.run.run import corpus_at, run
from harness.subjects.packages import Installed, preflight
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus
from harness.wire.builders import MATCHED, SEGMENT
from harness.wire.oracles import Oracle
from harness.wire.records import CaseInfo, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage

#: So many of the newest releases are asked where nobody names any.
NEWEST: Final = 3
_NAME: Final = re.compile(r"\W+")


def _version_of(pin: str) -> str:
    """``2.14.0`` of ``>=2.14.0+cu130``."""
    return pin.lstrip("=~<>").partition("+")[0]


@dataclass(frozen=True)
class ModelOptions:
    """A model as the command line names it; see `corpus.models_file` for what each text means."""

    model: str
    inputs: str = ""
    fallback: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # NAME=VALUE


@dataclass(frozen=True)
class Checked:
    """What came out for some models.

    ``place`` is the models file, as a command in any folder finds it. ``runs`` are the runs that
    were made, the newest releases in the first. ``splits`` tells how the newest release split each
    model, and ``split_by`` how older ones did, by model and release. ``installed`` is the package
    that was asked, if it is the one that is installed here. ``own_torch`` says of a known defect,
    by its id and a release, what it does in this project's cases with the torch which that release
    pins, where that is less than here.
    """

    place: str
    answers: tuple[ModelAnswer, ...]
    runs: tuple[JudgedRun, ...]
    splits: Mapping[str, Mapping[str, Any]]
    torch: str
    installed: Installed | None = None
    builder: str = SEGMENT
    own_torch: Mapping[tuple[str, str], str] = field(default_factory=dict)
    split_by: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def split_of(self, answer: ModelAnswer) -> tuple[str, Mapping[str, Any]]:
        """The release to use and how it splits a model; where nothing is told, the newest."""
        best = answer.best.release if answer.best else ""
        newest = next(iter(answer.releases), ""), self.splits.get(answer.model, {})
        split = self.split_by.get((answer.model, best))
        return newest if split is None else (best, split)

    def pinned(self, release: str) -> str:
        """The torch that a release pins, if it was asked here with another one."""
        specs = {spec.subject: spec for run in self.runs for spec in run.subjects}
        pin = (specs[release].torch_pinned or "") if release in specs else ""
        other = self.installed is None and not self.torch.startswith(_version_of(pin))
        return _version_of(pin) if other else ""

    def run_of(self, release: str) -> JudgedRun:
        """The run that asked a release."""
        asked = (run for run in self.runs if release in {spec.subject for spec in run.subjects})
        return next(asked, self.runs[0])


def models_place(options: ModelOptions, out: Path, keep: Path | None = None) -> tuple[Path, bool]:
    """The models file of a model: itself if it is one, else one that is written for it.

    One that says something else, of an earlier check, stays as it is: its commands are printed.

    Args:
        out: the folder below which it is written.
        keep: the file to write instead.

    Returns:
        The file, and whether it is new.

    Raises:
        UsageError: there is no such file, a setting is not NAME=VALUE, or ``keep`` is taken.
    """
    file = Path(options.model.partition(":")[0])
    if not file.is_file():
        lacking = f"{file} is a folder" if file.is_dir() else f"there is no file {file}"
        raise UsageError(
            f"{options.model}: {lacking}; name a model as FILE.py:CLASS, an archive as FILE.pt2, "
            "or several in a FILE.toml"
        )
    if file.suffix == ".toml":
        if dataclasses.replace(options, model="") != ModelOptions(""):
            raise UsageError(f"{file} says itself what its models are given; leave the options out")
        return file, False
    name = _NAME.sub("_", options.model.partition(":")[2] or file.stem)
    if keep is not None and (keep.suffix != ".toml" or keep.exists()):
        raise UsageError(f"--save-case {keep}: give the name of a new FILE.toml")
    text = "\n".join(_table(name, options)).encode()
    names = (f"{name}-{number}.toml" if number else f"{name}.toml" for number in count())
    places = (keep,) if keep else (out / "models" / each for each in names)
    place = next(each for each in places if not each.exists() or each.read_bytes() == text)
    if place.exists():
        return place, False
    with written_to(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    replace_file(place, text)
    return place, True


def _table(name: str, options: ModelOptions) -> Iterator[str]:
    yield f"[{name}]"
    yield f"model = {_absolute(options.model)}"
    if options.inputs:
        yield f"inputs = {_absolute(_inputs(options))}"
    for key, given in (("fallback", options.fallback), ("dynamic", options.dynamic)):
        if given:
            texts = [_absolute(each) if ".py:" in each else json.dumps(each) for each in given]
            yield f"{key} = [{', '.join(texts)}]"
    if options.settings:
        yield f"settings = {{ {', '.join(map(_setting, options.settings))} }}"
    yield ""


def _inputs(options: ModelOptions) -> str:
    """Where the function of the inputs is; a name alone is one of the model's own file."""
    named, (file, _, _) = options.inputs, options.model.partition(":")
    if named.isidentifier() and Path(file).suffix == ".py":
        return f"{file}:{named}"
    if Path(named.partition(":")[0]).suffix != ".py":
        raise UsageError(f"--inputs {named}: write FILE.py:FUNCTION, such as my_model.py:example")
    return named


def _absolute(named: str) -> str:
    file, colon, name = named.partition(":")
    return json.dumps(f"{Path(file).resolve()}{colon}{name}")


def _setting(text: str) -> str:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise UsageError(f"--setting {text!r}: write NAME=VALUE, such as min_block_size=3")
    lowered = value.strip().lower()
    number = re.fullmatch(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", lowered)
    return f"{name} = {lowered if number or lowered in ('true', 'false') else json.dumps(value)}"


def releases_to_ask(catalogue: Catalogue, stated: str, first: str, last: str) -> tuple[str, ...]:
    """The releases to ask, the newest first.

    Args:
        stated: as `Catalogue.select` takes them; empty for the newest.
        first, last: the two that an upgrade is about, or empty.

    Raises:
        UsageError: no such release, or one that has no whole package here.
    """
    if bool(first) != bool(last):
        raise UsageError("--from and --to belong together: the release in use, and the next one")
    if first and stated:
        raise UsageError("--releases and --from/--to ask for different things; give one of them")
    packaged = [release for release in catalogue if release.package_routes]
    if first:
        chosen = [catalogue.get(last), catalogue.get(first)]
    elif stated:
        chosen = list(reversed(catalogue.select(stated)))
    else:
        chosen = list(reversed(packaged[-NEWEST:]))
    without = [release.version for release in chosen if not release.package_routes]
    if without:
        raise UsageError(
            f"{', '.join(without)}: a model is taken through whole packages, which can be asked "
            f"from {packaged[0].version} on"
        )
    return tuple(release.version for release in chosen)


def check(
    place: Path,
    releases: Sequence[str],
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Callable[[Sequence[CaseInfo]], Progress],
    *,
    go_back: bool,
) -> Checked:
    """Take the models of a file through releases, and older ones until each model has a safe call.

    Args:
        options: of the run, whose corpus, releases and lanes are set here.
        progress: makes what shows how far it is, for the models that there are.
        go_back: whether older releases are asked while a model has no call that is right.

    Raises:
        UsageError: every model, or what it is given, is wrong.
    """
    options = dataclasses.replace(
        options, corpus=(str(place.resolve()),), lanes=(Lane.PACKAGE, Lane.GRAPH)
    )
    corpus, splits = _read_models(options, toolchain, releases[0])
    runs: list[JudgedRun] = []
    asked: list[str] = []
    older = [release.version for release in catalogue if release.package_routes]
    waiting = list(releases)
    while waiting:
        chosen = dataclasses.replace(options, releases=",".join(waiting))
        shown = progress(corpus.cases)
        on_split = splits.told_to(shown.say)
        runs.append(run(chosen, toolchain, catalogue, shown, corpus=corpus, on_split=on_split))
        asked += waiting
        answers = _answers(splits, runs, asked)
        unsafe = [
            answer
            for answer in answers
            if answer.best is None and not answer.wrong and not answer.refused_by_torch
        ]
        left = [each for each in older[: older.index(asked[-1])] if each not in asked]
        waiting = list(reversed(left[-2:])) if go_back and unsafe else []
    return Checked(
        str(place.resolve()),
        answers,
        tuple(runs),
        splits.of,
        toolchain.python_env().torch_version,
        builder=options.builders[0],
        own_torch=_own_torch(answers, catalogue),
        split_by=splits.by,
    )


def check_here(
    place: Path,
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Callable[[Sequence[CaseInfo]], Progress],
) -> Checked:
    """Take the models of a file through the package that is installed, with engines on the GPU.

    Nothing is emulated.

    Raises:
        Unavailable: there is no GPU, or no package; in one line.
        UsageError: as `check`.
    """
    installed = preflight(toolchain.python)
    options = dataclasses.replace(
        options,
        corpus=(str(place.resolve()),),
        lanes=(Lane.ENGINE,),
        environment=MATCHED,
        releases=installed.release,
    )
    corpus, splits = _read_models(options, toolchain, installed.release)
    shown = progress(corpus.cases)
    on_split = splits.told_to(shown.say)
    judged = run(options, toolchain, catalogue, shown, corpus=corpus, on_split=on_split)
    return Checked(
        str(place.resolve()),
        _answers(splits, [judged], [installed.release]),
        (judged,),
        splits.of,
        toolchain.python_env().torch_version,
        installed,
    )


class _Splits:
    """How the newest release splits each model, or what is wrong with it, as that gets known.

    Attributes:
        of: by model, as `harness.rig.workers.model_split` tells.
        by: by model and release, those of the releases before.
    """

    def __init__(self, models: Sequence[CaseInfo], newest: str) -> None:
        self._newest = newest
        self.models = tuple(each.name for each in models)
        self.of: dict[str, Mapping[str, Any]] = {}
        self.by: dict[tuple[str, str], Mapping[str, Any]] = {}
        for each in models:
            if each.wrong:
                self.add({"case": each.name, "wrong": each.wrong})

    def add(self, split: Mapping[str, Any]) -> None:
        """Keep how a model is split.

        Raises:
            UsageError: there is something wrong with every model.
        """
        self.of[split["case"]] = split
        wrong = [each["wrong"] for each in self.of.values() if "wrong" in each]
        if len(wrong) == len(self.models):
            raise UsageError("; ".join(wrong))

    def told_to(self, say: Callable[[str], None]) -> OnSplit:
        """What keeps a split; of several models it says each."""

        def on_split(split: Mapping[str, Any]) -> None:
            if split["subject"] != self._newest:
                if "engines" in split or "refused" in split:
                    self.by[split["case"], split["subject"]] = split
                return
            self.add(split)
            engines = plural(split["engines"], "engine") if "engines" in split else "not compiled"
            if len(self.models) > 1:
                told = split.get("wrong") or f"{split['case']}: {engines}"
                say(f"{len(self.of)}/{len(self.models)} {told}")

        return on_split

    def add_missing(self, records: Iterable[CellRecord]) -> None:
        """Add the models of which nothing was told because the process that splits them ended."""
        for record in records:
            key = record.key
            if (key.subject, key.route) != (self._newest, Route.COMPILE) or key.case in self.of:
                continue
            ended = record.verdict(Oracle.COMPLETION)
            wrong = f"{key.case}: the process that exports the model ended: {ended.message}"
            told = {"wrong": wrong} if ended.stage is Stage.CAPTURE else {"refused": ended.message}
            self.add({"case": key.case, **told})


def _read_models(options: RunOptions, toolchain: Toolchain, newest: str) -> tuple[Corpus, _Splits]:
    """The models that can be asked, and what is known of the splits of all.

    Raises:
        UsageError: there is something wrong with every model.
    """
    corpus = corpus_at(options.corpus, toolchain)
    right = tuple(each for each in corpus.cases if not each.wrong)
    return dataclasses.replace(corpus, cases=right), _Splits(corpus.cases, newest)


def _answers(
    splits: _Splits, runs: Sequence[JudgedRun], releases: Sequence[str]
) -> tuple[ModelAnswer, ...]:
    for each in runs:
        raise_if_nothing_ran(each)
    records: list[CellRecord] = [record for each in runs for record in each.records.values()]
    known = runs[0].expectations
    splits.add_missing(records)
    if lost := [model for model in splits.models if model not in splits.of]:
        raise SurroundingsError(
            f"{', '.join(lost)}: nothing is known of its split, since the process that makes it "
            f"was lost; {runs[0].folder.path / 'workers'} has its log: check it again"
        )
    return tuple(
        ModelAnswer(model, tuple(releases), (), {}, None, wrong)
        if (wrong := splits.of[model].get("wrong", ""))
        else model_answer(model, records, releases, known.table, known.register)
        for model in splits.models
    )


def _own_torch(answers: Iterable[ModelAnswer], catalogue: Catalogue) -> dict[tuple[str, str], str]:
    """What `Checked.own_torch` has, of the defects that are told of some model."""
    # What the project's own cases show: no user's table says how a defect does with another torch.
    known = read_expectations(undecided=True)
    told = {}
    for defect, release in {
        (defect.id, call.release)
        for answer in answers
        for call in answer.failing
        for cause in call.causes
        for defect in cause.defects
        if defect.id in known.register.by_id
    }:
        shown = known.standings.of(defect, release)
        if shown.release == release:
            told[defect, release] = own_torch_in_cases(known.standings, shown, catalogue.torches)
    return {which: words for which, words in told.items() if words}
