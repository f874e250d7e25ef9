"""What the report's other sections show, as frozen data: one small class a table row."""

from __future__ import annotations

from dataclasses import dataclass

from harness.wire.routes import Lane


@dataclass(frozen=True)
class Answer:
    """One line of the first screen: what was asked, and the answer."""

    asked: str
    answer: str


@dataclass(frozen=True)
class Headline:
    """The gate in words: what the first screen says.

    ``defects`` are the run's, in the console's words, line by line. ``counted`` names the lanes
    whose figures stand in each of ``facts``, where there are two.
    """

    state: str
    sign: str
    words: str
    defects: tuple[str, ...]
    advice: str
    answers: tuple[Answer, ...]
    counted: str
    facts: tuple[tuple[str, str], ...]
    not_checked: tuple[str, ...]


@dataclass(frozen=True)
class ChangeView:
    """A verdict on one case that differs between two subjects; ``harm`` is the failure's."""

    case: str
    family: str
    harm: str
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

    @property
    def unlisted(self) -> int:
        """Of all members together."""
        return len(self.members) * sum(group.total - len(group.cells) for group in self.groups)


@dataclass(frozen=True)
class FailingList:
    """The failing cells that the tables of one lane link to.

    ``elsewhere`` are the cells that are not listed: of subjects that have no row on the page, and
    what is too long of the others.
    """

    title: str
    lane: Lane
    subjects: tuple[FailingSubject, ...]
    elsewhere: int


@dataclass(frozen=True)
class Provenance:
    """Facts on one line each, and the long lists apart."""

    facts: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...]
