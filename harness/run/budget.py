"""What a run with a budget asks first, so that something can be said of its candidate. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.base.errors import UsageError
from harness.gate.pairs import both_asked, compare, side_of
from harness.runs.plan import PlannedCell
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane


def parts(
    missing: Sequence[PlannedCell], plan: Iterable[PlannedCell], likes: Mapping[str, str]
) -> list[list[PlannedCell]]:
    """The missing cells in the order in which they are asked; each part keeps its own.

    Each lane is a part, with a candidate and what it is held against. Of a base that is the same
    code as a release, the release's cells are asked. All other cells are the last part: they say
    nothing of the candidate. Without a candidate each lane is asked as a whole.

    Args:
        likes: for each candidate, the subject that it is held against.
    """
    wanted = set(_said_of(plan, likes)) if likes else {cell.key for cell in missing}
    lanes: dict[Lane, list[PlannedCell]] = {}
    for cell in missing:
        if cell.key in wanted:
            lanes.setdefault(cell.key.lane, []).append(cell)
    rest = [cell for cell in missing if cell.key not in wanted]
    return [*lanes.values(), rest] if rest else [*lanes.values()]


def refuse_nothing_said(likes: Mapping[str, str], records: Iterable[CellRecord]) -> None:
    """Raise UsageError where no cell of a candidate was compared: the run would be green."""
    ended = list(records)
    for candidate, like in likes.items():
        if not both_asked(compare(side_of(like, ended), side_of(candidate, ended))):
            raise UsageError(
                f"--budget: no cell of both {candidate} and {like} ended in that time",
                "give more seconds",
            )


def _said_of(plan: Iterable[PlannedCell], likes: Mapping[str, str]) -> Iterator[CellKey]:
    """The cells of candidates and of what they are held against, and what is run for these."""
    named = {*likes, *likes.values()}
    for cell in plan:
        if cell.key.subject in named:
            yield cell.key
            yield dataclasses.replace(cell.key, subject=cell.measured_as)
