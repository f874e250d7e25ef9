"""A user's own models, taken through the packages of some releases: what to ask, and the runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.base.words import plural
from harness.catalogue.releases import Catalogue
from harness.gate.defect_table import own_torch_in_cases
from harness.gate.model_answer import ModelAnswer, model_answer
from harness.register.expected import read_expectations
from harness.run.checked import Checked
from harness.run.judged_run import JudgedRun, raise_if_nothing_ran
from harness.run.modules_given import with_modules
from harness.run.options import OnSplit, Progress, RunOptions
from harness.run.run import corpus_at, run
from harness.subjects.packages import preflight
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus
from harness.wire.builders import MATCHED
from harness.wire.oracles import Oracle
from harness.wire.records import CaseInfo, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage

#: So many of the newest releases are asked where nobody names any.
NEWEST: Final = 3


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
        shown = progress(splits.cases)
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
    checked = Checked(
        str(place.resolve()),
        answers,
        tuple(runs),
        splits.of,
        toolchain.python_env().torch_version,
        builder=options.builders[0],
        own_torch=_own_torch(answers, catalogue),
        split_by=splits.by,
    )
    asked_of = dataclasses.replace(options, lanes=(Lane.PACKAGE,))
    return with_modules(checked, splits.alike, corpus, asked_of, toolchain, catalogue, progress)


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
    shown = progress(splits.cases)
    on_split = splits.told_to(shown.say)
    judged = run(options, toolchain, catalogue, shown, corpus=corpus, on_split=on_split)
    checked = Checked(
        str(place.resolve()),
        _answers(splits, [judged], [installed.release]),
        (judged,),
        splits.of,
        toolchain.python_env().torch_version,
        installed,
    )
    return with_modules(checked, splits.alike, corpus, options, toolchain, catalogue, progress)


class _Splits:
    """How the newest release splits each model, or what is wrong with it, as that gets known.

    Attributes:
        of: by model, as `harness.rig.workers.model_split` tells.
        by: by model and release, those of the releases before.
        alike: by model and release, whether `torch_tensorrt.compile` of the module itself compiles
            the program that was asked.
    """

    def __init__(self, models: Sequence[CaseInfo], newest: str) -> None:
        self._newest = newest
        self.cases = models
        self.models = tuple(each.name for each in models)
        self.of: dict[str, Mapping[str, Any]] = {}
        self.by: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.alike: dict[tuple[str, str], bool] = {}
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
            if "module_traced_alike" in split:
                self.alike[split["case"], split["subject"]] = split["module_traced_alike"]
                return
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
    models = tuple(each for each in corpus.cases if not each.module_of)
    return dataclasses.replace(corpus, cases=right), _Splits(models, newest)


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
