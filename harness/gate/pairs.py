"""Two sides held against each other, cell by cell: who has which cell, and what both were asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import CellState

K = TypeVar("K")


@dataclass(frozen=True)
class Pair:
    """One cell on both sides; a side that has no record of it is None."""

    before: CellRecord | None
    after: CellRecord | None

    @property
    def both_asked(self) -> bool:
        """Whether both could be asked, so that what they say can be compared."""
        return all(side and side.state is CellState.ENDED for side in (self.before, self.after))


def compare(before: Mapping[K, CellRecord], after: Mapping[K, CellRecord]) -> dict[K, Pair]:
    """Every cell of either side, by what names it on both; those that ``before`` has come first."""
    return {cell: Pair(before.get(cell), after.get(cell)) for cell in {**before, **after}}


def side_of(subject: str, records: Iterable[CellRecord]) -> dict[CellKey, CellRecord]:
    """The records of one subject, by cell without the subject; hypothetical ones are left out."""
    return {
        without_subject(record.key): record
        for record in records
        if record.key.subject == subject and not record.hypothetical
    }


def without_subject(key: CellKey) -> CellKey:
    """A cell's coordinates but for the subject, which is empty."""
    return dataclasses.replace(key, subject="")
