"""What is wrong with the register and the table themselves, whatever the subjects do.

People write the register and a machine writes the table, and each checks the other. A row names a
defect that is alive in its releases and bears one of its signs. A defect shows somewhere, and in
its minimal case. It shows in every release that has it, or is hidden there behind others. A case
that had it is asked in `fixed_in`. A route that `avoid` names is asked, and passes where the defect
shows. No sign is idle, and no row is about a cell that is never asked.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from packaging.version import Version

from harness.register.defects import Defect, Register
from harness.register.facts import UNSUPPORTED, Place, place_of
from harness.register.standing import Standings, State
from harness.register.table import ALL, Entry, Table, asked_of, filled
from harness.register.table_files import ranges
from harness.wire.builders import PINNED
from harness.wire.records import CellKey
from harness.wire.routes import Route


@dataclass(frozen=True)
class Fault:
    """One sentence on what is wrong with a defect or a row, and what to do."""

    about: str  # the id of a defect, or a case
    reason: str


def faults_of(
    register: Register,
    table: Table,
    judged: Collection[CellKey] = (),
    standings: Standings | None = None,
) -> tuple[Fault, ...]:
    """Everything that contradicts itself.

    Args:
        judged: every cell of the pinned environment that any run judges; if empty, rows are not
            compared with them.
        standings: those of this register and table, where they are at hand.
    """
    of_defect: dict[str, dict[Entry, frozenset[str]]] = defaultdict(dict)
    for entry, names in table.entries.items():
        if entry.fact.oracle != UNSUPPORTED and not entry.removed:
            of_defect[entry.defect][entry] = names
    faults = list(_of_rows(register, table))
    standings = standings or Standings(register, table)
    for defect in register.defects:
        entries = of_defect.get(defect.id, {})
        faults += _of_defect(defect, entries, table)
        if entries:
            faults += _of_releases(defect, standings)
            faults += _of_fix(defect, entries, table)
    faults += _of_invisible(register, table)
    if judged:
        faults += _never_asked(table, judged)
    return tuple(faults)


def _of_rows(register: Register, table: Table) -> Iterator[Fault]:
    for entry, names in table.entries.items():
        place = entry.place
        where = f"{place.case} [{place.lane} {place.route}]"
        if entry.removed:
            inherited = [
                table.expected(place, name, inherited=True).get(entry.fact.seen) for name in names
            ]
            if any(other is None or other.defect != entry.defect for other in inherited):
                wrong = f"takes away {entry.fact.text}, which it does not inherit; delete the row"
                yield Fault(place.case, f"{where}: {wrong}")
        elif entry.fact.oracle == UNSUPPORTED:
            if entry.defect:
                wrong = "could not be asked, which is nobody's defect; leave the defect empty"
                yield Fault(place.case, f"{where}: {wrong}")
        else:
            wrong = _wrong_defect(entry, names, register, table)
            if wrong:
                yield Fault(entry.defect, f"{where}: {wrong}")
        right = filled(place, names & frozenset(table.asked.get(asked_of(place), ())), table)
        if ALL not in names and right != names:
            wrong = f"{ranges(names, table.releases)} has releases that are never asked"
            instead = ranges(right, table.releases)
            yield Fault(
                place.case,
                f"{where}: {wrong}; {f'write {instead!r}' if instead else 'delete the row'}",
            )


def _wrong_defect(entry: Entry, names: frozenset[str], register: Register, table: Table) -> str:
    """What is wrong with the defect that an entry names, and what to do; or nothing."""
    defect = register.by_id.get(entry.defect)
    if defect is None:
        return f"no defect is called {entry.defect!r}; write it into defects.toml, or name another"
    if not defect.signed(entry.place, entry.fact):
        return f"{defect.id} has no sign for {entry.fact.text}; add one, or name another defect"
    dead = [name for name in names if not defect.may_show(name)]
    if dead:
        releases = ranges(dead, table.releases)
        return f"{defect.id} is not alive in {releases}; correct since or fixed_in"
    return ""


def _of_defect(
    defect: Defect, entries: dict[Entry, frozenset[str]], table: Table
) -> Iterator[Fault]:
    if not entries:
        if not defect.not_visible:
            yield Fault(defect.id, f"{defect.id} has no row: delete it, or say in not_visible why "
                        "no cell shows it")  # fmt: skip
        return
    if defect.not_visible:
        yield Fault(defect.id, f"{defect.id} is not_visible, and {len(entries)} rows show it: "
                    "delete not_visible")  # fmt: skip
    shown = [name for name in table.releases if any(name in names for names in entries.values())]
    last = shown[-1] if shown else ""
    cases = {entry.place.case for entry, names in entries.items() if not last or last in names}
    if defect.minimal_case not in cases:
        where = f" in {last}" if last else ""
        yield Fault(defect.id, f"{defect.id}: its minimal case {defect.minimal_case} has no row"
                    f"{where}; name another, such as {min(cases)}")  # fmt: skip
    for sign in defect.signs:
        if not any(sign.fits(entry.place, entry.fact) for entry in entries):
            yield Fault(defect.id, f"{defect.id}: no row bears its sign {sign}; delete it")
    for route in defect.avoid:
        meets = [entry for entry in entries if _is_route(entry.place, route)]
        if meets:
            yield Fault(defect.id, f"{defect.id}: avoid has {route}, and {meets[0].place.case} "
                        f"meets it by {meets[0].place.route}; take it out")  # fmt: skip
        elif not any(_avoided(entry, names, route, table) for entry, names in entries.items()):
            yield Fault(defect.id, f"{defect.id}: avoid has {route}, and nothing that shows the "
                        f"defect is asked and passes by {route}; take it out")  # fmt: skip


def _is_route(place: Place, route: str) -> bool:
    return route == place.route or (
        place.route in list(Route) and route == Route(place.route).reaches
    )


def _avoided(entry: Entry, names: frozenset[str], route: str, table: Table) -> bool:
    """Whether a case that shows a defect completes by another route."""
    places = [dataclasses.replace(entry.place, route=other) for other in Route]
    return any(
        _asked(place, name, table) and not table.ends(place, name)
        for place in places
        if _is_route(place, route)
        for name in (*names, "torch")
    )


def _asked(place: Place, subject: str, table: Table) -> bool:
    if subject not in table.asked.get(asked_of(place), ()):
        return False
    return not any(seen[0] == UNSUPPORTED for seen in table.expected(place, subject))


def _of_releases(defect: Defect, standings: Standings) -> Iterator[Fault]:
    """The releases that should have a defect, and whose cells pass that would show it."""
    for release in () if defect.blame == "torch" else standings.releases:
        passes = standings.of(defect.id, release).state is State.ABSENT
        if passes and defect.alive_in(release):
            if release == standings.releases[-1]:
                wrong = f"no row is left in {release}; set fixed_in and fixed_by"
            else:
                wrong = f"no row in {release}, where its cells pass; correct since or fixed_in"
            yield Fault(defect.id, f"{defect.id}: {wrong}")


def _of_fix(defect: Defect, entries: dict[Entry, frozenset[str]], table: Table) -> Iterator[Fault]:
    """A defect none of whose cases is asked in the release that mends it."""
    if not defect.fixed_in:
        return
    since = Version(defect.fixed_in)
    fixed = next((name for name in table.releases if Version(name) >= since), "")
    # Each release is asked in the environment that it pins, beside the pinned one of all.
    environments = {PINNED, *(asked[2] for asked in table.asked)}
    of_case: dict[str, bool] = {}
    for entry in entries if fixed else ():
        of_case[entry.place.case] = of_case.get(entry.place.case, False) or any(
            _asked(dataclasses.replace(entry.place, environment=environment), fixed, table)
            for environment in environments
        )
    if of_case and not any(of_case.values()):
        first = min(of_case)
        yield Fault(defect.id, f"{defect.id}: fixed_in {defect.fixed_in}, and {first} is not "
                    "asked there; ask it, or correct fixed_in")  # fmt: skip


def _of_invisible(register: Register, table: Table) -> Iterator[Fault]:
    """The defects without rows that only the register or only the table lists."""
    invisible = {defect.id for defect in register.defects if defect.not_visible}
    for name in sorted(invisible ^ table.without_rows if table.entries else ()):
        where = "the table's list of defects without rows" if name in invisible else "the register"
        yield Fault(
            name, f"{name} is not in {where}; write the table anew: `expected --update RUN`"
        )


def _never_asked(table: Table, judged: Collection[CellKey]) -> Iterator[Fault]:
    """The rows about cells that no run judges."""
    asked: dict[Place, set[str]] = defaultdict(set)
    for key in judged:
        asked[place_of(key)].add(key.subject)
    known = {place.case for place in asked}
    reported: Collection[str] = set()
    for entry, names in table.entries.items():
        place = entry.place
        if place.case not in known:
            if place.case not in reported:
                reported = {*reported, place.case}
                yield Fault(place.case, f"{place.case}: the corpus has no such case; write the "
                            "table anew from a run")  # fmt: skip
            continue
        if place.route == ALL or place.environment != PINNED:
            continue
        if not (asked[place] & names):
            where = f"{place.case} [{place.lane} {place.route} {place.builder}]"
            yield Fault(place.case, f"{where}: no run asks this; delete the row")
