"""Which call is safest in the newest release: what each call of a user does to the same models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final

import pandas as pd
from packaging.version import Version

from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.report import text
from harness.report.frames.tables import UNJUDGED, in_lane
from harness.report.sections.package_lane import CALLS
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Harm
from harness.wire.routes import Lane, Route

#: The ways to save that every model can take; the others need dynamic dimensions.
_SAVES: Final = (Route.RETRACE, Route.NO_RETRACE, Route.NO_RETRACE_EXPORT)
#: What the page's name of a call leaves out.
_RETRACES: Final = f"before {SAVE_RETRACES_SINCE} write save(m, f, retrace=True) for save(m, f)"
_LESSER: Final = (Harm.INTERFACE.value, Harm.COSMETIC.value)
_RIGHT: Final = "right"


@dataclass(frozen=True)
class CallRecord:
    """What a call does to the models of the corpus; the numbers decide what is right.

    ``right``, ``silent``, ``warned`` and ``raising`` count models in one release, and ``untried``
    those that it could not be asked of; ``compiled`` counts those of ``silent`` that `compile`
    makes wrong; ``always`` counts those that are right in every one of
    ``releases``, which have the call, the oldest first.
    """

    call: str
    right: int
    silent: int
    warned: int
    raising: int
    untried: int
    compiled: int
    always: int
    releases: tuple[str, ...]


@dataclass(frozen=True)
class SaveRecords:
    """What compiling comes to in a release, and the ways to save, the safest first.

    ``models`` are all that the release was given, and every call is told of all of them.
    """

    release: str
    models: int
    compiled: CallRecord
    ways: tuple[CallRecord, ...]


def save_records(cells: pd.DataFrame, releases: Sequence[str]) -> SaveRecords | None:
    """The ways to save, the safest first: fewest silent failures, then most models right.

    None where no release was asked.

    What `compile` does not make right is not tried with `save`, and ends as `compile` did: a
    program that is wrong is saved wrong.

    Args:
        cells: of any lane; those of the package lane are looked at, or else of the engine lane, and
            those with segments for engines where there are some.
        releases: those of the run, the oldest first.
    """
    return _save_records(_Asked.of(cells), releases)


@dataclass(frozen=True)
class _Asked:
    """How the models that were asked ended: right, or with which harm.

    ``ends`` is by route, release and model, and ``models`` are those that a release was given.
    """

    ends: Mapping[tuple[str, str, str], str]
    models: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, cells: pd.DataFrame) -> _Asked:
        here = _of_packages(cells)
        asked = here[~here["standing"].isin(UNJUDGED)]
        right = asked["standing"].eq("ok") | asked["harm"].isin(_LESSER)
        ended = asked["harm"].astype(str).mask(right, _RIGHT)
        places = zip(asked["route"], asked["subject"], asked["case"], strict=True)
        given = here.groupby("subject", observed=True)["case"]
        models = {str(subject): tuple(sorted(set(cases))) for subject, cases in given}
        return cls(dict(zip(places, ended, strict=True)), models)

    @cached_property
    def calls(self) -> frozenset[tuple[str, str]]:
        """Each route with each release that was asked by it."""
        return frozenset((route, release) for route, release, _ in self.ends)


def _save_records(asked: _Asked, releases: Sequence[str]) -> SaveRecords | None:
    tried = {release for _, release in asked.calls}
    names = [name for name in releases if name in tried]
    if not names:
        return None
    newest, ends = names[-1], asked.ends
    models = asked.models[newest]

    def record(route: Route) -> CallRecord:
        having = [name for name in names if (route.value, name) in asked.calls]

        def end(release: str, model: str) -> str:
            compiled = ends.get((Route.COMPILE.value, release, model), "")
            return ends.get((route.value, release, model), compiled.replace(_RIGHT, ""))

        now = [end(newest, model) for model in models]
        saved = [ends.get((route.value, newest, model)) for model in models]
        return CallRecord(
            call=CALLS[route],
            right=now.count(_RIGHT),
            silent=now.count(Harm.SILENT.value),
            warned=now.count(Harm.WARNED.value),
            raising=now.count(Harm.ERROR.value),
            untried=now.count(""),
            compiled=now.count(Harm.SILENT.value) - saved.count(Harm.SILENT.value),
            always=sum(all(end(name, model) == _RIGHT for name in having) for model in models),
            releases=tuple(having) if newest in having else (),
        )

    found = [each for route in _SAVES if (each := record(route)).releases]
    found.sort(key=lambda each: (each.silent, each.warned, -each.right, -each.always))
    return SaveRecords(newest, len(models), record(Route.COMPILE), tuple(found))


def _of_packages(cells: pd.DataFrame) -> pd.DataFrame:
    here = in_lane(cells, Lane.PACKAGE)
    here = in_lane(cells, Lane.ENGINE) if here.empty else here
    segments = here[here["builder"] == SEGMENT]
    return here if segments.empty else segments


def safe_without_state(
    cells: pd.DataFrame, releases: Sequence[str], stateful: Collection[str]
) -> str:
    """What ``save(m, f)`` does, in every release, to the models that have no state.

    Empty where fewer than two releases were asked.

    Args:
        cells, releases: as `save_records` takes them.
        stateful: the cases that have state; all others count.
    """
    cells = cells[~cells["case"].isin(stateful) & cells["subject"].isin(releases)]
    cells = cells[cells["route"].isin([Route.COMPILE.value, Route.RETRACE.value])]
    # Engines of any builder count here: a user has real ones.
    silently = cells.loc[cells["harm"] == Harm.SILENT.value, ["case", "subject"]]
    wrong = silently["case"].unique()
    here = _of_packages(cells)
    judged = here[~here["standing"].isin(UNJUDGED)]
    compiled = judged[judged["route"] == Route.COMPILE.value]
    asked = [name for name in releases if (compiled["subject"] == name).any()]
    if len(asked) < 2:
        return ""
    number = compiled.groupby("case", observed=True)["subject"].nunique()
    everywhere = set(number[number == len(asked)].index)
    models = {*everywhere, *here.loc[here["subject"] == asked[-1], "case"]}
    judged = judged[judged["case"].isin(everywhere)]
    right = judged["standing"].eq("ok") | judged["harm"].isin(_LESSER)
    right &= ~judged["case"].isin(wrong)
    saved = judged[right & (judged["route"] == Route.RETRACE.value)]
    always = int((saved.groupby("case", observed=True)["subject"].nunique() == len(asked)).sum())
    silent = set(wrong) & models
    raising = len(everywhere - silent) - always
    unasked = len(models - everywhere - silent)
    earlier = silently.loc[silently["subject"] != asked[-1], "case"]
    newest = len(silent - set(earlier))
    alone = f" ({newest} of them in {asked[-1]} alone)" if newest else ""
    told = [
        f"save(m, f), from {asked[0]} to {asked[-1]}: of {text.plural(len(models), 'model')} "
        f"without state right for {always or 'none'}",
        f"silently wrong in one release or more for {len(silent) or 'none'}{alone}",
    ]
    told += [f"an error in one or more for {raising}"] if raising else []
    told += [f"{unasked} could not be asked in every one"] if unasked else []
    return ", ".join(told)


def safest(records: SaveRecords) -> list[str]:
    """The ways to save, a line each, the safest first; then compiling alone, and the rules."""
    if not records.ways:
        return []
    compiled = records.compiled
    in_memory = f"{compiled.call}, called in memory: {_ends(compiled, records.models)}"
    return [
        *(f"{each.call}: {_ends(each, records.models)}" for each in records.ways),
        *([in_memory] if compiled.releases else []),
        f"a save of what compile() makes wrong counts as compile() does; {_RETRACES}",
    ]


def safest_in(cells: pd.DataFrame, releases: Sequence[str]) -> dict[str, str]:
    """The safest way to save in each release, and what it comes to; the newest comes first.

    A release of which no way to save was asked is left out.
    """
    told, asked = dict[str, str](), _Asked.of(cells)
    for number in range(len(releases), 0, -1):
        records = _save_records(asked, releases[:number])
        if records and records.release == releases[number - 1] and records.ways:
            call, release = records.ways[0].call, records.release
            if call == CALLS[Route.RETRACE] and Version(release) < SAVE_RETRACES_SINCE:
                call = "save(m, f, retrace=True)"
            told[release] = f"{call}: {_ends(records.ways[0], records.models, now=True)}"
            if not any(way.right for way in records.ways):
                told[release] = f"none is right for any of {text.plural(records.models, 'model')}"
    return told


def safest_before(cells: pd.DataFrame, releases: Sequence[str]) -> list[str]:
    """The safest way to save in each earlier release, the newest first; alike ones in one line."""
    earlier = [each for each in safest_in(cells, releases).items() if each[0] != releases[-1]]
    return [
        f"in {text.span([release for release, _ in reversed(list(of))])} {told}"
        for told, of in groupby(earlier, key=lambda each: each[1])
    ]


def run_the_loaded_one(records: SaveRecords) -> str:
    """What is added to the safest call where the module in memory is wrong more often."""
    wrong = records.compiled.silent
    if not records.ways or wrong <= records.ways[0].silent:
        return ""
    return f"; run the loaded file, as compile() in memory is silently wrong for {wrong}"


def _ends(record: CallRecord, models: int, *, now: bool = False) -> str:
    count = "all" if record.compiled == record.silent else str(record.compiled)
    by_compile = f" ({count} as compile() makes them so)" if record.compiled else ""
    told = [
        f"of {text.plural(models, 'model')} silently wrong for {record.silent or 'none'}"
        f"{by_compile}",
        f"right for {record.right or 'none'}",
    ]
    if record.warned:
        told.append(f"wrong with a warning for {record.warned}")
    if record.raising:
        told.append(f"raises for {record.raising}")
    if record.untried:
        told.append(f"could not be asked of {record.untried}")
    every = record.releases
    if len(every) > 1 and not now:
        always = f"right in every release from {every[0]} to {every[-1]}"
        told[-1] += f"; {always} for {record.always or 'none'}"
    return ", ".join(told)
