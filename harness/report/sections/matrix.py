"""The matrix of subjects by families, and which of its rows say the same.

Releases that share an inliner are measured once where the environment is pinned, so their rows
are equal by construction: they are shown as one row that names its members. Where they differ,
which a matched environment can do, each keeps its row and says with whom it shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harness.catalogue.subject_order import ordered_subjects
from harness.report.frames.frames import STANDINGS
from harness.report.frames.matrix_views import Matrix, MatrixCell, MatrixGroup, MatrixRow
from harness.report.sections.causes import severity
from harness.wire.records import SubjectSpec


def build_matrix(
    table: pd.DataFrame, subjects: Sequence[SubjectSpec], environment: Mapping[str, str]
) -> Matrix:
    """The matrix of `tables.matrix`, with what is known of each subject."""
    families = tuple(str(name) for name in table.index.unique("family"))
    found = matrix_cells(table)
    rows, ordered = [], ordered_subjects(subjects)
    for spec in ordered:
        cells = tuple(found[spec.subject, family] for family in families)
        rows.append(
            MatrixRow(
                subject=spec.subject,
                kind=spec.kind.value,
                environment=environment[spec.subject],
                torch=spec.torch_pinned or "",
                tensorrt=spec.tensorrt_pinned or "",
                inliner=short_id(spec),
                shares=_shares(spec, ordered),
                whole=whole(spec.subject, cells),
                cells=cells,
            )
        )
    return Matrix(families, tuple(rows), grouped(rows))


def grouped(rows: Sequence[MatrixRow]) -> tuple[MatrixGroup, ...]:
    """Neighbours of one kind and one inliner whose cells are equal in every family, together."""
    groups: list[list[MatrixRow]] = []
    for row in rows:
        if groups and _alike(groups[-1][-1], row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return tuple(MatrixGroup(tuple(group)) for group in groups)


def _alike(one: MatrixRow, other: MatrixRow) -> bool:
    return (
        bool(one.inliner)
        and one.subject in other.shares
        and one.kind == other.kind
        and _anonymous(one.cells) == _anonymous(other.cells)
    )


def _anonymous(cells: Sequence[MatrixCell]) -> list[MatrixCell]:
    return [replace(cell, subject="") for cell in cells]


def short_id(spec: SubjectSpec) -> str:
    """How the hash of its inliner begins; empty where it has none."""
    return (spec.inliner_id or "")[:8]


def _shares(spec: SubjectSpec, subjects: Sequence[SubjectSpec]) -> tuple[str, ...]:
    """The others of these subjects with the same inliner."""
    if not spec.inliner_id:
        return ()
    return tuple(
        other.subject
        for other in subjects
        if other.inliner_id == spec.inliner_id and other.subject != spec.subject
    )


def matrix_cells(table: pd.DataFrame, by: str = "family") -> dict[tuple[str, str], MatrixCell]:
    """The cells of `tables.matrix` by subject and family, or by what stands in its place."""
    rows = (_cell(row, by) for row in table.reset_index().to_dict("records"))
    return {(cell.subject, cell.family): cell for cell in rows}


def _cell(row: Mapping[Any, Any], by: str) -> MatrixCell:
    counts = {name: int(row[name]) for name in (*STANDINGS, "unexpected")}
    worst = "" if pd.isna(row["worst"]) else str(row["worst"])
    tone = str(row["harm"]) if worst else _tone(counts)
    return MatrixCell(
        subject=str(row["subject"]), family=str(row[by]), worst=worst, tone=tone, **counts
    )


def _tone(counts: Mapping[str, int]) -> str:
    """The colour of a cell in which nothing fails: a doubt outweighs a pass."""
    for standing in ("missing", "unsupported", "ok"):
        if counts[standing]:
            return standing
    return "none"


def whole(subject: str, cells: Sequence[MatrixCell]) -> MatrixCell:
    """A row's sum. Its worst is that of its worst family."""
    names = (*STANDINGS, "unexpected")
    counts = {name: sum(getattr(cell, name) for cell in cells) for name in names}
    worst = min(
        (cell for cell in cells if cell.worst), key=lambda cell: severity(cell.tone), default=None
    )
    return MatrixCell(
        subject=subject,
        family="",
        worst=worst.worst if worst else "",
        tone=worst.tone if worst else _tone(counts),
        **counts,
    )
