"""Cases dealt out to jobs so that all jobs end together, by what the cases took before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from harness.base.errors import UsageError
from harness.wire.records import CellRecord


@dataclass(frozen=True)
class Shard:
    """The cases of one job, and the seconds that one worker is expected to take for them."""

    cases: tuple[str, ...]
    seconds: float


def seconds_of_cases(records: Iterable[CellRecord]) -> dict[str, float]:
    """What the cells of each case took in a run; of cells that were kept nothing is known."""
    seconds: dict[str, float] = {}
    for record in records:
        if record.seconds and not record.kept_from:
            spent = sum(record.seconds.values())
            seconds[record.key.case] = seconds.get(record.key.case, 0.0) + spent
    return seconds


def shards(cases: Sequence[str], seconds: Mapping[str, float], count: int) -> list[Shard]:
    """The cases in so many parts, each case in one.

    The case that takes longest goes first, to the part that has least. One that was not measured
    counts as the median.
    """
    if not 1 <= count <= len(cases):
        raise UsageError(f"{count} shards of {len(cases)} cases", "give a number in between")
    measured = [seconds[case] for case in cases if case in seconds]
    usual = median(measured) if measured else 1.0
    parts: list[list[str]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for case in sorted(cases, key=lambda case: (-seconds.get(case, usual), case)):
        least = min(range(count), key=lambda number: (loads[number], len(parts[number])))
        parts[least].append(case)
        loads[least] += seconds.get(case, usual)
    return [Shard(tuple(part), load) for part, load in zip(parts, loads, strict=True)]
