"""ReportModel: everything that a report shows, built purely from a run's plain records.

The page, the markdown, the pictures and the CSV are views of this one object, so they cannot
disagree; none of them computes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from harness.catalogue.subject_order import ordered_subjects
from harness.gate.verdict import counts_by_lane
from harness.report import text
from harness.report.frames import tables
from harness.report.frames.frames import (
    MISSING,
    cell_frame,
    sample_frame,
    verdict_frame,
)
from harness.report.frames.limits import MOST_ROWS
from harness.report.frames.matrix_views import Matrix
from harness.report.frames.measure_views import MeasureRow, UnflattenRow
from harness.report.run_frames import RunFrames, matrix_frame, summary_frame
from harness.report.sections.answers import UNJUDGED, answers
from harness.report.sections.cause_views import CauseView, FindingView, LiveCause, Script
from harness.report.sections.causes import gone_causes, live_causes, smallest_first
from harness.report.sections.environment import compared_in, environments, torches_running
from harness.report.sections.headline import EXPECTATIONS, headline
from harness.report.sections.matrix import build_matrix
from harness.report.sections.neighbours import NeighbourView, neighbours
from harness.report.sections.package_lane import in_lane, package_answers, package_lanes
from harness.report.sections.package_views import PackageLane
from harness.report.sections.picture_views import Picture
from harness.report.sections.provenance import with_sources
from harness.report.sections.rows import (
    comparison,
    control,
    failing_cells,
    failing_subjects,
    hypothetical_rows,
    measure_rows,
)
from harness.report.sections.scope import compared_words, scope_words
from harness.report.sections.unflattening import unflatten_rows
from harness.report.sections.version_matrix import version_matrix
from harness.report.sections.version_views import VersionBlock
from harness.report.sections.views import (
    Comparison,
    Control,
    FailingList,
    FailingSubject,
    Headline,
    HypotheticalRow,
    Provenance,
)
from harness.wire.builders import EMULATED
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind

__all__ = ["EXPECTATIONS", "CauseView", "FindingView", "ReportModel", "build_model"]


@dataclass(frozen=True)
class ReportModel:
    """One run as a reader sees it, from the verdict down to the provenance.

    What compares inliners is of one lane, ``lane``: of the graph lane where the run has it; and of
    one kind of environment, the pinned one where the lane has it. ``versions`` has all of them.
    ``failing`` are the cells of those matrix rows that the page has, and ``older_failing`` counts
    the cells of the others. ``mismatches`` say why a merged run's sources should not have been
    merged. ``packages`` has a lane of whole packages each. ``pictures`` are of causes, by their id;
    ``no_pictures`` says why there are none. ``scripts`` and ``no_scripts`` likewise.
    """

    title: str
    scope: str
    emulated: bool
    lane: Lane
    headline: Headline
    ran_on: tuple[str, ...]
    matrix: Matrix
    findings: tuple[FindingView, ...]
    notes: tuple[FindingView, ...]
    good_news: tuple[FindingView, ...]
    comparison: Comparison | None
    neighbours: tuple[NeighbourView, ...]
    newest: str | None
    live: tuple[LiveCause, ...]
    gone: tuple[LiveCause, ...]
    packages: tuple[PackageLane, ...]
    versions: tuple[VersionBlock, ...]
    measures: tuple[MeasureRow, ...]
    unflatten: tuple[UnflattenRow, ...]
    control: Control
    hypothetical: tuple[HypotheticalRow, ...]
    failing: tuple[FailingSubject, ...]
    older_failing: int
    provenance: Provenance
    mismatches: tuple[str, ...]
    frames: RunFrames = field(repr=False, compare=False)
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    no_pictures: str = "not asked for"
    scripts: Mapping[str, Script] = field(default_factory=dict)
    no_scripts: str = "not asked for"

    @property
    def measured(self) -> bool:
        """Whether there is any number to show below the matrix."""
        return any(row.archive or any(row.stages.values()) for row in self.measures)

    @property
    def failing_lists(self) -> tuple[FailingList, ...]:
        """The lists of failing cells that the tables link to."""
        if not self.packages:
            return (_listed("", self.lane, self.failing, self.older_failing),)
        by = " by family" if self.lane is not Lane.GRAPH else ""
        return (
            _listed(f"In the {self.lane} lane{by}", self.lane, self.failing, self.older_failing),
            *(
                _listed(f"In the {of.lane} lane by call", of.lane, of.failing, of.older_failing)
                for of in self.packages
            ),
        )


def build_model(
    *,
    plan: Sequence[CellKey],
    records: Sequence[CellRecord],
    cases: Sequence[CaseInfo],
    subjects: Sequence[SubjectSpec],
    gate: str,
    classes: Mapping[str, str],
    findings: Sequence[FindingView],
    causes: Sequence[CauseView],
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
    notes: Sequence[FindingView] = (),
    good_news: Sequence[FindingView] = (),
    defects: Sequence[str] = (),
    run: str = "",
) -> ReportModel:
    """The model of one run.

    Args:
        plan: every planned cell; one without a record is shown as missing.
        gate: green, red, inconclusive or failed.
        classes: from a cell's id to its class, in the words of summary.json.
        findings: what keeps the gate from green, worst first; `notes` and `good_news` do not.
        causes: the defects that this run shows.
        defects: the run in defects, line by line, as the console tells it.
        summary, provenance: the data of summary.json and run.json.
        run: the run's name, for the title.
    """
    all_cells = cell_frame(records, cases, subjects, classes, plan)
    all_verdicts = verdict_frame(records, cases, subjects)
    told = all_verdicts.drop(columns="evidence")  # which no table shows, and which is large
    timings = sample_frame(records, cases, subjects)
    lane, where = _compared(plan), compared_in(plan)
    one_cells, one_verdicts, one_timings = map(where.rows, (all_cells, told, timings))
    cells, verdicts = in_lane(one_cells, lane), in_lane(one_verdicts, lane)
    samples = tables.stage_times(in_lane(one_timings, Lane.GRAPH))
    ordered = ordered_subjects(subjects)
    environment = environments(subjects, summary, provenance, lane)
    matrix = _matrix(cells, ordered, lane, environment)
    releases = _releases_asked(ordered, cells)
    newest = releases[-1] if releases else None
    change = comparison(verdicts, *releases[-2:]) if len(releases) > 1 else None
    steps = neighbours(cells, releases)
    # The last step is from the release before the newest, unless that has the same inliner.
    worse = steps[-1].worse if steps and change and change.before in steps[-1].before else None
    packages = package_lanes(one_cells, one_timings, ordered, summary)
    answered = (
        *answers(cells, verdicts if lane is Lane.GRAPH else None, releases, change, worse),
        *package_answers(one_cells, [spec.subject for spec in ordered]),
    )
    measures = measure_rows(samples, in_lane(one_cells, Lane.GRAPH))
    counts = counts_by_lane(
        {key.cell_id: classes.get(key.cell_id, MISSING) for key in plan},
        {key.cell_id: key.lane for key in plan},
    )
    smallest = smallest_first(one_cells, cases)
    shown = frozenset(map(str, one_cells["cell_id"]))
    return ReportModel(
        title=f"Inliner regression{f' · {run}' if run else ''}",
        scope=scope_words(cells, matrix, lane, packages, provenance.get("gpu"))
        + compared_words(plan, where),
        emulated=any(key.executor == EMULATED for key in plan),
        lane=lane,
        headline=headline(
            gate,
            summary,
            counts,
            plan,
            all_cells,
            all_verdicts,
            answered,
            findings,
            defects,
            bool(notes),
        ),
        ran_on=torches_running(subjects, summary, provenance),
        matrix=matrix,
        findings=tuple(findings),
        notes=tuple(notes),
        good_news=tuple(good_news),
        comparison=change,
        neighbours=steps,
        newest=newest,
        live=live_causes(causes, shown, newest, smallest) if newest else (),
        gone=gone_causes(causes, shown, releases, smallest) if newest else (),
        packages=packages,
        measures=measures,
        unflatten=unflatten_rows(verdicts),
        control=control(cells, verdicts),
        hypothetical=hypothetical_rows(cells),
        failing=failing_subjects(cells, [group.members for group in matrix.groups[-MOST_ROWS:]]),
        older_failing=failing_cells(
            cells, [name for group in matrix.groups[:-MOST_ROWS] for name in group.members]
        ),
        versions=version_matrix(all_cells, timings, subjects, summary),
        mismatches=tuple(provenance.get("mismatches", ())),
        provenance=with_sources({**provenance, **_stage_share(summary), **_memory(summary)}),
        frames=RunFrames(
            cells=all_cells,
            verdicts=all_verdicts,
            timings=timings,
            matrix=matrix_frame(matrix),
            summary=summary_frame(one_cells, ordered, measures),
        ),
    )


def _listed(
    title: str, lane: Lane, subjects: tuple[FailingSubject, ...], older: int
) -> FailingList:
    return FailingList(title, lane, subjects, older + sum(of.unlisted for of in subjects))


def _compared(plan: Sequence[CellKey]) -> Lane:
    """The lane whose cells are compared: in the graph lane nothing differs but the inliner."""
    lanes = {key.lane for key in plan}
    return next((lane for lane in Lane if lane in lanes), Lane.GRAPH)


def _matrix(
    cells: pd.DataFrame,
    subjects: Sequence[SubjectSpec],
    lane: Lane,
    environment: Mapping[str, str],
) -> Matrix:
    """Of the families that the lane has; of the lanes of packages, which few have, its subjects."""
    table = tables.matrix(cells)
    here = table[table.index.get_level_values("family").isin(cells["family"])]
    if lane is not Lane.GRAPH:
        subjects = [s for s in subjects if any(package.lane is lane for package in s.packages)]
    return build_matrix(here, subjects, environment)


def _stage_share(summary: Mapping[str, Any]) -> dict[str, str]:
    """What part of the workers' time went into stages, where they told it."""
    seconds = summary["seconds"]
    share = seconds.get("stage_share")
    if share is None:
        return {}
    spent = f"{text.number(seconds['in_stages'])} of {text.number(seconds['workers'])} s"
    return {"time inside stages": f"{share:.0%} of the workers' time since import ({spent})"}


def _memory(summary: Mapping[str, Any]) -> dict[str, str]:
    """The most memory that a run held, where it was measured."""
    held = summary.get("memory", {})
    workers, controller = (held.get(f"{who}_peak_bytes") for who in ("workers", "controller"))
    if workers is None or controller is None:
        return {}
    total = f"{text.size(workers)} in all workers, {text.size(controller)} in the controller"
    return {"peak memory": f"{total}, each process's most at any time"}


def _releases_asked(subjects: Sequence[SubjectSpec], cells: pd.DataFrame) -> list[str]:
    """The releases that were asked anything, the oldest first."""
    asked = set(cells.loc[~cells["standing"].isin(UNJUDGED), "subject"])
    return [
        spec.subject
        for spec in subjects
        if spec.kind is SubjectKind.RELEASE and spec.subject in asked
    ]
