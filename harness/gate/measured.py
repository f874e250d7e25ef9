"""What the cells that two subjects completed took on each side: file sizes, save and load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord


@dataclass(frozen=True)
class Measured:
    """One measure of the cells that both completed, by lane and route: medians, and how many.

    Seconds are of one run each, so they are no more than a hint: `nox -s bench` measures.
    """

    lane: str
    route: str
    what: str
    unit: str
    before: float
    after: float
    cells: int

    @property
    def ratio(self) -> float | None:
        return self.after / self.before if self.before else None


def measured(asked: Mapping[CellKey, tuple[CellRecord, CellRecord]]) -> list[Measured]:
    """The medians over the cells that both were asked, by lane and route."""
    ways: dict[tuple[str, str], list[tuple[CellRecord, CellRecord]]] = {}
    for place, pair in asked.items():
        if all(not record.verdict(Oracle.COMPLETION).failed for record in pair):
            ways.setdefault((place.lane, place.route), []).append(pair)
    found = []
    for (lane, route), pairs in ways.items():
        sizes = [(one.archive_bytes, other.archive_bytes) for one, other in pairs]
        found += _medians(lane, route, "file size", "bytes", sizes)
        for stage in ("save", "load"):
            seconds = [(one.seconds.get(stage), other.seconds.get(stage)) for one, other in pairs]
            found += _medians(lane, route, stage, "s", seconds)
    return found


def _medians(
    lane: str,
    route: str,
    what: str,
    unit: str,
    pairs: Iterable[tuple[float | None, float | None]],
) -> list[Measured]:
    known = [(one, other) for one, other in pairs if one is not None and other is not None]
    if not known:
        return []
    before, after = median(one for one, _ in known), median(other for _, other in known)
    return [Measured(lane, route, what, unit, before, after, len(known))]
