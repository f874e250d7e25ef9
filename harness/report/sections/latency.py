"""Latency and file size by subject and route, of the graph lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import pandas as pd

from harness.report.frames import tables
from harness.report.frames.tables import Quartiles, in_lane, quartiles_by
from harness.report.reported_run import ReportedRun, Section
from harness.wire.routes import Lane, Route


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

    @property
    def measured(self) -> bool:
        """Whether there is any number to show."""
        return bool(self.archive) or any(self.stages.values())


def measure_rows(samples: pd.DataFrame, cells: pd.DataFrame) -> tuple[MeasureRow, ...]:
    """A row for each (route, subject) that has a gated cell; twins of one inliner share theirs.

    Seconds and sizes are over the cases that every subject finished on that route, so routes come
    first: within one, the rows are of the same cases.
    """
    fair = tables.comparable(samples, ["route", "stage"])
    seconds = quartiles_by(tables.latency(fair), "subject", "route", "stage")
    archives = quartiles_by(tables.sizes(cells, "archive_bytes"), "subject", "route")
    engines = quartiles_by(tables.sizes(cells, "engine_bytes"), "subject", "route")
    return tuple(
        MeasureRow(
            members=members,
            route=route,
            inlines=Route(route).row.inlines,
            stages={name: seconds.get((members[0], route, name)) for name in tables.LATENCY_STAGES},
            archive=archives.get((members[0], route)),
            engines=engines.get((members[0], route)),
        )
        for route, members in _measured_once(cells)
    )


def _measured_once(cells: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each route with the subjects that were measured as one and the same, in order."""
    names = ["route", "subject", "measured_as"]
    gated = (
        cells.loc[~cells["hypothetical"], names].drop_duplicates(names[:2]).sort_values(names[:2])
    )
    sources = ((row, str(row["measured_as"] or row["subject"])) for row in gated.to_dict("records"))
    for (route, _), rows in groupby(sources, lambda pair: (str(pair[0]["route"]), pair[1])):
        yield route, tuple(str(row["subject"]) for row, _ in rows)


def build_latency(run: ReportedRun) -> tuple[MeasureRow, ...] | None:
    """The rows of a run; None for one without the graph lane."""
    if run.lane is not Lane.GRAPH:
        return None
    return measure_rows(run.graph_times, in_lane(run.cells_of_lanes, Lane.GRAPH))


LATENCY: Final = Section("latency", build_latency, template="latency", link="Latency")
