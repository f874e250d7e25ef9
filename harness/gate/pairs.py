"""Two sides held against each other, cell by cell: who has which cell, and what both were asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from harness.wire.builders import Builder, BuilderKind
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import CellState

K = TypeVar("K")


@dataclass(frozen=True)
class Pair:
    """One cell on both sides; a side that has no record of it is None."""

    before: CellRecord | None
    after: CellRecord | None

    @property
    def asked(self) -> tuple[CellRecord, CellRecord] | None:
        """Both records, if both could be asked, so that what they say can be compared."""
        if self.before is None or self.after is None:
            return None
        ended = {self.before.state, self.after.state} == {CellState.ENDED}
        return (self.before, self.after) if ended else None


def compare(before: Mapping[K, CellRecord], after: Mapping[K, CellRecord]) -> dict[K, Pair]:
    """Every cell of either side, by what names it on both; those that ``after`` has come first."""
    return {cell: Pair(before.get(cell), after.get(cell)) for cell in {**after, **before}}


def both_asked(pairs: Mapping[K, Pair]) -> dict[K, tuple[CellRecord, CellRecord]]:
    """The cells that both sides were asked, each as it was before and is after."""
    return {cell: pair.asked for cell, pair in pairs.items() if pair.asked}


def side_of(
    subject: str, records: Iterable[CellRecord], any_version: Collection[BuilderKind] = ()
) -> dict[CellKey, CellRecord]:
    """The records of one subject, by `without_subject`; hypothetical ones are left out."""
    return {
        without_subject(record.key, any_version): record
        for record in records
        if record.key.subject == subject and not record.hypothetical
    }


def without_subject(key: CellKey, any_version: Collection[BuilderKind] = ()) -> CellKey:
    """A cell's coordinates but for the subject, which is empty.

    Args:
        any_version: kinds of builders whose versions are left out, too.
    """
    builder = Builder.shared(key.builder)
    if builder.kind in any_version:
        builder = Builder.of(builder.kind)
    return dataclasses.replace(key, subject="", builder=builder)


def of_one_version(subjects: Collection[str], records: Iterable[CellRecord]) -> set[BuilderKind]:
    """The kinds of builders that each of these subjects has in one version, whichever that is.

    A release brings its own TensorRT-RTX, and a user who changes the one changes the other.
    """
    versions: dict[BuilderKind, dict[str, set[Builder]]] = {}
    for record in records:
        builder = Builder.shared(record.key.builder)
        of_kind = versions.setdefault(builder.kind, {})
        of_kind.setdefault(record.key.subject, set()).add(builder)
    return {
        kind
        for kind, of in versions.items()
        if all(len(of.get(subject, ())) == 1 for subject in subjects)
    }
