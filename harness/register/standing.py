"""What the register and the table say of a defect in a release.

A defect is shown there, hidden behind another one, or absent.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.words import most_first
from harness.register.defects import Defect, Register
from harness.register.facts import UNSUPPORTED, Place
from harness.register.table import Entry, Table, asked_of
from harness.wire.builders import PINNED, SEGMENT, Builder
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind, exception_of

_RIGHT: Final = Harm.INTERFACE.severity  # of what has the right numbers


class State(enum.StrEnum):
    SHOWN = "shown"
    HIDDEN = "hidden"  # its cases end earlier, by other defects
    ABSENT = "absent"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Standing:
    """One defect in one release. ``harm`` is the worst that it does by itself, or empty.

    ``broken_by`` are the other defects by which each cell fails, though this one is absent there:
    that it is absent does not make any of these cells right.
    """

    defect: Defect
    release: str
    state: State
    cells: int = 0
    cases: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    harm: str = ""
    behind: tuple[str, ...] = ()
    broken_by: tuple[str, ...] = ()


class Standings:
    """All defects of a register in all releases of a table, by the pinned environment's cells.

    If a defect shows only in a matched environment or with a real builder, those cells count. A
    defect that does not show in a release is hidden if other defects end every cell earlier that
    shows it in the nearest release. It is absent if one such cell does not end earlier.
    """

    def __init__(self, register: Register, table: Table) -> None:
        self._table = table
        self.register = register
        self._builders = sorted({Builder.shared(builder) for _, builder, *_ in table.asked})
        self._entries: dict[str, list[tuple[Entry, frozenset[str]]]] = defaultdict(list)
        for entry, names in table.entries.items():
            if not entry.removed and entry.fact.oracle != UNSUPPORTED:
                self._entries[entry.defect].append((entry, names))
        for name, entries in self._entries.items():
            ordinary = [row for row in entries if is_ordinary(row[0])]
            self._entries[name] = ordinary or entries

    @property
    def releases(self) -> tuple[str, ...]:
        return self._table.releases

    @functools.cache  # noqa: B019 - lives as long as a command
    def of(self, name: str, release: str) -> Standing:
        """A defect, by its id, in a release; for an unknown release, in the one before it."""
        defect = self.register.by_id[name]
        release = self._table.stands_for(release)
        entries = self._entries.get(name, [])
        shown = self._shown(name, release)
        if shown:
            return Standing(
                defect=defect,
                release=release,
                state=State.SHOWN,
                cells=len({entry.place for entry in shown}),
                cases=tuple(sorted({entry.place.case for entry in shown})),
                routes=tuple(sorted({entry.place.route for entry in shown})),
                lanes=tuple(sorted({entry.place.lane for entry in shown})),
                harm=worst_harm(self._harms(shown, release), defect),
            )
        places = set(self._nearest(entries, release))
        if not places:
            return Standing(defect, release, State.NOT_ASKED)
        behind: Counter[str] = Counter()
        for place in places if defect.alive_in(release) else ():
            ended = {each.defect for each in self._table.ends(place, release) if each.defect}
            if not ended:
                return self._absent(defect, release, places)
            behind.update(ended)
        if not behind:
            return self._absent(defect, release, places)
        names = most_first(behind)
        return Standing(defect, release, State.HIDDEN, behind=names)

    def _absent(self, defect: Defect, release: str, places: Collection[Place]) -> Standing:
        """A defect that is not there, and what breaks its cells if none of them is right.

        What is saved is what was compiled, so that it fails as that does.
        """
        breaking: Counter[str] = Counter()
        for place in places:
            failing = self._breaking(place, release)
            if Route(place.route).by_compile:
                compiled = dataclasses.replace(place, route=Route.COMPILE)
                failing |= self._breaking(compiled, release)
            if not failing:
                return Standing(defect, release, State.ABSENT)
            breaking.update(failing)
        names = most_first(breaking)
        return Standing(defect, release, State.ABSENT, broken_by=names)

    def _breaking(self, place: Place, release: str) -> set[str]:
        """The defects by which a cell is not right, if any."""
        return {
            each.defect
            for each in self._table.expected(place, release).values()
            if each.defect and _badness(each.fact.harm) < _RIGHT
        }

    def milder_in(self, name: str, release: str, environment: str) -> str | None:
        """The worst harm of a defect with another torch, where it does less than in the pinned one.

        What is shown by routes that nobody took there (`unasked_in`) does not count.

        Returns:
            A harm, or empty if none of the cells that show it in the pinned environment does so
            there. None where it harms as much, or where nobody asked.
        """
        defect, unasked = self.register.by_id[name], self.unasked_in(name, release, environment)
        shown = [e for e in self.shown_by(name, release) if e.place.route not in unasked]
        there = [
            (place, [e for e in self._table.expected(place, release).values() if e.defect == name])
            for place in (
                dataclasses.replace(entry.place, environment=environment) for entry in shown
            )
            if self._asked(place, release)
        ]
        if not there or len(there) < len(shown):
            return None
        harm = worst_harm((entry.fact.harm for _, of in there for entry in of), defect)
        return harm if _badness(harm) > _badness(self.of(name, release).harm) else None

    def unasked_in(self, name: str, release: str, environment: str) -> frozenset[str]:
        """The routes that show a defect, by none of which a release was asked in an environment."""
        asked = self._table.asked.items()
        taken = {key[3] for key, names in asked if key[2] == environment and release in names}
        return frozenset(e.place.route for e in self.shown_by(name, release)) - taken

    def shows_at(self, name: str, release: str, place: Place) -> bool | None:
        """Whether a release shows a defect at a place; None where nobody asked."""
        if not self._asked(place, release):
            return None
        return any(e.defect == name for e in self._table.expected(place, release).values())

    def by_routes(
        self, name: str, release: str, routes: Collection[Route], asks: Callable[[str, Route], bool]
    ) -> Standing:
        """A defect that a release shows, as some routes meet it in the cases that show it there.

        It is absent where one of these cases is right by one of the routes.

        Args:
            asks: whether a case, by its name, is asked by a route.
        """
        defect, shown = self.register.by_id[name], self.shown_by(name, release)
        mine = [entry for entry in shown if entry.place.route in routes]
        if mine:
            harm = worst_harm(self._harms(mine, release), defect)
            return Standing(defect, release, State.SHOWN, harm=harm)
        breaking: Counter[str] = Counter()
        for place in self._by_other_routes(shown, release, routes, asks, defect.avoid):
            failing = self._breaking(place, _who_answers(place, release))
            if not failing:
                return Standing(defect, release, State.ABSENT)
            breaking.update(failing)
        if not breaking:
            return Standing(defect, release, State.NOT_ASKED)
        names = most_first(breaking)
        return Standing(defect, release, State.ABSENT, broken_by=names)

    def _by_other_routes(
        self,
        shown: Iterable[Entry],
        release: str,
        routes: Collection[Route],
        asks: Callable[[str, Route], bool],
        avoid: Collection[str],
    ) -> Iterator[Place]:
        """The places of some cases by these routes, so far as the release was asked there.

        Saving rests on a model that compiles right, but for the routes that ``avoid`` what is wrong
        in memory; a split of the graph lane is there anyway.
        """
        for route in routes:
            for place in dict.fromkeys(
                dataclasses.replace(entry.place, lane=route.lane, route=route)
                for entry in shown
                if asks(entry.place.case, route)
            ):
                who = _who_answers(place, release)
                if not self._calls(place, release):
                    continue
                if self._unsupported(place, who):
                    continue
                compiled = dataclasses.replace(place, route=Route.COMPILE)
                rests = route.by_compile and self._breaking(compiled, release)
                if not rests or route in avoid:
                    yield place

    def meets(self, standing: Standing, routes: Collection[Route]) -> bool:
        """Whether calls by these routes meet a defect that is shown, through `compile` as well.

        What `compile` makes wrong is saved wrong, unless the register says that the route avoids
        the defect: then the module in memory alone is wrong.
        """
        if set(standing.routes) & set(routes):
            return True
        saves = any(route.by_compile for route in routes) and Route.COMPILE not in routes
        compiled = (
            entry.fact.harm
            for entry in self.shown_by(standing.defect.id, standing.release)
            if entry.place.route == Route.COMPILE
        )
        wrong = any(_badness(harm) < _RIGHT for harm in compiled)
        return saves and wrong and not set(routes) & set(standing.defect.avoid)

    def _calls(self, place: Place, release: str) -> bool:
        """Whether a release was asked by the route of a place."""
        if _who_answers(place, release) != release:
            place = dataclasses.replace(place, lane=Lane.PACKAGE, route=Route.RETRACE)
        return self._asked(place, release)

    def _nearest(
        self, entries: Sequence[tuple[Entry, frozenset[str]]], release: str
    ) -> Iterator[Place]:
        """Where this release answers what shows a defect in the nearest other one.

        That is the last release before it, or else the first after. Only entries that are asked in
        this release count: they would show it here, or hide it.
        """
        at = self.releases.index(release)
        there = ((self._there(entry.place, release), names) for entry, names in entries)
        asked = [(place, names) for place, names in there if place is not None]
        others = (*reversed(self.releases[:at]), *self.releases[at + 1 :])
        shown = {name for _, names in asked for name in names}
        nearest = next((other for other in others if other in shown), None)
        return (place for place, names in asked if nearest is None or nearest in names)

    @functools.cache  # noqa: B019 - lives as long as a command
    def shown_by(self, name: str, release: str) -> tuple[Entry, ...]:
        """What shows a defect in a release: its minimal case first, then by harm, the worst first.

        Among equals, cells in which the defect stands alone come first.
        """
        release = self._table.stands_for(release)
        minimal = self.register.by_id[name].minimal_case

        def order(entry: Entry) -> tuple[object, ...]:
            beside = self._table.expected(entry.place, release).values()
            others = {other.defect for other in beside} - {name}
            harm = _badness(entry.fact.harm)
            return entry.place.case != minimal, harm, len(others), entry.place, entry.fact

        return tuple(sorted(self._shown(name, release), key=order))

    def raised_from(self, name: str, release: str, place: Place) -> tuple[str, ...]:
        """By which exceptions a defect ends a case's route from a release on, by any engines."""
        since = {*self.releases[self.releases.index(release) :]}
        told = (
            exception_of(entry.fact.says)
            for entry, releases in self._table.entries.items()
            if (entry.defect, entry.place.case, entry.place.route)
            == (name, place.case, place.route)
            and not entry.removed
            and entry.fact.oracle == Oracle.COMPLETION
            and since & releases
        )
        return tuple(sorted(set(told)))

    @functools.cache  # noqa: B019 - lives as long as a command
    def _shown(self, name: str, release: str) -> list[Entry]:
        return [
            entry
            for entry, names in self._entries.get(name, [])
            if release in names and self._asked(entry.place, release)
        ]

    def _harms(self, shown: Sequence[Entry], release: str) -> list[str]:
        """The harms of a defect where no other one is in its verdict or ends the cell, if any.

        A verdict has one harm, the worst of all its findings; that of a cell which ends is its end.
        """
        alone = [
            entry
            for entry in shown
            if not any(
                other.fact.oracle in (entry.fact.oracle, Oracle.COMPLETION)
                and other.defect != entry.defect
                for other in self._table.expected(entry.place, release).values()
            )
        ]
        return [entry.fact.harm for entry in alone or shown]

    def _there(self, place: Place, release: str) -> Place | None:
        """Where a release answers what another one does at a place; None where nobody asked.

        A release brings its own TensorRT-RTX: what engines of one version show of one release,
        those of its own version show of another.
        """
        if self._asked(place, release):
            return place
        others = (
            dataclasses.replace(place, builder=builder)
            for builder in self._builders_asked(asked_of(place), release)
        )
        # A cell that could not be asked says nothing of the defect.
        told = [there for there in others if not self._unsupported(there, release)]
        return told[0] if len(told) == 1 else None

    @functools.cache  # noqa: B019 - lives as long as a command
    def _builders_asked(self, where: tuple[str, str, str, str], release: str) -> list[Builder]:
        """The builders of one kind with which a release was asked there."""
        lane, builder, *rest = where
        return [
            other
            for other in self._builders
            if other.kind is Builder.shared(builder).kind
            and release in self._table.asked.get((lane, other, *rest), ())
        ]

    def _asked(self, place: Place, release: str) -> bool:
        return release in self._table.asked.get(asked_of(place), ())

    def _unsupported(self, place: Place, release: str) -> bool:
        return any(oracle == UNSUPPORTED for oracle, *_ in self._table.expected(place, release))

    def having(self, release: str, *states: State) -> list[Standing]:
        """The defects that are in one of these states there, the worst first."""
        standings = (self.of(defect.id, release) for defect in self.register.defects)
        return sorted(
            (standing for standing in standings if standing.state in states),
            key=lambda standing: (_badness(standing.harm), -standing.cells, standing.defect.id),
        )

    def user_calls(self, standing: Standing) -> int:
        """How many calls of a user show a defect, whatever builds the engines."""
        shown = self._shown(standing.defect.id, standing.release)
        places = (entry.place for entry in shown if entry.place.lane == Lane.PACKAGE)
        return len({(place.case, place.capture, place.route) for place in places})

    def newest_with(self, name: str) -> Standing | None:
        """A defect, by its id, as the newest release shows it that does; None if none does."""
        found = (self.of(name, release) for release in reversed(self.releases))
        return next((each for each in found if each.state is State.SHOWN), None)

    def before(self, release: str) -> str | None:
        """The release before one that the table knows."""
        at = self.releases.index(release)
        return self.releases[at - 1] if at else None


def _who_answers(place: Place, release: str) -> str:
    """In the graph lane a route without an inliner is torch's own, whichever release it is."""
    of_release = place.lane != Lane.GRAPH or Route(place.route).row.inlines
    return release if of_release else SubjectKind.TORCH.value


def worst_harm(harms: Iterable[str], defect: Defect) -> str:
    """The worst of some harms. A silent harm that the release documents counts as announced."""
    known = {Harm(harm) for harm in harms if harm}
    if defect.documented:
        known = {Harm.WARNED if harm is Harm.SILENT else harm for harm in known}
    return min(known, key=lambda harm: harm.severity) if known else ""


def _badness(harm: str) -> int:
    return Harm(harm).severity if harm else len(Harm)


def is_ordinary(entry: Entry) -> bool:
    """Whether an entry is about the pinned environment with segments for engines."""
    return entry.place.environment == PINNED and entry.place.builder == SEGMENT
