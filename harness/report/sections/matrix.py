"""The matrix of subjects by families, and which of its rows say the same.

Releases that share an inliner are measured once where the environment is pinned, so their rows
are equal by construction: they are shown as one row that names its members. Where they differ,
which a matched environment can do, each keeps its row and says with whom it shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.report.frames import tables
from harness.report.frames.environments import environments
from harness.report.frames.tables import MatrixCell
from harness.report.reported_run import ReportedRun, Section
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane


@dataclass(frozen=True)
class MatrixRow:
    """A subject, what it ran with, and its cell in every family. ``whole`` sums them up.

    ``torch`` and ``tensorrt`` are what a release pins, or empty; ``shares`` names the other
    subjects with the same inliner.
    """

    subject: str
    kind: str
    environment: str
    torch: str
    tensorrt: str
    inliner: str
    shares: tuple[str, ...]
    whole: MatrixCell
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class MatrixGroup:
    """Neighbouring rows that say the same, because their inliner is the same; mostly one row."""

    rows: tuple[MatrixRow, ...]

    @property
    def first(self) -> MatrixRow:
        return self.rows[0]

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(row.subject for row in self.rows)

    @property
    def unlike(self) -> tuple[str, ...]:
        """Subjects with the same inliner that say something else, and so stand elsewhere."""
        return tuple(name for name in self.first.shares if name not in self.members)


@dataclass(frozen=True)
class Matrix:
    families: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    groups: tuple[MatrixGroup, ...]


def build_matrix(run: ReportedRun) -> Matrix:
    """The families and subjects of the lane that is compared."""
    table = tables.matrix(run.cells)
    table = table[table.index.get_level_values("family").isin(run.cells["family"])]
    families = tuple(str(name) for name in table.index.unique("family"))
    found = tables.matrix_cells(table)
    subjects = run.ordered
    if run.lane is not Lane.GRAPH:  # few subjects have packages of the other lanes
        subjects = [s for s in subjects if any(of.lane is run.lane for of in s.packages)]
    environment = environments(run.subjects, run.summary, run.provenance, run.lane)
    rows = []
    for spec in subjects:
        cells = tuple(found[spec.subject, family] for family in families)
        rows.append(
            MatrixRow(
                subject=spec.subject,
                kind=spec.kind.value,
                environment=environment[spec.subject],
                torch=spec.torch_pinned or "",
                tensorrt=spec.tensorrt_pinned or "",
                inliner=short_id(spec),
                shares=_shares(spec, subjects),
                whole=tables.whole(spec.subject, cells),
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
    """The first digits of the inliner's hash; empty without an inliner."""
    return (spec.inliner_id or "")[:8]


def _shares(spec: SubjectSpec, subjects: Sequence[SubjectSpec]) -> tuple[str, ...]:
    """The other subjects with the same inliner."""
    if not spec.inliner_id:
        return ()
    return tuple(
        other.subject
        for other in subjects
        if other.inliner_id == spec.inliner_id and other.subject != spec.subject
    )


MATRIX: Final = Section("matrix", build_matrix, template="matrix", link="Matrix")
