"""Compares whole runs: no subject's verdict may depend on which others are judged with it.

A run of all subjects is compared with one in the opposite order and with one of each subject alone,
cell by cell. Times are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.gate.pairs import compare
from harness.wire.records import CellRecord

#: Judges subjects in the given order, and returns the records by cell.
Run = Callable[[Sequence[str]], Mapping[str, CellRecord]]


@dataclass(frozen=True)
class Difference:
    """A cell that ends in one way in the normal run and in another way in ``run``."""

    cell: str
    run: str
    normal: str
    other: str

    @property
    def line(self) -> str:
        return f"{self.cell}: {self.normal}; {self.run}: {self.other}"


def whole_run_differences(subjects: Sequence[str], run: Run) -> Iterator[Difference]:
    """The cells that end otherwise in another order, or with one subject alone.

    Args:
        subjects: by name, in the normal order.
    """
    normal = run(subjects)
    yield from differences(normal, run(subjects[::-1]), "in the opposite order")
    for subject in subjects:
        of_it = {cell: record for cell, record in normal.items() if record.key.subject == subject}
        yield from differences(of_it, run([subject]), "alone")


def differences(
    normal: Mapping[str, CellRecord], other: Mapping[str, CellRecord], name: str
) -> Iterator[Difference]:
    """The cells, by id, that do not end alike in two sets of records, or are in one alone."""
    for cell, pair in sorted(compare(normal, other).items(), key=lambda item: item[0]):
        ended, otherwise = verdicts_of(pair.before), verdicts_of(pair.after)
        if ended != otherwise:
            apart = {*ended} ^ {*otherwise}
            one, two = (
                "; ".join(each for each in side if each in apart) for side in (ended, otherwise)
            )
            yield Difference(cell, name, one, two)


def verdicts_of(record: CellRecord | None) -> tuple[str, ...]:
    """All that a record says of its subject; not its times and sizes, and who was measured."""
    if record is None:
        return ("no record",)
    verdicts = (f"{v.oracle} {v.label} {v.message}".rstrip() for v in record.verdicts)
    return (f"{record.state} {record.reason}".rstrip(), *verdicts)
