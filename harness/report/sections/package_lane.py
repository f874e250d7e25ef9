"""What users of a release meet: the package lane, release by release and call by call.

Its cells are whole packages, each compiling, saving and loading by itself, and so stand apart from
those of the graph lane, where only the inliner differs. The engine lane has the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from harness.report import text
from harness.report.frames import tables
from harness.report.frames.harms import harms_of
from harness.report.frames.limits import MOST_ROWS
from harness.report.sections.answers import UNJUDGED
from harness.report.sections.environment import builder_kind
from harness.report.sections.matrix import matrix_cells
from harness.report.sections.package_views import (
    CompileMeasure,
    PackageCall,
    PackageLane,
    PackageMeasure,
    PackageRow,
)
from harness.report.sections.rows import failing_cells, failing_subjects, quartiles_by
from harness.report.sections.views import Answer
from harness.wire.builders import EMULATED, SEGMENT
from harness.wire.record_json import KEY
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import COMPILE_PARTS, Stage

CALLS: Final[Mapping[Route, str]] = {route: route.row.call for route in Route if route.row.call}
"""What a user of `torch_tensorrt` writes; ``retrace=True`` is its default."""

LANES: Final[Mapping[Lane, str]] = {
    Lane.PACKAGE: "Package of {}",
    Lane.ENGINE: "On a GPU, {}",
}
"""The lanes of whole packages, and how the first screen asks of a package there."""

WHOLE_SAVE: Final = (*tables.INLINE_STAGES, Stage.EXPORT, Stage.SAVE)
"""The stages inside of one call of `torch_tensorrt.save`."""


def in_lane(frame: pd.DataFrame, lane: Lane) -> pd.DataFrame:
    """The rows of one lane."""
    return frame[frame["lane"] == lane.value]


def package_lanes(
    cells: pd.DataFrame,
    timings: pd.DataFrame,
    releases: Sequence[SubjectSpec],
    summary: Mapping[str, Any],
) -> tuple[PackageLane, ...]:
    """The tables of each lane of whole packages of which a cell was planned.

    Args:
        cells, timings: as `frames` makes them; rows of other lanes are left out.
        releases: in order.
    """
    asked = set(cells["lane"].unique())
    return tuple(
        _package_lane(lane, in_lane(cells, lane), in_lane(timings, lane), releases, summary)
        for lane in LANES
        if lane in asked
    )


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
    # By a builder's name with its version and without: which of them the cells have.
    ran = {
        (str(row["subject"]), name): str(row["tensorrt"]["running"] or "")
        for row in summary["inliners"]
        if row.get("lane") == lane
        for name in (str(row["builder"]), builder_kind(str(row["builder"])))
    }
    # Cells of another builder are other cells: they have rows of their own.
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
        failing=tuple(
            replace(failing, members=(called(failing.members[0], builder),))
            for builder, part in parts
            for failing in failing_subjects(part, [[spec.subject] for spec in releases], "route")
        ),
        older=len(older),
        older_failing=failing_cells(whole, older),
    )


def called(release: str, builder: str) -> str:
    """A release's package by the name that its rows have."""
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


def package_answers(cells: pd.DataFrame, releases: Sequence[str]) -> tuple[Answer, ...]:
    """For the newest release of each lane and the one before it: what each call does.

    With the builder that all cases go through, where there is one; the table has all.

    Args:
        releases: those of the run, the oldest first.
    """
    return tuple(
        answer for lane in LANES for answer in _answers(in_lane(cells, lane), lane, releases)
    )


def _answers(here: pd.DataFrame, lane: Lane, releases: Sequence[str]) -> Iterator[Answer]:
    if (here["builder"] == SEGMENT).any():
        here = here[here["builder"] == SEGMENT]
    asked = set(here.loc[~here["standing"].isin(UNJUDGED), "subject"])
    for name in [name for name in releases if name in asked][:-3:-1]:
        for builder, part in here[here["subject"] == name].groupby("builder", observed=True):
            yield Answer(LANES[lane].format(called(name, str(builder))), _told(part))


def _told(here: pd.DataFrame) -> str:
    """Calls that are silently wrong first, then announced, broken, and all others in one."""
    silent, announced, loud, right = [], [], [], []
    for route, rows in here.groupby("route", observed=True):
        call, total, harms = CALLS[Route(str(route))], len(rows), harms_of(rows)
        unasked = int(rows["standing"].isin(UNJUDGED).sum())
        doubt = f", {unasked} not asked" if unasked else ""
        wrong = f"{call} computes something else in"
        warns = f", in {harms.announced} more with a warning" if harms.announced else ""
        breaks = f" and fails in {harms.error}" if harms.error else ""
        if harms.silent:
            silent.append(f"{wrong} {harms.silent} of {total}{warns}{breaks}{doubt}")
        elif harms.announced:
            announced.append(
                f"{wrong} {harms.announced} of {total}, and warns of it{breaks}{doubt}"
            )
        elif harms.error:
            loud.append(f"{call} fails in {harms.error} of {total}{doubt}")
        else:
            right.append(f"{call} in all {total}" if not unasked else f"{call} in {total}{doubt}")
    rest = [f"the numbers are right by {text.listed(right)}"] if right else []
    return f"{'; '.join([*silent, *announced, *loud, *rest])}."


def _measures(
    cells: pd.DataFrame,
    samples: pd.DataFrame,
    builder: str,
    calls: Sequence[PackageCall],
) -> Iterator[PackageMeasure]:
    """A row for each call and release with a finished cell, of the cases that all of them did."""
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
        name: quartiles_by(
            tables.quartiles(tables.comparable(part, ["route"]), list(by), "seconds"), *by
        )
        for name, part in parts.items()
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
    """Seconds of each cell in these stages together."""
    mine = samples[samples["stage"].isin([stage.value for stage in stages])]
    return mine.groupby(list(KEY), observed=True)["seconds"].sum().reset_index()


def _compile(samples: pd.DataFrame) -> dict[str, CompileMeasure]:
    """`torch_tensorrt.dynamo.compile` by release, and its parts; the same cases of each."""
    whole, lowering, conversion, build = (
        quartiles_by(
            tables.quartiles(
                tables.comparable(compiled(samples, stage), ["capture"]), ["subject"], "seconds"
            ),
            "subject",
        )
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
