"""What the report shows, as frozen data without behaviour: one small class a table row.

``FindingView`` and ``CauseView`` are also what the report takes in: the gate and the ledger are
adapted to them, so the report depends on neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class FindingView:
    """One thing that a person should look at, and the command that shows it.

    ``oracle`` may also be ``missing`` or ``unsupported``, where the cell as a whole is meant, or
    ``ledger``, where entries of the ledger are at fault: they stand for the case, by no route.
    ``torchs_own``: plain ``torch.export`` of this case fails likewise.
    """

    case: str
    subject: str
    route: str
    oracle: str
    label: str
    reason: str
    command: str
    torchs_own: bool = False


@dataclass(frozen=True)
class CauseView:
    """One cause of known failures. ``cases`` come smallest first."""

    id: str
    why: str
    upstream: str
    oracle: str
    label: str
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    routes: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class Answer:
    """One line of the first screen: what was asked, and the answer."""

    asked: str
    answer: str


@dataclass(frozen=True)
class Quartiles:
    """A median that carries its spread and the number of samples behind it."""

    median: float
    q1: float
    q3: float
    n: int


@dataclass(frozen=True)
class Headline:
    """The gate in words: what the first screen says.

    ``counted`` names the lanes whose figures stand in each of ``facts``, where there are two.
    """

    state: str
    sign: str
    words: str
    advice: str
    answers: tuple[Answer, ...]
    counted: str
    facts: tuple[tuple[str, str], ...]
    not_checked: tuple[str, ...]


@dataclass(frozen=True)
class MatrixCell:
    """One subject in one family, or by one route in the table of the package lane.

    ``tone`` names its colour: an oracle, or a standing.
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


@dataclass(frozen=True)
class ChangeView:
    """One oracle of one case that differs between two subjects, on these routes."""

    case: str
    family: str
    oracle: str
    before: str
    after: str
    routes: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Comparison:
    """The newest release against the one before it. Counts are (case, route, oracle)."""

    before: str
    after: str
    fixed: tuple[ChangeView, ...]
    broken: tuple[ChangeView, ...]
    fixed_count: int
    broken_count: int


@dataclass(frozen=True)
class SeenAs:
    """One ledger entry of a cause, and the cells of the newest release that fail as it says.

    ``package_cells`` are those of the package lane, and not among ``cells``.
    """

    id: str
    oracle: str
    label: str
    why: str
    cells: int
    package_cells: int


@dataclass(frozen=True)
class LiveCause:
    """A cause that ``subject`` has, worst verdict first, and how to see it.

    ``route`` and ``capture`` are those of the smallest case's worst cell.

    ``cells``, ``cases`` (smallest first) and ``routes`` are those of the subject alone;
    ``cells`` of the graph lane, and ``package_cells`` of the package lane.
    """

    id: str
    why: str
    oracle: str
    label: str
    upstream: tuple[str, ...]
    cells: int
    package_cells: int
    cases: tuple[str, ...]
    routes: tuple[str, ...]
    entries: tuple[SeenAs, ...]
    subject: str
    route: str
    capture: str
    command: str


@dataclass(frozen=True)
class Box:
    """An input, engine, fallback, other node, or the outputs of a split module."""

    name: str
    kind: str
    says: str


@dataclass(frozen=True)
class Wire:
    """What goes from one box into another; ``output`` is None where the source has but one."""

    source: str
    output: int | None
    target: str


@dataclass(frozen=True)
class WrongWire:
    """``target`` reads ``source`` and should read ``right``; a source that is no box is empty."""

    target: str
    source: str
    output: int | None
    right: str
    right_output: int | None
    says: str


@dataclass(frozen=True)
class Picture:
    """A split module with its wires as they should be, and those that an inliner got wrong.

    ``lost`` are the boxes whose mutations or random draws are gone. ``raised`` is what the inliner
    or the export raised; ``unreadable`` why its wires were not read.
    """

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    wrong: tuple[WrongWire, ...]
    lost: tuple[str, ...]
    raised: str
    unreadable: str


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


@dataclass(frozen=True)
class UnflattenRow:
    """Of the programs of these subjects by one route, each the same: how many can be unflattened.

    ``asked`` are the cells that completed.
    """

    members: tuple[str, ...]
    route: str
    able: int
    asked: int


@dataclass(frozen=True)
class Control:
    """What plain ``torch.export`` of the eager models does: torch's own failures."""

    asked: int
    ok: int
    failures: tuple[tuple[str, str, str], ...]  # case, label, message


@dataclass(frozen=True)
class HypotheticalRow:
    """A route that no user call reaches in a subject."""

    subject: str
    route: str
    ok: int
    total: int
    worst: str


@dataclass(frozen=True)
class FailingCell:
    case: str
    route: str
    label: str
    message: str
    given_class: str


@dataclass(frozen=True)
class FailingGroup:
    """The failing cells of one family, or of one route. ``total`` counts those left out too."""

    family: str
    cells: tuple[FailingCell, ...]
    total: int


@dataclass(frozen=True)
class FailingSubject:
    """The failing cells of subjects that fail alike; mostly one subject."""

    members: tuple[str, ...]
    groups: tuple[FailingGroup, ...]

    @property
    def total(self) -> int:
        return sum(group.total for group in self.groups)


@dataclass(frozen=True)
class PackageCall:
    """A route of the package lane: what a user writes, and what the package comes to by it."""

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
class PackageLane:
    """What users of a release meet. ``compile`` is by a package's name, in seconds."""

    calls: tuple[PackageCall, ...]
    cases: int
    rows: tuple[PackageRow, ...]
    measures: tuple[PackageMeasure, ...]
    compile: Mapping[str, Quartiles]
    failing: tuple[FailingSubject, ...]


@dataclass(frozen=True)
class Provenance:
    """Facts on one line each, and the long lists apart."""

    facts: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...]
