"""Findings and causes, as frozen data.

``FindingView`` and ``CauseView`` are also what the report takes in: the gate and the register are
adapted to them, so the report depends on neither.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.runs.commands import HERE, Places
from harness.wire.records import CellKey


@dataclass(frozen=True)
class FindingView:
    """One thing that a person should look at, and the command that shows it.

    ``tone`` is a harm or ``ok``; the cell's class where the cell as a whole is meant, such as
    ``missing``; or `EXPECTATIONS` where register or table is at fault, and a defect stands for the
    case.
    ``torchs_own``: plain ``torch.export`` of this case fails likewise.
    """

    case: str
    subject: str
    route: str
    tone: str
    label: str
    reason: str
    command: str
    torchs_own: bool = False


@dataclass(frozen=True)
class ShownBy:
    """One failure of one cell that is due to a cause; ``harm`` is empty for a cell not asked."""

    key: CellKey
    harm: str
    oracle: str
    label: str
    says: str


@dataclass(frozen=True)
class CauseView:
    """One defect of the register and the cells that show it; ``places`` are for its command."""

    id: str
    title: str
    why: str
    where: tuple[str, ...]
    upstream: tuple[str, ...]
    workaround: str
    minimal_case: str
    shown: tuple[ShownBy, ...]
    places: Places = HERE


@dataclass(frozen=True)
class SeenAs:
    """What a cause looks like, and the cells of the release that look so.

    ``package_cells`` and ``engine_cells`` are those of these lanes, and not among ``cells``.
    """

    harm: str
    oracle: str
    label: str
    says: str
    cells: int
    package_cells: int
    engine_cells: int


@dataclass(frozen=True)
class LiveCause:
    """A cause that ``subject`` has, and how to see it; ``harm`` and ``label`` are its worst.

    ``route`` and ``capture`` are those of the smallest case's worst cell.

    ``cells``, ``cases`` (smallest first) and ``routes`` are those of the subject alone;
    ``cells`` of the graph lane, ``package_cells`` and ``engine_cells`` of the others.
    """

    id: str
    title: str
    why: str
    where: tuple[str, ...]
    workaround: str
    harm: str
    label: str
    upstream: tuple[str, ...]
    cells: int
    package_cells: int
    engine_cells: int
    cases: tuple[str, ...]
    routes: tuple[str, ...]
    entries: tuple[SeenAs, ...]
    subject: str
    route: str
    capture: str
    command: str


@dataclass(frozen=True)
class Script:
    """A script that shows a cause with torch and a wheel alone, or why there is none.

    ``said`` is the line that it ended with when it was tried, ``label`` the verdict that it shows.
    """

    text: str
    label: str
    said: str
    why_not: str
    command: str
