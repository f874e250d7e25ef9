"""Latency over the number of steps, of the last inliner that wires by name and of the newest.

A step is an engine or a fallback of the split module. Only cases that both inliners finished count,
stage by stage: the old one breaks on many, and would look fast on what is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
from packaging.version import Version

from harness.report.frames.tables import BESIDE_SUBJECT, INLINE, LATENCY_STAGES
from harness.wire.vocabulary import Route

BY_POSITION_FROM = Version("2.14.dev0")
"""Releases before it wire a fallback's placeholders by the names of nodes."""

INLINING_ROUTES = (Route.LEGACY.value, Route.EXPORT.value)


@dataclass(frozen=True)
class StepPoint:
    """One case by both inliners, in seconds."""

    steps: int
    old: float
    new: float


@dataclass(frozen=True)
class StepBin:
    """The medians of the cases with ``low`` to ``high`` steps: seconds, and their own steps."""

    low: int
    high: int
    n: int
    steps: float
    old: float
    new: float


@dataclass(frozen=True)
class StepPanel:
    """One stage by one route over the number of steps."""

    route: str
    stage: str
    points: tuple[StepPoint, ...]
    bins: tuple[StepBin, ...]


@dataclass(frozen=True)
class StepRow:
    """The bins of ``low`` to ``high`` steps by one route, one a stage; None where there is none."""

    route: str
    low: int
    high: int
    bins: tuple[StepBin | None, ...]


@dataclass(frozen=True)
class OverSteps:
    """Latency over the number of steps: ``old`` wires by name, ``new`` by position.

    ``rows`` are the bins of the panels, as a table with a column for each of ``stages``. ``pairs``
    counts the points of export, save and load, and ``once`` those of them whose two times are one
    measurement, which equal programs share.
    """

    old: str
    new: str
    stages: tuple[str, ...]
    panels: tuple[StepPanel, ...]
    rows: tuple[StepRow, ...]
    pairs: int
    once: int


def over_steps(samples: pd.DataFrame, releases: Sequence[str]) -> OverSteps | None:
    """A panel for each route and stage; None where a run lacks one of the two inliners.

    Args:
        samples: as `tables.stage_times` gives them; those without a number of steps are left out.
        releases: those that were asked anything, the oldest first.
    """
    by_name = [name for name in releases if Version(name) < BY_POSITION_FROM]
    if not by_name or by_name[-1] == releases[-1]:
        return None
    old, new = by_name[-1], releases[-1]
    pairs = _pairs(samples, old, new)
    routes = [route for route in INLINING_ROUTES if (pairs["route"] == route).any()]
    panels = [_panel(pairs, route, stage) for route in routes for stage in LATENCY_STAGES]
    programs = pairs[pairs["route"].isin(routes) & (pairs["stage"] != INLINE)]
    return OverSteps(
        old=old,
        new=new,
        stages=LATENCY_STAGES,
        panels=tuple(panels),
        rows=tuple(row for route in routes for row in _rows(route, panels)),
        pairs=len(programs),
        once=int((programs["old"] == programs["new"]).sum()),
    )


def _pairs(samples: pd.DataFrame, old: str, new: str) -> pd.DataFrame:
    """A row a (cell but for the subject, stage) that both finished: ``old`` and ``new`` seconds."""
    known = samples[samples["steps"] > 0]  # a split without any is not on a logarithmic axis
    where = [*BESIDE_SUBJECT, "stage", "steps"]

    def of(subject: str, name: str) -> pd.DataFrame:
        here = known.loc[known["subject"] == subject, [*where, "seconds"]]
        return here.rename(columns={"seconds": name})

    return of(old, "old").merge(of(new, "new"), on=where)


def _panel(pairs: pd.DataFrame, route: str, stage: str) -> StepPanel:
    here = pairs[(pairs["route"] == route) & (pairs["stage"] == stage)]
    here = here.sort_values(["steps", "case", "capture"])
    points = tuple(
        StepPoint(int(row["steps"]), float(row["old"]), float(row["new"]))
        for row in here.to_dict("records")
    )
    bins = tuple(_bin(int(power), rows) for power, rows in here.groupby(here["steps"].map(_power)))
    return StepPanel(route, stage, points, bins)


def _rows(route: str, panels: Sequence[StepPanel]) -> Iterator[StepRow]:
    """A row for each range of steps that any stage of the route has."""
    stages = [
        {(found.low, found.high): found for found in panel.bins}
        for panel in panels
        if panel.route == route
    ]
    for low, high in sorted({span for bins in stages for span in bins}):
        yield StepRow(route, low, high, tuple(bins.get((low, high)) for bins in stages))


def _power(steps: int) -> int:
    """1 for one or two steps, and one more for every doubling."""
    return max(math.ceil(math.log2(steps)), 1)


def _bin(power: int, rows: pd.DataFrame) -> StepBin:
    return StepBin(
        low=2 ** (power - 1) + 1 if power > 1 else 1,
        high=2**power,
        n=len(rows),
        steps=float(rows["steps"].median()),
        old=float(rows["old"].median()),
        new=float(rows["new"].median()),
    )
