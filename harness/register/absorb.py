"""Puts the facts of a run into the expected table, each with the defect that causes it.

What the table says already stays. For a new fact a defect is proposed, in steps that go from what
is certain to what is likely. A ``?`` marks a proposal until a person accepts it. If no step
decides, the mark lists what is left, as ``?one|other``, or stands alone.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from packaging.version import Version

from harness.register.defects import Defect, Register
from harness.register.facts import (
    NAMED_SUBJECTS,
    UNSUPPORTED,
    Fact,
    Place,
    facts_of,
    masked,
    parsed_version,
    place_of,
)
from harness.register.table import (
    ALL,
    UNKNOWN,
    Entries,
    Entry,
    Table,
    asked_of,
    filled,
    specificity,
)
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord, SubjectSpec
from harness.wire.vocabulary import CellState

#: By place and subject; None if a cell was not asked for a reason that another cell gives.
_Cells = dict[Place, dict[str, tuple[Fact, ...] | None]]
_MOST_SPECIFIC: Final = 3


def absorb(
    table: Table,
    register: Register,
    records: Iterable[CellRecord],
    subjects: Iterable[SubjectSpec] = (),
) -> Table:
    """A table that expects what these records show, and expects the same as before elsewhere.

    Args:
        subjects: the subjects of the run. What they lack on this machine is no fact about a case,
            and a table has no rows for candidates.
    """
    cells, whole = _observed(records, tuple(subjects))
    table = _with_asked(table, cells)
    entries = _without(table.entries, cells)
    matcher = _Matcher(register, table, cells)
    for level in range(_MOST_SPECIFIC + 1):
        base = Table(dict(entries), table.asked)
        of_level = {place: of for place, of in cells.items() if specificity(place) == level}
        for place, by_subject in of_level.items():
            for subject, facts in by_subject.items():
                if facts is None:
                    continue
                inherited = base.expected(place, subject, inherited=True)
                seen = {fact.seen: fact for fact in facts}
                for key, fact in seen.items():
                    known = inherited.get(key)
                    if known is None or (fact.harm and fact.harm != known.fact.harm):
                        matcher.new(place, subject, fact)
                # What cannot be asked takes the place of all that is inherited.
                unasked = any(fact.oracle == UNSUPPORTED for fact in facts)
                for key, known in inherited.items():
                    if key not in seen and not unasked:
                        gone = Entry(place, known.fact, known.defect, removed=True)
                        entries[gone] = entries.get(gone, frozenset()) | {subject}
        for entry, names in matcher.decided().items():
            entries[entry] = entries.get(entry, frozenset()) | names
    for entry in sorted(whole, key=lambda each: specificity(each.place)):
        base = Table(dict(entries), table.asked)
        if not all(
            entry.fact.seen in base.expected(place, subject, inherited=True)
            for place, of in cells.items()
            if place.case == entry.place.case
            and dataclasses.replace(place, route=ALL) == entry.place
            for subject in of
        ):
            entries[entry] = frozenset((ALL,))
    whole_ranges = {each: filled(each.place, names, table) for each, names in entries.items()}
    return _without_idle(Table(whole_ranges, table.asked))


def _observed(
    records: Iterable[CellRecord], subjects: Sequence[SubjectSpec]
) -> tuple[_Cells, list[Entry]]:
    """The facts of each cell, and the cases about which nothing could be asked."""
    candidates = {spec.subject for spec in subjects if spec.kind.brought}
    lacking_here = {spec.unavailable for spec in subjects}
    lacking_here |= {package.unavailable for spec in subjects for package in spec.packages}
    cells: _Cells = defaultdict(dict)
    unasked: dict[Place, list[str]] = defaultdict(list)  # reasons, by a place of all routes
    asked: set[Place] = set()
    for record in records:
        if record.hypothetical or record.key.subject in candidates:
            continue
        place = place_of(record.key)
        case = dataclasses.replace(place, route=ALL)
        if record.state is CellState.UNSUPPORTED:
            if record.reason in lacking_here:
                continue
            if record.rests_on_compile:
                cells[place][record.key.subject] = None
                continue
            unasked[case].append(record.reason)
        else:
            asked.add(case)
        cells[place][record.key.subject] = facts_of(record)
    whole = []
    for case, reasons in unasked.items():
        facts = {Fact(UNSUPPORTED, "", masked(reason)) for reason in reasons}
        if case not in asked and len(facts) == 1:
            whole.append(Entry(case, facts.pop(), ""))
    alone = {entry.place for entry in whole}
    for place, of in cells.items():
        if dataclasses.replace(place, route=ALL) in alone:
            cells[place] = dict.fromkeys(of)
    return dict(cells), whole


def _with_asked(table: Table, cells: _Cells) -> Table:
    """The table with the subjects of these cells added.

    A new release is expected to do what the release before it does, until a run shows it.
    """
    asked = {where: set(names) for where, names in table.asked.items()}
    for place, of in cells.items():
        asked.setdefault(asked_of(place), set()).update(of)
    known = Table({}, {where: tuple(sorted(names, key=_by_age)) for where, names in asked.items()})
    entries: Entries = dict(table.entries)
    for new in [name for name in known.releases if name not in table.releases]:
        if table.releases:
            before = table.stands_for(new)
            entries = {
                entry: subjects | {new} if before in subjects else subjects
                for entry, subjects in entries.items()
            }
    return Table(entries, known.asked)


def _by_age(subject: str) -> tuple[bool, Version, str]:
    version = parsed_version(subject)
    return version is None, version or Version("0"), subject


def _without(entries: Mapping[Entry, frozenset[str]], cells: _Cells) -> Entries:
    """The entries about other cells than these."""
    spoken = {dataclasses.replace(place, route=ALL) for place in cells}
    left: Entries = {}
    for entry, subjects in entries.items():
        if entry.place.route == ALL:
            rest = frozenset() if entry.place in spoken else subjects
        else:
            rest = subjects - cells.get(entry.place, {}).keys()
        if rest:
            left[entry] = rest
    return left


def _without_idle(table: Table) -> Table:
    """The table without entries that repeat what their setting inherits."""
    entries: Entries = {}
    for entry, subjects in table.entries.items():
        if specificity(entry.place) == 0 or entry.place.route == ALL:
            entries[entry] = subjects
            continue
        rest = set()
        for subject in subjects:
            inherited = table.expected(entry.place, subject, inherited=True).get(entry.fact.seen)
            same = (
                inherited is not None
                and inherited.fact == entry.fact
                and inherited.defect == entry.defect
            )
            if (inherited is not None) if entry.removed else not same:
                rest.add(subject)
        if rest:
            entries[entry] = frozenset(rest)
    return dataclasses.replace(table, entries=entries)


class _Matcher:
    """Names the defect of each new fact, one level of settings at a time."""

    def __init__(self, register: Register, table: Table, cells: _Cells) -> None:
        self._register = register
        self._cells = cells
        self._open: dict[tuple[Place, str, Fact], tuple[Defect, ...]] = {}
        self._of: dict[tuple[Place, str, Fact], str] = {}
        self._signed: dict[tuple[Place, tuple[str, str, str]], tuple[Defect, ...]] = {}
        self._kept: dict[tuple[Place, tuple[str, str, str], str], str] = {}
        self._near: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._alone: dict[str, set[str]] = defaultdict(set)
        for entry, subjects in table.entries.items():
            if not entry.removed and entry.defect in register.by_id:
                self._remember(entry.place, entry.fact, entry.defect)
                for subject in subjects:
                    self._kept[entry.place, entry.fact.seen, subject] = entry.defect

    def new(self, place: Place, subject: str, fact: Fact) -> None:
        """One fact that the table does not inherit."""
        if fact.oracle == UNSUPPORTED:
            self._of[place, subject, fact] = ""
            return
        kept = self._kept.get((place, fact.seen, subject))
        defect = self._register.by_id.get(kept) if kept else None
        signed = self._signs(place, fact)
        if defect and defect in signed and defect.may_show(subject):
            self._of[place, subject, fact] = defect.id
            return
        possible = tuple(defect for defect in signed if defect.may_show(subject))
        steps = [
            [each for each in possible if each.id in near] for near in self._nearby(place, fact)
        ]
        alone = next((left for left in [*steps, possible] if len(left) == 1), None)
        if alone is not None:
            named = alone[0].id
            self._of[place, subject, fact] = UNKNOWN + named
            self._alone[place.case].add(named)
        else:
            self._open[place, subject, fact] = possible

    def decided(self) -> Entries:
        """The new entries; facts are forgotten once they are returned."""
        of_cell: dict[tuple[Place, str], set[str]] = defaultdict(set)
        for (place, subject, _), named in self._of.items():
            of_cell[place, subject].add(named.removeprefix(UNKNOWN))
        for (place, subject, fact), possible in self._open.items():
            named = self._likely(place, subject, possible, of_cell[place, subject])
            self._of[place, subject, fact] = UNKNOWN + named
        entries: Entries = {}
        for (place, subject, fact), named in self._of.items():
            entry = Entry(place, fact, named)
            entries[entry] = entries.get(entry, frozenset()) | {subject}
            if named.removeprefix(UNKNOWN) in self._register.by_id:
                self._remember(place, fact, named.removeprefix(UNKNOWN))
        self._of.clear()
        self._open.clear()
        return entries

    def _remember(self, place: Place, fact: Fact, named: str) -> None:
        for nearness in _nearnesses(place, fact):
            self._near[nearness].add(named)

    def _nearby(self, place: Place, fact: Fact) -> list[set[str]]:
        """The defects that cause the same finding of the case elsewhere, the nearest first."""
        return [self._near.get(nearness, set()) for nearness in _nearnesses(place, fact)]

    def _likely(
        self, place: Place, subject: str, found: Sequence[Defect], in_cell: Collection[str]
    ) -> str:
        """The defects that the signs allow and the steps leave: one, several or none."""
        left = list(found)
        in_case = self._alone[place.case]
        steps: tuple[Callable[[Defect], bool], ...] = (
            lambda defect: defect.id in in_cell,
            lambda defect: not self._refuted(defect, place),
            lambda defect: defect.id in in_case,
        )
        for fits in steps:
            fitting = [defect for defect in left if fits(defect)]
            left = fitting or left
            if len(left) == 1:
                break
        return "|".join(sorted(defect.id for defect in left))

    def _refuted(self, defect: Defect, place: Place) -> bool:
        """Whether a subject that has the defect completes here and does not show it."""
        return any(
            facts is not None
            and subject not in NAMED_SUBJECTS
            and defect.alive_in(subject)
            and not any(fact.oracle == Oracle.COMPLETION for fact in facts)
            and not any(defect in self._signs(place, fact) for fact in facts)
            for subject, facts in self._cells.get(place, {}).items()
        )

    def _signs(self, place: Place, fact: Fact) -> tuple[Defect, ...]:
        key = (place, fact.seen)
        if key not in self._signed:
            defects = self._register.defects
            self._signed[key] = tuple(defect for defect in defects if defect.signed(place, fact))
        return self._signed[key]


def _nearnesses(place: Place, fact: Fact) -> tuple[tuple[str, ...], ...]:
    """The names under which a finding is the same: in its lane, and by the model's own name."""
    model = place.case.partition("@")[0]
    return (place.lane, place.case, fact.oracle, fact.says), (model, fact.oracle, fact.says)


def accepted(table: Table) -> Table:
    """The table with every proposal of a single defect accepted."""
    return table.with_defects(
        {
            entry: entry.defect.removeprefix(UNKNOWN)
            for entry in table.undecided
            if entry.defect != UNKNOWN and "|" not in entry.defect
        }
    )
