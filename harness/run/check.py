"""A user's own models, taken through the packages of some releases: what to ask, and the runs."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.files import replace_file, written_to
from harness.base.words import plural
from harness.catalogue.releases import Catalogue
from harness.gate.model_answer import ModelAnswer, model_answer
from harness.run.judged_run import JudgedRun
from harness.run.options import Progress, RunOptions
from harness.run.run import run
from harness.subjects.packages import Installed, preflight
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import answers_of, package_lane, read_corpus
from harness.wire.builders import CUDA, MATCHED, SEGMENT, Builder
from harness.wire.records import CaseInfo, CellRecord
from harness.wire.routes import Lane

#: So many of the newest releases are asked where nobody names any.
NEWEST: Final = 3
_NAME: Final = re.compile(r"\W+")


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

    ``runs`` are the runs that were made, the newest releases in the first. ``splits`` tells how the
    newest release split each model. ``installed`` is the package that was asked, if it is the one
    that is installed here.
    """

    place: str
    answers: tuple[ModelAnswer, ...]
    runs: tuple[JudgedRun, ...]
    splits: Mapping[str, Mapping[str, Any]]
    torch: str
    installed: Installed | None = None
    builder: str = SEGMENT


def models_place(options: ModelOptions, out: Path, keep: Path | None = None) -> Path:
    """The models file of a model: itself if it is one, else one that is written for it.

    Args:
        out: the folder below which it is written.
        keep: the file to write instead.

    Raises:
        UsageError: there is no such file, a setting is not NAME=VALUE, or ``keep`` is taken.
    """
    file = Path(options.model.partition(":")[0])
    if not file.is_file():
        raise UsageError(
            f"{options.model}: there is no file {file}; name a model as FILE.py:CLASS, an archive "
            "as FILE.pt2, or several in a FILE.toml"
        )
    if file.suffix == ".toml":
        if dataclasses.replace(options, model="") != ModelOptions(""):
            raise UsageError(f"{file} says itself what its models are given; leave the options out")
        return file
    name = _NAME.sub("_", options.model.partition(":")[2] or file.stem)
    if keep is not None and (keep.suffix != ".toml" or keep.exists()):
        raise UsageError(f"--save-case {keep}: give the name of a new FILE.toml")
    place = keep or out / "models" / f"{name}.toml"
    with written_to(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    replace_file(place, "\n".join(_table(name, options)).encode())
    return place


def _table(name: str, options: ModelOptions) -> Iterator[str]:
    yield f"[{name}]"
    yield f"model = {_absolute(options.model)}"
    if options.inputs:
        yield f"inputs = {_absolute(options.inputs)}"
    for key, given in (("fallback", options.fallback), ("dynamic", options.dynamic)):
        if given:
            texts = [_absolute(each) if ".py:" in each else json.dumps(each) for each in given]
            yield f"{key} = [{', '.join(texts)}]"
    if options.settings:
        yield f"settings = {{ {', '.join(map(_setting, options.settings))} }}"
    yield ""


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
        options,
        corpus=(str(place.resolve()),),
        lanes=(Lane.PACKAGE, Lane.GRAPH),
    )
    corpus = read_corpus(toolchain.python, options.corpus, toolchain.cache)
    models = corpus.names
    # First, since this tells what is wrong with a model before anything takes long.
    setup = package_lane(toolchain.package_site(catalogue.get(releases[0])), options.corpus)
    splits = _splits(toolchain, setup, models, progress(corpus.cases).say)
    runs: list[JudgedRun] = []
    asked: list[str] = []
    older = [release.version for release in catalogue if release.package_routes]
    waiting = list(releases)
    while waiting:
        chosen = dataclasses.replace(options, releases=",".join(waiting))
        runs.append(run(chosen, toolchain, catalogue, progress(corpus.cases), corpus=corpus))
        asked += waiting
        answers = _answers(models, runs, asked, splits)
        unsafe = [answer for answer in answers if answer.best is None and not answer.wrong]
        left = [version for version in older if version not in asked]
        left = [version for version in left if older.index(version) < older.index(asked[-1])]
        waiting = list(reversed(left[-2:])) if go_back and unsafe else []
    return Checked(
        str(place),
        answers,
        tuple(runs),
        splits,
        toolchain.python_env().torch_version,
        builder=options.builders[0],
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
    places = (str(place.resolve()),)
    corpus = read_corpus(toolchain.python, places, toolchain.cache)
    setup = {
        "lane": Lane.PACKAGE,
        "site": None,
        "release": installed.release,
        "builder": Builder.of(installed.builder, installed.tensorrt),
        "corpus": list(places),
        "seed": options.seed,
        "executor": CUDA,
        "device": "cuda",
    }
    splits = _splits(toolchain, setup, corpus.names, progress(corpus.cases).say)
    options = dataclasses.replace(
        options,
        corpus=places,
        lanes=(Lane.ENGINE,),
        environment=MATCHED,
        releases=installed.release,
    )
    judged = run(options, toolchain, catalogue, progress(corpus.cases), corpus=corpus)
    return Checked(
        str(place),
        _answers(corpus.names, [judged], [installed.release], splits),
        (judged,),
        splits,
        toolchain.python_env().torch_version,
        installed,
    )


def _answers(
    models: Sequence[str],
    runs: Sequence[JudgedRun],
    releases: Sequence[str],
    splits: Mapping[str, Mapping[str, Any]],
) -> tuple[ModelAnswer, ...]:
    records: list[CellRecord] = [record for each in runs for record in each.records.values()]
    known = runs[0].expectations
    return tuple(
        ModelAnswer(model, tuple(releases), (), {}, None, wrong)
        if (wrong := splits[model].get("wrong", ""))
        else model_answer(
            model, records, releases, known.table, known.register, splits[model]["lacks"]
        )
        for model in models
    )


def _splits(
    toolchain: Toolchain,
    setup: Mapping[str, Any],
    models: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, dict[str, Any]]:
    """How a package splits each model, as `harness.rig.questions.model_split` tells.

    Raises:
        UsageError: there is something wrong with every model.
    """
    say(f"how {setup['release']} splits {plural(len(models), 'model')} ...")
    splits: dict[str, dict[str, Any]] = {}
    for split in answers_of(toolchain.python, "model_splits", **setup, cases=list(models)):
        splits[split["case"]] = split
        if len(models) > 1:
            engines = plural(split["engines"], "engine") if "engines" in split else "not compiled"
            told = split.get("wrong") or f"{split['case']}: {engines}"
            say(f"{len(splits)}/{len(models)} {told}")
    wrong = [split["wrong"] for split in splits.values() if "wrong" in split]
    if len(wrong) == len(models):
        raise UsageError("; ".join(wrong))
    return splits
