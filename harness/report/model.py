"""ReportModel: everything that a report shows, built purely from a run's plain records.

The page, the markdown, the pictures and the CSV are views of this one object, so they cannot
disagree; none of them computes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from harness.report import tables, text
from harness.report.answers import UNJUDGED, answers
from harness.report.causes import live_causes, smallest_first
from harness.report.environment import environments, torches_running
from harness.report.frames import cell_frame, ordered_subjects, sample_frame, verdict_frame
from harness.report.headline import LEDGER, headline
from harness.report.matrix import build_matrix
from harness.report.neighbours import NeighbourView, neighbours
from harness.report.over_steps import OverSteps, over_steps
from harness.report.provenance import flatten
from harness.report.rows import (
    comparison,
    control,
    failing_subjects,
    hypothetical_rows,
    measure_rows,
)
from harness.report.run_frames import RunFrames, matrix_frame, summary_frame
from harness.report.views import (
    CauseView,
    Comparison,
    Control,
    FailingSubject,
    FindingView,
    Headline,
    HypotheticalRow,
    LiveCause,
    Matrix,
    MeasureRow,
    Provenance,
)
from harness.rig.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    SubjectKind,
    SubjectSpec,
)
from harness.verdict import remaining

__all__ = ["LEDGER", "CauseView", "FindingView", "ReportModel", "build_model"]


@dataclass(frozen=True)
class ReportModel:
    """One run as a reader sees it, from the verdict down to the provenance."""

    title: str
    scope: str
    emulated: bool
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
    measures: tuple[MeasureRow, ...]
    over_steps: OverSteps | None
    control: Control
    hypothetical: tuple[HypotheticalRow, ...]
    failing: tuple[FailingSubject, ...]
    provenance: Provenance
    frames: RunFrames = field(repr=False, compare=False)

    @property
    def measured(self) -> bool:
        """Whether there is any number to show below the matrix."""
        return any(row.archive or any(row.stages.values()) for row in self.measures)


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
    run: str = "",
) -> ReportModel:
    """The model of one run.

    Args:
        plan: every planned cell; one without a record is shown as missing.
        gate: green, red, inconclusive or failed.
        classes: from a cell's id to its class, in the words of summary.json.
        findings: what keeps the gate from green, worst first; `notes` and `good_news` do not.
        causes: the ledger's entries as seen in this run.
        summary, provenance: the data of summary.json and run.json.
        run: the run's name, for the title.
    """
    cells = cell_frame(records, cases, subjects, classes, plan)
    verdicts = verdict_frame(records, cases, subjects)
    timings = sample_frame(records, cases, subjects)
    samples = tables.stage_times(timings)
    environment = environments(subjects, summary, provenance)
    matrix = build_matrix(tables.matrix(cells), subjects, environment)
    releases = _releases_asked(subjects, cells)
    newest = releases[-1] if releases else None
    change = comparison(verdicts, *releases[-2:]) if len(releases) > 1 else None
    steps = neighbours(cells, releases)
    # The last step is from the release before the newest, unless that has the same inliner.
    worse = steps[-1].worse if steps and change and change.before in steps[-1].before else None
    answered = answers(cells, verdicts, releases, change, worse)
    measures = measure_rows(samples, cells)
    return ReportModel(
        title=f"Inliner regression{f' · {run}' if run else ''}",
        scope=_scope(cells, matrix),
        emulated=any(key.executor == "emulated" for key in plan),
        headline=headline(
            gate, summary, plan, cells, verdicts, answered, findings, remaining(records, subjects)
        ),
        ran_on=torches_running(subjects, summary, provenance),
        matrix=matrix,
        findings=tuple(findings),
        notes=tuple(notes),
        good_news=tuple(good_news),
        comparison=change,
        neighbours=steps,
        newest=newest,
        live=live_causes(causes, verdicts, newest, smallest_first(cells, cases)) if newest else (),
        measures=measures,
        over_steps=over_steps(samples, releases),
        control=control(cells, verdicts),
        hypothetical=hypothetical_rows(cells),
        failing=failing_subjects(cells, [group.members for group in matrix.groups]),
        provenance=flatten({**provenance, **_stage_share(summary)}),
        frames=RunFrames(
            cells=cells,
            verdicts=verdicts,
            timings=timings,
            matrix=matrix_frame(matrix),
            summary=summary_frame(cells, matrix, measures),
        ),
    )


def _stage_share(summary: Mapping[str, Any]) -> dict[str, str]:
    """What part of the workers' time went into stages, where they told it."""
    seconds = summary["seconds"]
    share = seconds.get("stage_share")
    if share is None:
        return {}
    spent = f"{text.number(seconds['in_stages'])} of {text.number(seconds['workers'])} s"
    return {"time inside stages": f"{share:.0%} of the workers' time since import ({spent})"}


def _scope(cells: pd.DataFrame, matrix: Matrix) -> str:
    """What was compared, in one line."""
    kinds = [row.kind for row in matrix.rows]
    releases = kinds.count(SubjectKind.RELEASE.value)
    others = len(kinds) - releases
    return (
        f"{releases} release{'' if releases == 1 else 's'}, "
        f"{others} other subject{'' if others == 1 else 's'}, "
        f"{cells['case'].nunique()} cases in {len(matrix.families)} families"
    )


def _releases_asked(subjects: Sequence[SubjectSpec], cells: pd.DataFrame) -> list[str]:
    """The releases that were asked anything, the oldest first."""
    asked = set(cells.loc[~cells["standing"].isin(UNJUDGED), "subject"])
    return [
        spec.subject
        for spec in ordered_subjects(subjects)
        if spec.kind is SubjectKind.RELEASE and spec.subject in asked
    ]
