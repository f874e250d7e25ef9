"""A run's verdict in one line: the same on the console, in report.md and in report.html.

Green means that all is as the table expects. It does not mean that nothing is broken: the lines
below it (`harness.run.defect_lines`) tell which defects the newest release is known to have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from harness.base.words import plural
from harness.wire.builders import PINNED
from harness.wire.oracles import Harm
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState, Reach, SubjectKind

#: What is worse than a cosmetic defect, worst first.
HARMS: Final = (Harm.SILENT, Harm.WARNED, Harm.ERROR, Harm.INTERFACE)

#: A green gate below a decision.
ANSWERED: Final = "Green: every failure is a known defect; whether to ship is answered above"
_ANSWERED_OF_OWN: Final = "Green: nothing is worse in your cases; whether to ship is answered above"

#: Who makes the split of a cell; of a cell of the package lane, the product.
ReachOf = Callable[[CellKey], Reach]


def by_lane(key: CellKey) -> Reach:
    """The reach of a cell of which only the lane is known."""
    return Reach.EXPORTED if key.lane == Lane.GRAPH else Reach.PRODUCT


@dataclass(frozen=True)
class Remaining:
    """How the newest release fails in one lane, in splits of one reach.

    In cells of routes that its users can reach, each once; those of two lanes ask different things,
    and are never added up.

    Attributes:
        asked: cells that were asked and ended.
        harms: how many of the asked ones do which harm; those with a cosmetic one are right.
    """

    release: str
    asked: int
    harms: Mapping[Harm, int]
    lane: Lane = Lane.GRAPH
    reach: Reach = Reach.PRODUCT

    @property
    def failing(self) -> int:
        return sum(self.harms.get(harm, 0) for harm in HARMS)

    @property
    def right(self) -> int:
        return self.asked - self.failing


def remaining(
    records: Iterable[CellRecord],
    subjects: Iterable[SubjectSpec],
    reach_of: ReachOf,
    lane: Lane = Lane.GRAPH,
) -> tuple[Remaining, ...]:
    """Of the newest release that was asked anything in the lane, one for each reach that it has.

    Of the pinned environment, where the lane has it: so each cell counts once.
    """
    releases = {spec.subject for spec in subjects if spec.kind is SubjectKind.RELEASE}
    gated = [
        record
        for record in records
        if record.key.subject in releases and record.key.lane == lane and not record.hypothetical
    ]
    gated = [record for record in gated if record.key.environment == PINNED] or gated
    asked = {record.key.subject for record in gated if record.state is CellState.ENDED}
    if not asked:
        return ()
    newest = max(asked, key=Version)
    of: dict[Reach, list[CellRecord]] = {reach: [] for reach in Reach}
    for record in gated:
        if record.key.subject == newest:
            of[reach_of(record.key)].append(record)
    return tuple(_remaining(newest, lane, reach, here) for reach, here in of.items() if here)


def _remaining(release: str, lane: Lane, reach: Reach, records: Sequence[CellRecord]) -> Remaining:
    ended = [record for record in records if record.state is CellState.ENDED]
    harms = Counter(record.harm for record in ended if record.harm is not None)
    return Remaining(
        release=release,
        asked=len(ended),
        harms=harms,
        lane=lane,
        reach=reach,
    )


def counts_by_lane(
    classes: Mapping[str, str], lane_of: Mapping[str, Lane]
) -> dict[Lane, Counter[str]]:
    """Of each lane that was planned: ``planned`` cells, and how many there are of each class.

    Args:
        classes, lane_of: by ``cell_id``; both of every planned cell.
    """
    counts = {lane: Counter[str]() for lane in Lane if lane in lane_of.values()}
    classed = Counter((lane, classes[cell]) for cell, lane in lane_of.items())
    for (lane, name), count in classed.items():
        counts[lane].update({"planned": count, str(name): count})
    return counts


def verdict_words(
    gate: str,
    counts: Mapping[Lane, Mapping[str, int]],
    faults: int,
    own_cases: tuple[int, int] | None = None,
    *,
    answered: bool = False,
) -> str:
    """The gate in one line.

    Args:
        gate: green, red, inconclusive or failed.
        counts: of each lane that was planned: ``planned``, and a count for each class of cell.
        faults: how many faults register and table have.
        own_cases: where the cases are a user's own, how many of them fail and how many were
            asked; cases are counted then, and not cells.
        answered: whether a decision stands above, for which nobody should take a green gate.
    """
    if gate == "red" and own_cases and own_cases[0]:
        failing, asked = own_cases
        fail = "fails" if failing == 1 else "fail"
        return f"Red: {failing:,} of your {plural(asked, 'case')} {fail} somewhere"
    if gate == "green":
        if answered:
            return _ANSWERED_OF_OWN if own_cases else ANSWERED
        return "Green: no unknown failure"
    if gate == "inconclusive":
        return _inconclusive(counts)
    if gate == "failed":
        lost = sum(of_lane["missing"] for of_lane in counts.values())
        what = f", {plural(lost, 'cell')} missing" if lost else ""
        return f"Failed: the harness broke{what}{_where(counts, 'missing')}"
    parts = []
    for name, one, several in (
        ("unexpected_failure", "unexpected failure", ""),
        ("unexpected_pass", "unexpected pass", "unexpected passes"),
    ):
        count = sum(of_lane[name] for of_lane in counts.values())
        if count:
            parts.append(f"{plural(count, one, several)}{_where(counts, name)}")
    if faults:
        parts.append(f"{plural(faults, 'fault')} in the expectations")
    return f"Red: {' and '.join(parts)}"


def _where(counts: Mapping[Lane, Mapping[str, int]], name: str) -> str:
    """In which lane the cells of a class are; nothing where there was the graph lane alone."""
    if set(counts) <= {Lane.GRAPH}:
        return ""
    inside = {lane: of_lane[name] for lane, of_lane in counts.items() if of_lane[name]}
    if len(inside) == 1:
        return f" in the {next(iter(inside))} lane"
    listed = " and ".join(f"{count:,} in the {lane} lane" for lane, count in inside.items())
    return f" ({listed})" if listed else ""


def _inconclusive(counts: Mapping[Lane, Mapping[str, int]]) -> str:
    planned = sum(of_lane["planned"] for of_lane in counts.values())
    unasked = sum(of_lane["unsupported"] for of_lane in counts.values())
    where = _where(counts, "unsupported")
    if not planned:
        return "Inconclusive: nothing was asked"
    if planned == unasked:
        return f"Inconclusive: none of {plural(planned, 'cell')} could be asked{where}"
    return f"Inconclusive: {unasked:,} of {planned:,} cells not asked{where}"
