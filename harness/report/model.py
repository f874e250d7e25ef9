"""ReportModel: everything that a report shows, built purely from a run's plain records.

The page, the markdown, the pictures and the CSV are views of this one object, so they cannot
disagree; none of them computes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.report import tables
from harness.report.environment import environments
from harness.report.frames import (
    STANDINGS,
    cell_frame,
    ordered_subjects,
    sample_frame,
    verdict_frame,
)
from harness.report.headline import headline
from harness.report.provenance import flatten
from harness.report.rows import (
    comparison,
    control,
    failing_subjects,
    hypothetical_rows,
    measure_rows,
)
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
    MatrixCell,
    MatrixRow,
    MeasureRow,
    Provenance,
)
from harness.rig.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    Oracle,
    SubjectKind,
    SubjectSpec,
)

__all__ = ["CauseView", "FindingView", "ReportModel", "build_model"]


@dataclass(frozen=True)
class ReportModel:
    """One run as a reader sees it, from the verdict down to the provenance."""

    title: str
    scope: str
    emulated: bool
    headline: Headline
    matrix: Matrix
    findings: tuple[FindingView, ...]
    notes: tuple[FindingView, ...]
    good_news: tuple[FindingView, ...]
    comparison: Comparison | None
    newest: str | None
    live: tuple[LiveCause, ...]
    measures: tuple[MeasureRow, ...]
    control: Control
    hypothetical: tuple[HypotheticalRow, ...]
    failing: tuple[FailingSubject, ...]
    provenance: Provenance

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
    samples = tables.stage_times(sample_frame(records, cases, subjects))
    matrix = _matrix(tables.matrix(cells), subjects, environments(subjects, summary, provenance))
    before, newest = _newest_two(subjects, cells)
    whole = {row.subject: row.whole for row in matrix.rows}
    change = comparison(verdicts, before, newest) if before and newest else None
    return ReportModel(
        title=f"Inliner regression{f' · {run}' if run else ''}",
        scope=_scope(cells, matrix),
        emulated=any(key.executor == "emulated" for key in plan),
        headline=headline(gate, summary, plan, cells, verdicts, whole.get(newest or ""), change),
        matrix=matrix,
        findings=tuple(findings),
        notes=tuple(notes),
        good_news=tuple(good_news),
        comparison=change,
        newest=newest,
        live=_live(causes, newest),
        measures=measure_rows(samples, cells),
        control=control(cells, verdicts),
        hypothetical=hypothetical_rows(cells),
        failing=failing_subjects(cells),
        provenance=flatten(provenance),
    )


def _severity(oracle: str) -> int:
    """0 for the worst; what is no oracle, such as a harness's own fault, comes last."""
    return Oracle(oracle).severity if oracle in list(Oracle) else len(Oracle)


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


def _newest_two(
    subjects: Sequence[SubjectSpec], cells: pd.DataFrame
) -> tuple[str | None, str | None]:
    """The newest release that was asked anything, and the one before it."""
    asked = set(cells.loc[~cells["standing"].isin(["unsupported", "missing"]), "subject"])
    releases = [
        spec.subject
        for spec in ordered_subjects(subjects)
        if spec.kind is SubjectKind.RELEASE and spec.subject in asked
    ]
    padded = [None, None, *releases]
    return padded[-2], padded[-1]


def _matrix(
    table: pd.DataFrame, subjects: Sequence[SubjectSpec], environment: Mapping[str, str]
) -> Matrix:
    families = tuple(str(name) for name in table.index.unique("family"))
    found = {
        (cell.subject, cell.family): cell
        for cell in (_matrix_cell(row) for row in table.reset_index().to_dict("records"))
    }
    rows = []
    for spec in ordered_subjects(subjects):
        cells = tuple(found[spec.subject, family] for family in families)
        rows.append(
            MatrixRow(
                subject=spec.subject,
                kind=spec.kind.value,
                environment=environment[spec.subject],
                inliner=(spec.inliner_id or "")[:8],
                shares=_shares(spec, subjects),
                whole=_whole(spec.subject, cells),
                cells=cells,
            )
        )
    return Matrix(families, tuple(rows))


def _shares(spec: SubjectSpec, subjects: Sequence[SubjectSpec]) -> tuple[str, ...]:
    """The other subjects with the same inliner."""
    if not spec.inliner_id:
        return ()
    return tuple(
        other.subject
        for other in ordered_subjects(subjects)
        if other.inliner_id == spec.inliner_id and other.subject != spec.subject
    )


def _matrix_cell(row: Mapping[Any, Any]) -> MatrixCell:
    counts = {name: int(row[name]) for name in (*STANDINGS, "unexpected")}
    worst = "" if pd.isna(row["worst"]) else str(row["worst"])
    tone = str(row["oracle"]) if worst else _tone(counts)
    return MatrixCell(
        subject=str(row["subject"]), family=str(row["family"]), worst=worst, tone=tone, **counts
    )


def _tone(counts: Mapping[str, int]) -> str:
    """The colour of a cell in which nothing fails: a doubt outweighs a pass."""
    for standing in ("missing", "unsupported", "ok"):
        if counts[standing]:
            return standing
    return "none"


def _whole(subject: str, cells: Sequence[MatrixCell]) -> MatrixCell:
    """A row's sum. Its worst is that of its worst family."""
    names = (*STANDINGS, "unexpected")
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in names}
    worst = min(
        (cell for cell in cells if cell.worst), key=lambda cell: _severity(cell.tone), default=None
    )
    return MatrixCell(
        subject=subject,
        family="",
        worst=worst.worst if worst else "",
        tone=worst.tone if worst else _tone(counts),
        **counts,
    )


def _live(causes: Sequence[CauseView], newest: str | None) -> tuple[LiveCause, ...]:
    """The causes that the newest release still has, worst first, with what shows each."""
    if newest is None:
        return ()
    mine = [cause for cause in causes if newest in cause.subjects and cause.count]
    mine.sort(key=lambda cause: (_severity(cause.oracle), cause.id))
    return tuple(
        LiveCause(cause, f"python -m harness explain {cause.cases[0]} --subject {newest}")
        for cause in mine
        if cause.cases
    )
