"""The defects of a run: those of the newest release, and those that only older ones have."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from harness.register.defects import Defect
from harness.report.reported_run import Cause, ReportedRun, Section, ShownBy
from harness.runs.commands import explain_command
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane, Route


@dataclass(frozen=True)
class SeenAs:
    """One appearance of a cause, and how many cells of the release show it.

    ``package_cells`` and ``engine_cells`` are those of these lanes, and not among ``cells``.
    """

    harm: str
    oracle: str
    label: str
    says: str
    cells: int
    package_cells: int
    engine_cells: int


@dataclass(frozen=True)
class LiveCause:
    """A cause that ``subject`` has, and how to see it; ``harm`` and ``label`` are its worst.

    ``route`` and ``capture`` are those of the smallest case's worst cell.

    ``cells``, ``cases`` (smallest first) and ``routes`` are those of the subject alone;
    ``cells`` of the graph lane, ``package_cells`` and ``engine_cells`` of the others.
    """

    defect: Defect
    harm: str
    label: str
    cells: int
    package_cells: int
    engine_cells: int
    cases: tuple[str, ...]
    routes: tuple[str, ...]
    entries: tuple[SeenAs, ...]
    subject: str
    route: str
    capture: str
    command: str


@dataclass(frozen=True)
class Script:
    """A script that shows a cause with torch and a wheel alone, or why there is none.

    ``said`` is the line by which it answered when it was tried, ``printed`` that and all after it,
    ``label`` the verdict that it shows. ``test`` is the same as a test, where that was asked for;
    ``expected`` is a sentence on what a user expects instead, of a script of a user's calls.
    """

    text: str
    label: str
    said: str
    why_not: str
    command: str
    printed: str = ""
    test: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Causes:
    """The defects that the newest release has, and those of the releases before it alone."""

    newest: str | None
    live: tuple[LiveCause, ...]
    gone: tuple[LiveCause, ...]


def build_causes(run: ReportedRun) -> Causes:
    """The defects of a run, as the cells show them in which subjects are compared."""
    if run.newest is None:
        return Causes(None, (), ())
    cells = run.cells_of_lanes
    shown, smallest = frozenset(map(str, cells["cell_id"])), smallest_first(cells, run.cases)
    return Causes(
        run.newest,
        live_causes(run.causes, shown, run.newest, smallest),
        gone_causes(run.causes, shown, run.releases, smallest),
    )


def live_causes(
    causes: Sequence[Cause], cells: Collection[str], subject: str, order: Sequence[str]
) -> tuple[LiveCause, ...]:
    """The causes that ``subject`` still has, worst first, as its own cells show them.

    Args:
        cells: the ids of the cells that count.
        order: names of the cases, the smallest first.
    """
    found = (_shown(cause, cells, subject, order) for cause in causes)
    live = [cause for cause in found if cause is not None]
    return tuple(sorted(live, key=lambda cause: (*badness(cause.entries[0]), cause.defect.id)))


def gone_causes(
    causes: Sequence[Cause],
    cells: Collection[str],
    releases: Sequence[str],
    order: Sequence[str],
) -> tuple[LiveCause, ...]:
    """The causes that the newest release no longer has, each as the last one that had it shows it.

    Args:
        releases: those that were asked anything, the oldest first.
    """
    gone = []
    for cause in causes:
        found = (_shown(cause, cells, name, order) for name in reversed(releases))
        last = next((each for each in found if each is not None), None)
        if last is not None and last.subject != releases[-1]:
            gone.append(last)
    return tuple(
        sorted(gone, key=lambda cause: (*badness(cause.entries[0]), -cause.cells, cause.defect.id))
    )


def smallest_first(cells: pd.DataFrame, cases: Sequence[CaseInfo]) -> list[str]:
    """Cases by the bytes of their engines, and by the order of the corpus among equals.

    Engine bytes stand for the size of a program: they are known of programs that broke, too.
    """
    size = cells.groupby("case", observed=True)["engine_bytes"].min().dropna().to_dict()
    return sorted((case.name for case in cases), key=lambda name: size.get(name, math.inf))


def badness(seen: ShownBy | SeenAs) -> tuple[int, int]:
    """The worst harm comes first, and within it the worst oracle; ``unsupported`` is none."""
    harm = Harm(seen.harm).severity if seen.harm else len(Harm)
    oracles = list(Oracle)
    return harm, oracles.index(Oracle(seen.oracle)) if seen.oracle in oracles else len(oracles)


def _shown(
    cause: Cause, cells: Collection[str], subject: str, order: Sequence[str]
) -> LiveCause | None:
    """A cause as the subject's cells show it; None if none does."""
    here = [each for each in cause.shown if each.key.subject == subject]
    here = [each for each in here if each.key.cell_id in cells]
    if not here:
        return None
    packages = {each.key.case for each in here if each.key.lane != Lane.GRAPH}
    graph = {each.key.case for each in here if each.key.lane == Lane.GRAPH}
    place = {name: at for at, name in enumerate(order)}
    cases = sorted(
        packages | graph,
        key=lambda name: (name not in graph, name != cause.defect.minimal_case, place[name]),
    )
    first = [each for each in here if each.key.case == cases[0]]
    if cases[0] in graph:
        first = [each for each in first if each.key.lane == Lane.GRAPH]
    smallest = min(first, key=lambda each: (badness(each), each.key))
    kinds: dict[tuple[str, str, str, str], list[ShownBy]] = {}
    for each in here:
        kinds.setdefault((each.harm, each.oracle, each.label, each.says), []).append(each)
    seen = [SeenAs(*kind, *_counts(shown)) for kind, shown in kinds.items()]
    seen.sort(key=lambda kind: (badness(kind), -kind.cells, kind.says))
    route = smallest.key.route
    graph_cells, package_cells, engine_cells = _counts(here)
    return LiveCause(
        defect=cause.defect,
        harm=seen[0].harm,
        label=seen[0].label,
        cells=graph_cells,
        package_cells=package_cells,
        engine_cells=engine_cells,
        cases=tuple(cases),
        routes=tuple(route.value for route in Route if route in {each.key.route for each in here}),
        entries=tuple(seen),
        subject=subject,
        route=route,
        capture=smallest.key.capture,
        command=explain_command(smallest.key, cause.places),
    )


def _counts(shown: Sequence[ShownBy]) -> tuple[int, int, int]:
    """Cells of the graph lane, the package lane and the engine lane."""
    keys = {each.key for each in shown}
    graph, package, engine = (
        sum(key.lane == lane for key in keys) for lane in (Lane.GRAPH, Lane.PACKAGE, Lane.ENGINE)
    )
    return graph, package, engine


CAUSES: Final = Section("causes", build_causes, template="causes", link="Still failing")
