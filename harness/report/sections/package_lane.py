"""What users of a release meet: the package lane, release by release and call by call.

Its cells are whole packages, each compiling, saving and loading by itself, and so stand apart from
those of the graph lane, where only the inliner differs. The engine lane has the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from harness.report.frames import tables
from harness.report.frames.environments import builder_kind
from harness.report.frames.limits import MOST_ROWS
from harness.report.frames.tables import (
    MatrixCell,
    Quartiles,
    compared_quartiles,
    in_lane,
    matrix_cells,
    quartiles_by,
)
from harness.report.reported_run import ReportedRun, Section
from harness.wire.builders import EMULATED, SEGMENT
from harness.wire.record_json import KEY
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import COMPILE_PARTS, Stage

CALLS: Final[Mapping[Route, str]] = {route: route.row.call for route in Route if route.row.call}
"""What a user of `torch_tensorrt` writes; ``retrace=True`` is its default."""

WHOLE_SAVE: Final = (*tables.INLINE_STAGES, Stage.EXPORT, Stage.SAVE)
"""The stages inside of one call of `torch_tensorrt.save`."""


@dataclass(frozen=True)
class PackageCall:
    """A route of these lanes: what a user writes, and what the package comes to by it."""

    route: str
    call: str
    reaches: str
    inlines: bool


@dataclass(frozen=True)
class PackageRow:
    """A release's package, what it pins, and its cell by every call of the lane.

    ``name`` is the release's, and the builder's of its engines where that is a real one.
    ``tensorrt_ran`` is the TensorRT that was imported, or empty.
    """

    release: str
    name: str
    torch: str
    tensorrt: str
    tensorrt_ran: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class PackageMeasure:
    """Seconds and bytes of one call in one release; None where nothing was measured.

    ``save`` is the whole call, ``inline`` the inliner's part of it.
    """

    name: str
    call: PackageCall
    save: Quartiles | None
    inline: Quartiles | None
    load: Quartiles | None
    archive: Quartiles | None
    engines: Quartiles | None


@dataclass(frozen=True)
class CompileMeasure:
    """Seconds of `torch_tensorrt.dynamo.compile`, and of its parts; None where not measured.

    Of an engine that was kept from an earlier run conversion and build are what they took then.
    """

    whole: Quartiles
    lowering: Quartiles | None
    conversion: Quartiles | None
    build: Quartiles | None


@dataclass(frozen=True)
class PackageLane:
    """What users of a release meet in one lane. ``compile`` is by a package's name.

    ``emulated``: of some cell the engines were. ``older`` counts the releases that are left out
    because there are too many.
    """

    lane: Lane
    emulated: bool
    calls: tuple[PackageCall, ...]
    cases: int
    rows: tuple[PackageRow, ...]
    measures: tuple[PackageMeasure, ...]
    compile: Mapping[str, CompileMeasure]
    older: int = 0

    @property
    def title(self) -> str:
        if self.lane is Lane.ENGINE:
            return "In the engine lane by call: whole packages, with engines that run on a GPU"
        return "What users of a release meet: its whole package"


def packages_of(lane: Lane) -> Callable[[ReportedRun], PackageLane | None]:
    """The builder of a lane's tables, whose view is None where no cell of the lane was planned."""

    def build(run: ReportedRun) -> PackageLane | None:
        cells = in_lane(run.cells_of_lanes, lane)
        if cells.empty:
            return None
        timings = in_lane(run.timings_of_lanes, lane)
        return _package_lane(lane, cells, timings, run.ordered, run.summary)

    return build


def _package_lane(
    lane: Lane,
    whole: pd.DataFrame,
    samples: pd.DataFrame,
    releases: Sequence[SubjectSpec],
    summary: Mapping[str, Any],
) -> PackageLane:
    asked = set(whole["subject"])
    of_lane = [spec for spec in releases if spec.subject in asked]
    releases, older = of_lane[-MOST_ROWS:], [spec.subject for spec in of_lane[:-MOST_ROWS]]
    here, samples = (frame[~frame["subject"].isin(older)] for frame in (whole, samples))
    planned = set(here["route"])
    calls = tuple(_call(route) for route in CALLS if route in planned)
    # Cells name a builder with its version or without, so both names are keys.
    ran = {
        (str(row["subject"]), name): str(row["tensorrt"]["running"] or "")
        for row in summary["inliners"]
        if row.get("lane") == lane
        for name in (str(row["builder"]), builder_kind(str(row["builder"])))
    }
    # Each builder has rows of its own.
    builders = sorted(
        {str(name) for name in here["builder"]}, key=lambda name: (name != SEGMENT, name)
    )
    parts = [(name, here[here["builder"] == name]) for name in builders]
    return PackageLane(
        lane=lane,
        emulated=bool((here["executor"] == EMULATED).any()),
        calls=calls,
        cases=int(here["case"].nunique()),
        rows=tuple(
            row for builder, part in parts for row in _rows(part, builder, releases, calls, ran)
        ),
        measures=tuple(
            row
            for builder, part in parts
            for row in _measures(part, samples[samples["builder"] == builder], builder, calls)
        ),
        compile={
            called(str(name), str(builder)): measure
            for builder, part in samples.groupby("builder", observed=True)
            for name, measure in _compile(part).items()
        },
        older=len(older),
    )


def called(release: str, builder: str) -> str:
    """The name of a package in the tables: its release, and its builder if that is a real one."""
    return release if builder == SEGMENT else f"{release} {builder}"


def _rows(
    cells: pd.DataFrame,
    builder: str,
    releases: Sequence[SubjectSpec],
    calls: Sequence[PackageCall],
    ran: Mapping[tuple[str, str], str],
) -> Iterator[PackageRow]:
    found = matrix_cells(tables.matrix(cells, "route"), "route")
    asked = set(cells["subject"])
    for spec in releases:
        if spec.subject in asked:
            yield PackageRow(
                release=spec.subject,
                name=called(spec.subject, builder),
                torch=spec.torch_pinned or "",
                tensorrt=spec.tensorrt_pinned or "",
                tensorrt_ran=ran.get((spec.subject, builder), ""),
                cells=tuple(found[spec.subject, call.route] for call in calls),
            )


def _call(route: Route) -> PackageCall:
    return PackageCall(
        route=route.value,
        call=CALLS[route],
        reaches=route.reaches.row.told,
        inlines=route.reaches.row.inlines,
    )


def _measures(
    cells: pd.DataFrame,
    samples: pd.DataFrame,
    builder: str,
    calls: Sequence[PackageCall],
) -> Iterator[PackageMeasure]:
    """One row for each call and release, over the cases that every release finished by it."""
    gated = samples[~samples["hypothetical"]]
    parts = {
        "save": summed(gated, WHOLE_SAVE),
        "inline": summed(gated, tables.INLINE_STAGES),
        "load": summed(gated, (Stage.LOAD,)),
    }
    # A save is whole only where the load, which comes after it, began.
    parts["save"] = parts["save"].merge(parts["load"][list(KEY)], on=list(KEY))
    by = ("subject", "route")
    seconds = {
        name: compared_quartiles(part, ["route"], by, "seconds") for name, part in parts.items()
    }
    archives, engines = (
        quartiles_by(tables.sizes(cells, name), *by) for name in ("archive_bytes", "engine_bytes")
    )
    for call in calls:
        for name in cells["subject"].sort_values().unique():
            at = (str(name), call.route)
            if at in archives or at in seconds["save"]:
                yield PackageMeasure(
                    name=called(str(name), builder),
                    call=call,
                    save=seconds["save"].get(at),
                    inline=seconds["inline"].get(at) if call.inlines else None,
                    load=seconds["load"].get(at),
                    archive=archives.get(at),
                    engines=engines.get(at),
                )


def summed(samples: pd.DataFrame, stages: Sequence[Stage]) -> pd.DataFrame:
    """The seconds that each cell spent in these stages."""
    mine = samples[samples["stage"].isin([stage.value for stage in stages])]
    return mine.groupby(list(KEY), observed=True)["seconds"].sum().reset_index()


def _compile(samples: pd.DataFrame) -> dict[str, CompileMeasure]:
    """Seconds of `torch_tensorrt.dynamo.compile` and its parts by release, over the same cases."""
    whole, lowering, conversion, build = (
        compared_quartiles(compiled(samples, stage), ["capture"], ["subject"], "seconds")
        for stage in (Stage.COMPILE, *COMPILE_PARTS)
    )
    return {
        at[0]: CompileMeasure(took, lowering.get(at), conversion.get(at), build.get(at))
        for at, took in whole.items()
    }


def compiled(samples: pd.DataFrame, stage: Stage = Stage.COMPILE) -> pd.DataFrame:
    """`torch_tensorrt.dynamo.compile` of each case, or a part of it, once a release."""
    mine = samples[samples["stage"] == stage.value]
    return mine.sort_values("seconds").drop_duplicates(["subject", "case", "capture"])


PACKAGES: Final = tuple(
    Section(lane.value, packages_of(lane), template="package", link=link)
    for lane, link in ((Lane.PACKAGE, "Packages"), (Lane.ENGINE, "On a GPU"))
)
"""The sections of the lanes of whole packages."""
