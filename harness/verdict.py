"""A run's verdict in one line: the same on the console, in report.md and in report.html.

Green means that all is as the table expects. It does not mean that nothing is broken: what the
newest release is known to get wrong is told in the same breath.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from harness.rig.records import CellRecord, SubjectSpec
from harness.rig.vocabulary import PINNED, CellState, Lane, Oracle, SubjectKind

#: Oracles whose failure no exception tells: the program runs, and computes something else.
SILENT: Final = (Oracle.VALUES, Oracle.WIRING)


@dataclass(frozen=True)
class Remaining:
    """How the newest release fails in one lane, on the routes that a user can reach.

    In cells, each once; those of two lanes ask different things, and are never added up.

    ``silent``: the program runs and computes something else. ``loud``: there is an error in place
    of a program. ``lesser``: its numbers are right, and something else is not.
    """

    release: str
    asked: int
    unasked: int
    silent: int
    loud: int
    lesser: int
    lane: Lane = Lane.GRAPH

    @property
    def failing(self) -> int:
        return self.silent + self.loud + self.lesser


def remaining(
    records: Iterable[CellRecord], subjects: Iterable[SubjectSpec], lane: Lane = Lane.GRAPH
) -> Remaining | None:
    """Of the newest release that was asked anything in the lane; None where there is none.

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
        return None
    newest = max(asked, key=Version)
    here = [record for record in gated if record.key.subject == newest]
    ended = [record for record in here if record.state is CellState.ENDED]
    met = [record.met.oracle for record in ended if record.met]
    silent, loud = sum(oracle in SILENT for oracle in met), met.count(Oracle.COMPLETION)
    return Remaining(
        release=newest,
        asked=len(ended),
        unasked=len(here) - len(ended),
        silent=silent,
        loud=loud,
        lesser=len(met) - silent - loud,
        lane=lane,
    )


def remaining_by_lane(
    records: Collection[CellRecord], subjects: Collection[SubjectSpec]
) -> tuple[Remaining, ...]:
    """As `remaining`, of each lane in which a release was asked anything."""
    lanes = {record.key.lane for record in records}
    found = (remaining(records, subjects, lane) for lane in Lane if lane in lanes)
    return tuple(left for left in found if left is not None)


def counts_by_lane(
    classes: Mapping[str, str], lane_of: Mapping[str, Lane]
) -> dict[Lane, Counter[str]]:
    """Of each lane that was planned: ``planned`` cells, and how many there are of each class.

    Args:
        classes, lane_of: by ``cell_id``; both of every planned cell.
    """
    found = {lane: Counter[str]() for lane in Lane if lane in lane_of.values()}
    each = Counter((lane, classes[cell]) for cell, lane in lane_of.items())
    for (lane, name), count in each.items():
        found[lane].update({"planned": count, str(name): count})
    return found


def verdict_words(
    gate: str,
    counts: Mapping[Lane, Mapping[str, int]],
    faults: int,
    left: Sequence[Remaining],
) -> str:
    """The gate in one line.

    Args:
        gate: green, red, inconclusive or failed.
        counts: of each lane that was planned: ``planned``, and a count for each class of cell.
        faults: how many faults register and table have.
        left: one a lane.
    """
    if gate == "green":
        return f"Green: nothing unexpected{_known(left)}"
    if gate == "inconclusive":
        return _inconclusive(counts)
    if gate == "failed":
        lost = sum(each["missing"] for each in counts.values())
        what = f", {_plural(lost, 'cell')} missing" if lost else ""
        return f"Failed: the harness broke{what}{_where(counts, 'missing')}"
    parts = []
    for name, one, several in (
        ("unexpected_failure", "unexpected failure", ""),
        ("unexpected_pass", "unexpected pass", "unexpected passes"),
    ):
        count = sum(each[name] for each in counts.values())
        if count:
            parts.append(f"{_plural(count, one, several)}{_where(counts, name)}")
    if faults:
        parts.append(f"{_plural(faults, 'fault')} in the expectations")
    return f"Red: {' and '.join(parts)}"


def _where(counts: Mapping[Lane, Mapping[str, int]], name: str) -> str:
    """In which lane the cells of a class are; nothing where there was the graph lane alone."""
    if set(counts) <= {Lane.GRAPH}:
        return ""
    inside = {lane: each[name] for lane, each in counts.items() if each[name]}
    if len(inside) == 1:
        return f" in the {next(iter(inside))} lane"
    told = " and ".join(f"{count:,} in the {lane} lane" for lane, count in inside.items())
    return f" ({told})" if told else ""


def _known(left: Sequence[Remaining]) -> str:
    """What is known to fail, lane by lane; the graph lane goes without its name."""
    return "".join(
        f"; {f'in the {each.lane} lane ' if each.lane is not Lane.GRAPH else ''}{_failing(each)}"
        for each in left
    )


def _failing(left: Remaining) -> str:
    unasked = f", {left.unasked:,} not asked" if left.unasked else ""
    cells = f"{_plural(left.asked, 'cell')}{unasked}"
    if not left.failing:
        return f"{left.release} has no known failure in {cells}"
    kinds = f"{left.silent:,} silent, {left.loud:,} loud and {left.lesser:,} lesser known failures"
    return f"{left.release} still has {kinds} in {cells}"


def _inconclusive(counts: Mapping[Lane, Mapping[str, int]]) -> str:
    planned = sum(each["planned"] for each in counts.values())
    unasked = sum(each["unsupported"] for each in counts.values())
    where = _where(counts, "unsupported")
    if not planned:
        return "Inconclusive: nothing was asked"
    if planned == unasked:
        return f"Inconclusive: none of {_plural(planned, 'cell')} could be asked{where}"
    return f"Inconclusive: {unasked:,} of {planned:,} cells not asked{where}"


def _plural(count: int, noun: str, several: str = "") -> str:
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
