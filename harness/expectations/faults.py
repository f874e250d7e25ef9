"""What is wrong with the register and the table themselves, whatever the subjects do.

They are written apart, by people and by a machine, and each holds the other to its word. A row has
a defect that is alive in its releases and bears a sign of it; a defect shows somewhere, its
minimal case among that; `avoid` avoids it; no sign is idle; no row speaks of a cell that is never
asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from harness.expectations.defects import Defect, Register
from harness.expectations.facts import UNSUPPORTED, Place, place_of
from harness.expectations.table import ALL, Entry, Table, asked_of, filled, ranges
from harness.plan import CAPTURES, make_plan
from harness.rig.records import CaseInfo, SubjectSpec
from harness.rig.vocabulary import PINNED, Route


@dataclass(frozen=True)
class Fault:
    """What is wrong with a defect or a row, and what to do, in one sentence."""

    about: str  # the id of a defect, or a case
    reason: str


def faults_of(
    register: Register,
    table: Table,
    cases: Sequence[CaseInfo] = (),
    subjects: Sequence[SubjectSpec] = (),
) -> tuple[Fault, ...]:
    """Everything that contradicts itself.

    Args:
        cases: the whole corpus, not a run's part of it; none, and its names are not held against.
        subjects: every release of the catalogue, and every named subject.
    """
    of_defect: dict[str, dict[Entry, frozenset[str]]] = defaultdict(dict)
    for entry, names in table.entries.items():
        if entry.fact.oracle != UNSUPPORTED and not entry.removed:
            of_defect[entry.defect][entry] = names
    found = list(_of_rows(register, table))
    for defect in register.defects:
        found += _of_defect(defect, of_defect.get(defect.id, {}), table)
    if cases:
        found += _never_asked(table, cases, subjects)
    return tuple(found)


def _of_rows(register: Register, table: Table) -> Iterator[Fault]:
    for entry, names in table.entries.items():
        place = entry.place
        where = f"{place.case} [{place.lane} {place.route}]"
        if entry.removed:
            told = [
                table.expected(place, name, inherited=True).get(entry.fact.seen) for name in names
            ]
            if any(each is None or each.defect != entry.defect for each in told):
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
    """What is wrong with the defect that an entry names, and what to do; else nothing."""
    defect = register.by_id.get(entry.defect)
    if defect is None:
        return f"no defect is called {entry.defect!r}; write it into defects.toml, or name another"
    if not defect.signed(entry.place, entry.fact):
        return f"{defect.id} has no sign for {entry.fact.text}; add one, or name another defect"
    dead = [name for name in names if not defect.may_show(name)]
    if dead:
        told = ranges(dead, table.releases)
        return f"{defect.id} is not alive in {told}; correct since or fixed_in"
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
    cases = {entry.place.case for entry in entries}
    if defect.minimal_case not in cases:
        yield Fault(defect.id, f"{defect.id}: its minimal case {defect.minimal_case} has no row; "
                    f"name another, such as {min(cases)}")  # fmt: skip
    for sign in defect.signs:
        if not any(sign.fits(entry.place, entry.fact) for entry in entries):
            yield Fault(defect.id, f"{defect.id}: no row bears its sign {sign}; delete it")
    for route in defect.avoid:
        meets = [entry for entry in entries if _is_route(entry.place, route)]
        if meets:
            yield Fault(defect.id, f"{defect.id}: avoid has {route}, and {meets[0].place.case} "
                        f"meets it by {meets[0].place.route}; take it out")  # fmt: skip
    yield from _not_mended(defect, entries, table)


def _is_route(place: Place, route: str) -> bool:
    return route == place.route or (
        place.route in list(Route) and route == Route(place.route).reaches
    )


def _not_mended(
    defect: Defect, entries: dict[Entry, frozenset[str]], table: Table
) -> Iterator[Fault]:
    """A defect that the newest release should have, and does not show where it would."""
    newest = table.releases[-1]
    if defect.blame == "torch" or not defect.alive_in(newest):
        return
    asked = False
    for entry in entries:
        place = entry.place
        if newest not in table.asked.get(asked_of(place), ()):
            continue
        here = {each.defect for each in table.expected(place, newest).values()}
        if defect.id in here or table.ends(place, newest):
            return
        asked = True
    if asked:
        yield Fault(defect.id, f"{defect.id}: no row is left in {newest}; set fixed_in and "
                    "fixed_by")  # fmt: skip


def _never_asked(
    table: Table, cases: Sequence[CaseInfo], subjects: Sequence[SubjectSpec]
) -> Iterator[Fault]:
    """The rows of which no run has a judged cell."""
    asked: dict[Place, set[str]] = defaultdict(set)
    known = {case.name for case in cases}
    for cell in make_plan(cases, subjects, CAPTURES):
        if not cell.hypothetical:
            asked[place_of(cell.key)].add(cell.key.subject)
    told: Collection[str] = set()
    for entry, names in table.entries.items():
        place = entry.place
        if place.case not in known:
            if place.case not in told:
                told = {*told, place.case}
                yield Fault(place.case, f"{place.case}: the corpus has no such case; write the "
                            "table anew from a run")  # fmt: skip
            continue
        if place.route == ALL or place.environment != PINNED:
            continue
        if not (asked[place] & names):
            where = f"{place.case} [{place.lane} {place.route} {place.builder}]"
            yield Fault(place.case, f"{where}: no run asks this; delete the row")
