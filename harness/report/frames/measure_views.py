"""What was measured, as the tables of the report show it: frozen data without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Quartiles:
    """A median that carries its spread and the number of samples behind it."""

    median: float
    q1: float
    q3: float
    n: int


@dataclass(frozen=True)
class MeasureRow:
    """Seconds of each stage, and sizes in bytes; None where nothing was measured.

    ``members`` share an inliner and were measured once. ``inlines`` tells a route without an
    inliner, where there is no inlining to measure.
    """

    members: tuple[str, ...]
    route: str
    inlines: bool
    stages: Mapping[str, Quartiles | None]
    archive: Quartiles | None
    engines: Quartiles | None


@dataclass(frozen=True)
class UnflattenRow:
    """Of the programs of these subjects by one route, each the same: how many can be unflattened.

    ``asked`` are the cells that completed.
    """

    members: tuple[str, ...]
    route: str
    able: int
    asked: int
