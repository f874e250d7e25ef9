"""The matrix of subjects by families, as frozen data: what a reader sees of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixCell:
    """One subject in one family, or by one route in the table of the package lane.

    ``tone`` names its colour and sign: the worst harm, or a standing where nothing fails.
    """

    subject: str
    family: str
    ok: int
    failing: int
    unsupported: int
    missing: int
    unexpected: int
    worst: str
    tone: str

    @property
    def total(self) -> int:
        return self.ok + self.failing + self.unsupported + self.missing


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
