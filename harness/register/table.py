"""The expected table: what fails, cell by cell, and whom an entry holds for.

An entry is one fact (`harness.register.facts`) about a case by one route, and the defect that
causes it. All other settings inherit the entries of the pinned environment with segments for
engines and ordinary capture, unless an entry of theirs takes one away.
`harness.register.table_files` reads and writes it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from packaging.version import Version

from harness.register.facts import (
    NAMED_SUBJECTS,
    NONSTRICT,
    UNSUPPORTED,
    Fact,
    Place,
    parsed_version,
)
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.oracles import Oracle
from harness.wire.routes import Lane, Route

ALL: Final = "*"
UNKNOWN: Final = "?"


@dataclass(frozen=True)
class Entry:
    """One fact about one place: a row, taken apart by its routes and settings."""

    place: Place
    fact: Fact
    defect: str
    removed: bool = False  # inherited, and not there


#: Cells of a run of a hundred thousand, and of the release before each; of a million a part.
_MOST_KEPT: Final = 250_000
_NOTHING: Final[Mapping[tuple[str, str, str], Entry]] = {}
#: Entries, each with the subjects that it holds for; `ALL` stands for every subject.
Entries = dict[Entry, frozenset[str]]


@dataclass(frozen=True)
class Table:
    """All entries, and the subjects that they are about.

    ``asked`` has the subjects that runs have asked, by `asked_of` of a place. ``without_rows`` are
    the defects that no row shows. ``lacking`` says of a user's own case what its model surely has
    not, by the names of `MODELS` and `NEEDS` of the register.
    """

    entries: Mapping[Entry, frozenset[str]] = field(default_factory=dict)
    asked: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    without_rows: frozenset[str] = frozenset()
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @functools.cached_property
    def releases(self) -> tuple[str, ...]:
        """The releases that it knows, the oldest first."""
        named = {name for names in self.asked.values() for name in names}
        return tuple(sorted(named - set(NAMED_SUBJECTS), key=Version))

    @functools.cached_property
    def _by_case(self) -> dict[tuple[str, str], list[tuple[Entry, frozenset[str]]]]:
        by_case: dict[tuple[str, str], list[tuple[Entry, frozenset[str]]]] = defaultdict(list)
        for entry, names in self.entries.items():
            by_case[entry.place.lane, entry.place.case].append((entry, names))
        for entries in by_case.values():
            entries.sort(key=lambda row: specificity(row[0].place))
        return by_case

    def stands_for(self, subject: str, like: str = "") -> str:
        """The release whose rows hold for a subject: its own, its like, or the one before."""
        if subject in self.releases or subject in NAMED_SUBJECTS:
            return subject
        if like:
            return self.stands_for(like)
        version = parsed_version(subject)
        if version is None:
            return subject
        before = [name for name in self.releases if Version(name) <= version]
        return before[-1] if before else next(iter(self.releases), subject)

    def expected(
        self, place: Place, subject: str, *, inherited: bool = False
    ) -> Mapping[tuple[str, str, str], Entry]:
        """What a cell shows, by `Fact.seen`; ``subject`` is what `stands_for` returns.

        Args:
            inherited: leave out the entries of the place's own settings.
        """
        return self._told(place, subject, inherited)

    @functools.cached_property
    def _told(self) -> Callable[[Place, str, bool], Mapping[tuple[str, str, str], Entry]]:
        """`_expected`, kept: a report asks for each cell many times."""
        return functools.lru_cache(maxsize=_MOST_KEPT)(self._expected)

    def _expected(
        self, place: Place, subject: str, inherited: bool
    ) -> Mapping[tuple[str, str, str], Entry]:
        shown: dict[tuple[str, str, str], Entry] = {}
        for entry, subjects in self._by_case.get((place.lane, place.case), ()):
            if subject not in subjects and ALL not in subjects:
                continue
            if not _inherits(place, entry.place):
                continue
            if inherited and entry.place.settings == place.settings:
                continue
            if entry.removed:
                shown.pop(entry.fact.seen, None)
            else:
                shown[entry.fact.seen] = entry
        # An entry that cannot be asked replaces all that is inherited from plainer settings.
        unasked = [specificity(e.place) for s, e in shown.items() if s[0] == UNSUPPORTED]
        least = max(unasked, default=0)
        if least:
            shown = {s: e for s, e in shown.items() if specificity(e.place) >= least}
        return shown or _NOTHING

    def ends(self, place: Place, subject: str) -> list[Entry]:
        """The entries that end a cell, so that other defects may be hidden behind them."""
        entries = [*self.expected(place, subject).values()]
        if place.lane == Lane.PACKAGE and not Route(place.route).row.in_memory:
            compiled = dataclasses.replace(place, route=Route.COMPILE)
            entries += self.expected(compiled, subject).values()
        return [entry for entry in entries if entry.fact.oracle in (Oracle.COMPLETION, UNSUPPORTED)]

    def with_defects(self, of: Mapping[Entry, str]) -> Table:
        """The same table with other defects for some entries."""
        entries: Entries = {}
        for entry, subjects in self.entries.items():
            renamed = dataclasses.replace(entry, defect=of.get(entry, entry.defect))
            entries[renamed] = entries.get(renamed, frozenset()) | subjects
        return dataclasses.replace(self, entries=entries)

    @property
    def undecided(self) -> list[Entry]:
        """The entries whose defect a person has to name."""
        return [entry for entry in self.entries if entry.defect.startswith(UNKNOWN)]


def asked_of(place: Place) -> tuple[str, str, str, str]:
    """The key under which a table keeps the subjects that were asked."""
    return place.lane, place.builder, place.environment, place.route


def specificity(place: Place) -> int:
    """How many of its settings differ from those that all others inherit."""
    return sum(mine != default for mine, default in zip(place.settings, _DEFAULTS, strict=True))


_DEFAULTS: Final = (NONSTRICT, SEGMENT, PINNED)


def _inherits(place: Place, other: Place) -> bool:
    """Whether an entry of another place holds here, unless an entry here says otherwise."""
    return (
        other.route in (ALL, place.route)
        and other.capture in (place.capture, NONSTRICT)
        and other.builder in (place.builder, SEGMENT)
        and other.environment in (place.environment, PINNED)
    )


def filled(place: Place, subjects: frozenset[str], table: Table) -> frozenset[str]:
    """Subjects with the releases that nobody asks here, between two of them and after the last.

    So a range is as wide as the observations allow, and open if it holds for the newest release.
    """
    if ALL in subjects or place.environment != PINNED:  # where each has its own releases
        return subjects
    asked = table.asked.get(asked_of(place), ())
    wider, waiting = set(subjects), list[str]()
    holds = False
    for release in table.releases:
        if release in subjects:
            wider.update(waiting)
            waiting, holds = [], True
        elif release in asked:
            waiting, holds = [], False
        elif holds:
            waiting.append(release)
    return frozenset(wider.union(waiting))
