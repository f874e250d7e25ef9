"""In which order a candidate is asked: the cells that find most come first.

`order.csv` lists them, so that the same cells are asked everywhere. `--quick` asks the first rows
of each lane, up to `QUICK_SHARE` of its seconds; `--budget` goes on until its time is over.

A cell finds a known defect in a release if it shows it there, a candidate of a run if it is worse
there than what that one is held against, and a value of the structure space if its case has it.
The next one is always the cell that finds most, for the seconds that it takes, of what no cell
before it has found. Mutants of a release's own code are found first, and candidates of runs: they
are what a candidate may be. When nothing is left to be found, all is to be found once more by
other cells.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.expectations import EXPECTATIONS
from harness.gate.findings import CellClass
from harness.gate.pairs import without_subject
from harness.run.judged_run import JudgedRun
from harness.runs.plan import PlannedCell
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage, SubjectKind

ORDER_FILE: Final = EXPECTATIONS / "order.csv"
#: This share of the seconds of each lane's rows is in a quick run, whatever machine the file was
#: written on: about 3 s of stages in the graph lane and 16 s in the package lane. Processes that
#: start, what is asked again of kept verdicts, and the report come on top.
QUICK_SHARE: Final = {Lane.GRAPH: 0.054, Lane.PACKAGE: 0.253}
_FIELDS: Final = ("lane", "case", "capture", "route", "seconds")
#: What the cells of a case share: it counts for the first of them.
_SHARED: Final = (Stage.CAPTURE, Stage.SPLIT, Stage.COMPILE)


#: Lane, case and capture: the cells that share it are one job of a worker.
_Job = tuple[str, str, str]


@dataclass(frozen=True)
class Ranked:
    """A cell without its subject, and the seconds of stages that it adds to those before it."""

    cell: CellKey
    seconds: float


def read_order(path: Path = ORDER_FILE) -> tuple[Ranked, ...]:
    """The rows of `order.csv`."""
    with path.open(newline="", encoding="utf-8") as lines:
        return tuple(Ranked(cell_of(row), float(row["seconds"])) for row in csv.DictReader(lines))


def cell_of(row: Mapping[str, str]) -> CellKey:
    """The cell without a subject that a row names, which is one of the pinned environment."""
    lane, route = Lane(row["lane"]), Route(row["route"])
    return CellKey(row["case"], row["capture"], "", route, lane)


def order_text(order: Iterable[Ranked]) -> str:
    """The content of `order.csv`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_FIELDS)
    for ranked in order:
        cell = ranked.cell
        rows.writerow((cell.lane, cell.case, cell.capture, cell.route, f"{ranked.seconds:.2f}"))
    return text.getvalue()


def quick_cells(order: Sequence[Ranked]) -> frozenset[CellKey]:
    """The cells of a quick run: the first of each lane that `QUICK_SHARE` has room for."""
    left = {
        lane: share * sum(ranked.seconds for ranked in order if ranked.cell.lane == lane)
        for lane, share in QUICK_SHARE.items()
    }
    cells = set()
    for ranked in order:
        left[ranked.cell.lane] -= ranked.seconds
        if left[ranked.cell.lane] >= 0:
            cells.add(ranked.cell)
    return frozenset(cells)


def only(plan: Sequence[PlannedCell], cells: Collection[CellKey]) -> tuple[PlannedCell, ...]:
    """The planned cells that are among these, and each `compile` that they rest on.

    Args:
        cells: without their subjects.
    """
    wanted = {*cells}
    wanted |= {dataclasses.replace(c, route=Route.COMPILE) for c in cells if c.lane != Lane.GRAPH}
    return tuple(cell for cell in plan if without_subject(cell.key) in wanted)


def in_order(plan: Sequence[PlannedCell], order: Sequence[Ranked]) -> tuple[PlannedCell, ...]:
    """A plan whose cases come in the order of their first cells; the others come last."""
    first: dict[_Job, int] = {}
    for number, ranked in enumerate(order):
        first.setdefault(_job(ranked.cell), number)
    return tuple(sorted(plan, key=lambda cell: first.get(_job(cell.key), math.inf)))


def found_by(run: JudgedRun) -> dict[CellKey, set[str]]:
    """What each cell of a run finds: defects in releases, and candidates that are worse."""
    found: dict[CellKey, set[str]] = defaultdict(set)
    releases = {spec.subject for spec in run.subjects if spec.kind is SubjectKind.RELEASE}
    for fact in run.shown:
        if fact.defect and fact.key.subject in releases and _is_plain(fact.key):
            found[without_subject(fact.key)].add(f"{fact.defect} in {fact.key.subject}")
    for finding in run.report.findings:
        worse = finding.cell_class is CellClass.UNEXPECTED_FAILURE
        if worse and finding.subject not in releases and _is_plain(finding.key):
            found[without_subject(finding.key)].add(finding.subject)
    return found


@dataclass(frozen=True)
class Seconds:
    """What cells took in stages: each by itself, and what the cells of a job share."""

    own: Mapping[CellKey, float] = field(default_factory=dict)
    shared: Mapping[_Job, float] = field(default_factory=dict)

    def __or__(self, other: Seconds) -> Seconds:
        return Seconds({**self.own, **other.own}, {**self.shared, **other.shared})


def seconds_in(records: Iterable[CellRecord], release: str) -> Seconds:
    """The seconds of a release's cells; those that were kept took none, and are left out."""
    own: dict[CellKey, float] = {}
    shared: dict[_Job, float] = defaultdict(float)
    for record in records:
        key = record.key
        if record.hypothetical or not _is_plain(key) or not record.seconds:
            continue
        together = sum(record.seconds.get(stage, 0.0) for stage in _SHARED)
        if key.lane == Lane.GRAPH or key.subject == release:
            shared[_job(key)] = max(shared[_job(key)], together)
        if key.subject == release:
            in_stages = sum(record.seconds.get(stage, 0.0) for stage in Stage)
            own[without_subject(key)] = in_stages - together
    return Seconds(own, shared)


def ordered(
    found: Mapping[CellKey, Collection[str]], seconds: Seconds, first: Collection[str] = ()
) -> list[Ranked]:
    """The cells that find anything, in each lane those first that find most for their seconds.

    Args:
        found: what each cell finds.
        seconds: of each cell that can be asked.
        first: what of it is to be found before all else, by the lanes together: what one has found
            is not sought in the next before the rest.
    """
    order: list[Ranked] = []
    missing = frozenset(first)
    for lane in Lane:
        left = {
            cell: frozenset(found[cell])
            for cell in seconds.own
            if cell.lane == lane and found.get(cell)
        }
        by_lane = frozenset().union(*left.values())
        order += _of_lane(left, seconds, missing)
        missing -= by_lane
    return order


def _of_lane(
    left: dict[CellKey, frozenset[str]], seconds: Seconds, first: frozenset[str]
) -> list[Ranked]:
    order: list[Ranked] = []
    prepared: set[_Job] = set()
    missing = set(first)

    def added(cell: CellKey) -> float:
        shared = 0.0 if _job(cell) in prepared else seconds.shared.get(_job(cell), 0.0)
        return seconds.own[cell] + shared

    def worth(cell: CellKey) -> tuple[float, CellKey]:
        return -len(left[cell] & missing) / max(added(cell), _LEAST_S), cell

    while left:
        best = min(left, key=worth)
        if not left[best] & missing:  # all that can be found has been found: once more
            missing = set().union(*left.values())
            continue
        order.append(Ranked(best, round(added(best), 2)))
        prepared.add(_job(best))
        missing -= left.pop(best)
    return order


_LEAST_S: Final = 0.01  # what no clock tells from nothing


def _job(cell: CellKey) -> _Job:
    return cell.lane, cell.case, cell.capture


def _is_plain(key: CellKey) -> bool:
    return key.builder == SEGMENT and key.environment == PINNED
