"""Which defect each observed failure is due to: by the table, and else by the defects' signs."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.gate.findings import CellClass, Finding
from harness.gate.pairs import EXACT, Pairing, both_asked, compare, pairing_of, side_of
from harness.register.defects import Defect, Register
from harness.register.facts import UNSUPPORTED, Fact, Place, facts_in, facts_of, place_of
from harness.register.table import UNKNOWN, Table
from harness.wire.oracles import Harm, Oracle
from harness.wire.record_json import TOO_OLD
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import CellState


@dataclass(frozen=True)
class Attributed:
    """One fact of one cell and its defect, which is empty if none is known.

    ``expected`` says that the table names the defect. Otherwise the signs do, if they allow one;
    ``alike`` are the defects whose signs it bears, if these are several.
    """

    key: CellKey
    fact: Fact
    defect: str
    expected: bool
    alike: tuple[str, ...] = ()


def attributed(
    records: Iterable[CellRecord],
    table: Table,
    register: Register,
    likes: Mapping[str, str] | None = None,
) -> list[Attributed]:
    """Every failure of the judged cells, each fact with its defect.

    What no table tells of a candidate is what the same cell of the release shows, if that does.

    Args:
        likes: by candidate, the release whose defects it may have.
    """
    facts: list[Attributed] = []
    for record in records:
        if record.hypothetical or record.state is not CellState.ENDED or not record.failures:
            continue
        key, place = record.key, place_of(record.key)
        subject = table.stands_for(key.subject, (likes or {}).get(key.subject, ""))
        known = table.expected(place, subject)
        for fact in facts_of(record):
            entry = known.get(fact.seen)
            if entry is not None and entry.defect in register.by_id:
                facts.append(Attributed(key, fact, entry.defect, expected=True))
                continue
            like = (likes or {}).get(key.subject, "")
            found_out = due_to(place, fact, key.subject, table, register, like)
            names = tuple(defect.id for defect in found_out)
            one, alike = (names[0], ()) if len(names) == 1 else ("", names)
            facts.append(Attributed(key, fact, one, expected=False, alike=alike))
    return _as_the_release(facts, likes) if likes else facts


def _as_the_release(facts: Sequence[Attributed], likes: Mapping[str, str]) -> list[Attributed]:
    """The facts; those of a candidate that have no defect, with that of the release's own cell."""
    by_place = {(each.key, each.fact.seen): each for each in facts}

    def told(each: Attributed) -> Attributed:
        if each.defect or each.alike or each.key.subject not in likes:
            return each
        there = dataclasses.replace(each.key, subject=likes[each.key.subject])
        same = by_place.get((there, each.fact.seen), each)
        return dataclasses.replace(each, defect=same.defect, alike=same.alike)

    return [told(each) for each in facts]


def defects_told(
    finding: Finding, table: Table, register: Register, like: str | None = None
) -> Finding:
    """A finding with the known defects that it may be due to; ``like`` is of a candidate."""
    if finding.cell_class is CellClass.MISSING or finding.verdict is None:
        return finding
    place = place_of(finding.key)
    subject = table.stands_for(finding.subject, like or "")
    expected = table.expected(place, subject)
    seen: dict[str, None] = dict.fromkeys(finding.defects)
    facts = list(facts_in(finding.verdict)) if finding.verdict.failed else []
    if like:
        for entry in expected.values():
            shown = entry.fact.seen in {fact.seen for fact in facts}
            if entry.fact.oracle == finding.oracle and not shown:
                seen[entry.defect] = None
    for fact in facts:
        if fact.seen not in expected:
            named = due_to(place, fact, finding.subject, table, register, like or "")
            seen |= dict.fromkeys(UNKNOWN + defect.id for defect in named)
    return dataclasses.replace(finding, defects=tuple(seen))


@dataclass(frozen=True)
class Difference:
    """How a candidate differs from the release that it is compared with, in defects and cells.

    Each field counts cells by the id of a defect, or by the text of a failure that bears no known
    sign. ``hidden`` defects have cells that end earlier now, which mends nothing, and ``uncovered``
    ones show in cells that another one ended or made wrong before. ``otherwise``
    defects show in the same cells by other failures. ``brought_back`` defects were fixed before.
    ``compared`` counts the cells that both were asked.
    """

    mended: Mapping[str, int]
    partly: Mapping[str, int]
    hidden: Mapping[str, int]
    uncovered: Mapping[str, int]
    otherwise: Mapping[str, int]
    broken: Mapping[str, int]
    brought_back: Mapping[str, int]
    compared: int


_NOTED: Final = frozenset(oracle for oracle in Oracle if oracle.row.noted_when_uncovered)
#: By place, and by what makes a fact the same: the name of its defect, or else the fact.
NamedDefects = dict[CellKey, dict[tuple[str, str, str], str]]


def difference(
    candidate: str,
    like: str,
    records: Iterable[CellRecord],
    table: Table,
    register: Register,
    around: Mapping[str, str] | None = None,
) -> Difference:
    """Compare a candidate with another subject of the same run, in defects.

    Cells are paired as `qualify` pairs them.

    Args:
        around: for what no table knows, the release whose defects it may have.
    """
    every, near = list(records), around or {candidate: like}
    pairing = pairing_of((candidate, like), every)
    _, mine, theirs = named_defects(candidate, like, every, table, register, near, pairing)
    return difference_of(mine, theirs, register, candidate, like)


def named_defects(
    candidate: str,
    like: str,
    records: Iterable[CellRecord],
    table: Table,
    register: Register,
    around: Mapping[str, str],
    pairing: Pairing = EXACT,
) -> tuple[dict[CellKey, tuple[CellRecord, CellRecord]], NamedDefects, NamedDefects]:
    """What both were asked, and what shows there in the candidate and in the other.

    Args:
        around: for what no table knows, the release whose defects it may have.
    """
    chosen = [record for record in records if record.key.subject in (candidate, like)]
    sides = side_of(like, chosen, pairing), side_of(candidate, chosen, pairing)
    asked = both_asked(compare(*sides))
    named: dict[str, NamedDefects] = {
        name: {place: {} for place in asked} for name in (candidate, like)
    }
    told_by_table = set()
    unsure: list[tuple[CellKey, Attributed]] = []
    for fact in attributed(chosen, table, register, around):
        place = pairing.place(fact.key)
        if place in asked:
            named[fact.key.subject][place][fact.fact.seen] = fact.defect or fact.fact.text
            if fact.expected and fact.key.subject == candidate:
                told_by_table.add((place, fact.fact.seen))
            if fact.alike and fact.key.subject == candidate:
                unsure.append((place, fact))
    mine, theirs = named[candidate], named[like]
    for place, fact in unsure:
        # What may be one of several defects is the one that the other subject has there.
        there = {*fact.alike}.intersection(theirs[place].values())
        if len(there) == 1:
            (mine[place][fact.fact.seen],) = there
    for place, facts in mine.items():
        for seen in facts.keys() & theirs[place].keys():
            # What both show is one failure, unless the table knows that it has two causes.
            if (place, seen) not in told_by_table:
                facts[seen] = theirs[place][seen]
    return asked, mine, theirs


def deviation(
    subject: str, records: Iterable[CellRecord], table: Table, register: Register
) -> Difference:
    """Compare a release with what the table expects of it, in defects."""
    mine: NamedDefects = {}
    theirs: NamedDefects = {}
    whose = table.stands_for(subject)
    chosen = [record for record in records if record.key.subject == subject]
    for record in chosen:
        if record.state is CellState.ENDED and not record.hypothetical:
            too_old = {v.oracle for v in record.verdicts if v.message == TOO_OLD}
            mine[record.key] = {}
            theirs[record.key] = {
                seen: entry.defect
                for seen, entry in table.expected(place_of(record.key), whose).items()
                if seen[0] not in (*too_old, UNSUPPORTED)
            }
    for due in attributed(chosen, table, register):
        mine[due.key][due.fact.seen] = due.defect or due.fact.text
    return difference_of(mine, theirs, register, subject, whose)


def difference_of(
    mine: NamedDefects, theirs: NamedDefects, register: Register, subject: str, like: str
) -> Difference:
    """What shows in one and not in the other, in the places that both have."""
    # The register knows that these are mended, even if their cells end earlier now.
    mended = {defect.id for defect in register.defects if not defect.alive_in(subject)}
    fixed = {
        defect.id: f"{defect.id} (fixed in {defect.fixed_in})"
        for defect in register.defects
        if defect.fixed_in and not defect.alive_in(like)
    }
    sets = (defaultdict[str, set[CellKey]](set) for _ in range(6))
    gone, hidden, uncovered, otherwise, left, new = sets
    known_before = {defect.id for defect in register.defects if defect.alive_in(like)}
    for place in mine.keys() & theirs.keys():
        here, there = mine[place], theirs[place]
        ends = any(seen[0] == Oracle.COMPLETION for seen in here.keys() - there.keys())
        goes_on = any(seen[0] == Oracle.COMPLETION for seen in there.keys() - here.keys())
        wrong = any(map(_computes_wrong, there.keys() - here.keys()))
        # A program whose numbers are right only now could not be asked before (`gate.candidate`).
        computes = wrong and not any(map(_computes_wrong, here))
        behind = goes_on or (ends and wrong)  # an error in place of wrong numbers breaks nothing
        for name in {*here.values(), *there.values()}:
            shown = {seen for seen in here if here[seen] == name}
            known = {seen for seen in there if there[seen] == name}
            if shown and known:
                (left if shown == known else otherwise)[name].add(place)
            elif shown:
                was_there = name in known_before
                seen_first = (behind and was_there) or (
                    computes
                    and all(
                        seen[0] in _NOTED or (was_there and Fact(*seen).is_packing)
                        for seen in shown
                    )
                )
                (uncovered if seen_first else new)[name].add(place)
            else:
                (hidden if ends and name not in mended else gone)[name].add(place)
    failures = _by_failure(new, {defect.id for defect in register.defects})
    kept = {*left, *otherwise, *new, *hidden, *uncovered}
    return Difference(
        mended=_counts(gone, without=kept),
        partly={name: count for name, count in _counts(gone).items() if name in kept},
        hidden=_counts(hidden),
        uncovered=_counts(uncovered),
        otherwise=_counts(otherwise),
        broken=_counts(failures, without=fixed),
        brought_back={fixed[name]: count for name, count in _counts(new).items() if name in fixed},
        compared=len(mine.keys() & theirs.keys()),
    )


def _computes_wrong(seen: tuple[str, str, str]) -> bool:
    """Whether a fact is of wrong numbers, and not of right ones that are packed otherwise."""
    return seen[0] == Oracle.VALUES and not Fact(*seen).is_packing


def _by_failure(new: Mapping[str, set[CellKey]], known: Collection[str]) -> dict[str, set[CellKey]]:
    """The same, where findings that bear no known sign are one failure if they show in the very
    same cells: wrong numbers, and the wire that makes them wrong.
    """
    together: dict[frozenset[CellKey], list[str]] = defaultdict(list)
    for name, places in new.items():
        if name not in known:
            together[frozenset(places)].append(name)
    found = {name: places for name, places in new.items() if name in known}
    return found | {_in_one(names): set(places) for places, names in together.items()}


def _in_one(texts: Iterable[str]) -> str:
    """``A: one; two, and B: three`` for the texts of facts ``A: one``, ``A: two``, ``B: three``."""
    says: dict[str, list[str]] = defaultdict(list)
    for text in sorted(texts):
        failure, colon, said = text.partition(": ")
        says[failure].append(f"{colon}{said}")
    parts = (failure + "; ".join(of).replace("; : ", "; ") for failure, of in says.items())
    return ", and ".join(parts)


def _counts(places: Mapping[str, set[CellKey]], without: Collection[str] = ()) -> dict[str, int]:
    return {name: len(of) for name, of in sorted(places.items()) if name not in without}


def due_to(
    place: Place,
    fact: Fact,
    subject: str,
    table: Table,
    register: Register,
    like: str = "",
    lacks: Collection[str] = (),
) -> tuple[Defect, ...]:
    """The defects that a failure may be due to: one if it is certain, several, or none.

    A release that the table knows has the defects that are alive in it. A candidate or a future
    release may bring back what was fixed: the same finding in the same cell of any release names
    its defect, and otherwise the signs do, even if their defects are fixed. Wrong numbers and wrong
    wires look alike whatever their cause is, so a candidate's signs of these count only for a
    defect that the same cell has anyway, by the same oracle unless a size is read as a constant.
    Right numbers that are packed otherwise tell theirs.

    Args:
        subject: as the record names it.
        like: the release that a candidate is held against.
        lacks: what the model has not, where `Table.lacking` does not say. A defect that needs it
            is not the cause, whatever its sign says. And a sign that is told of some cases alone,
            since it says little, is enough where the model has what the defect needs.
    """
    due = _signed(place, fact, subject, table, register, like)
    lacks = lacks or table.lacking.get(place.case, ())
    if not lacks:
        return due
    met = tuple(defect for defect in due if defect.met_by(lacks))
    return met or tuple(
        defect
        for defect in register.defects
        if defect.needs
        and defect.met_by(lacks)
        and defect.alive_in(subject)
        and defect.signed_in_any_case(place, fact)
    )


def _signed(
    place: Place, fact: Fact, subject: str, table: Table, register: Register, like: str
) -> tuple[Defect, ...]:
    """As `due_to`, of a model of which nobody knows what it has."""
    if table.stands_for(subject, like) == subject:
        return tuple(register.candidates(place, fact, [subject]))
    entries = [table.expected(place, release).get(fact.seen) for release in table.releases]
    shown = {entry.defect for entry in entries if entry is not None}
    signed = [defect for defect in register.defects if defect.signed(place, fact)]
    same = [defect for defect in signed if defect.id in shown]
    if same or not like or not _tells_no_cause(fact):
        return tuple(same or signed)
    expected = table.expected(place, like).values()
    otherwise = {
        entry.defect
        for entry in expected
        if entry.fact.oracle == fact.oracle or fact.is_of_a_size  # which tells that it is constant
    }
    return tuple(defect for defect in signed if defect.id in otherwise)


def _tells_no_cause(fact: Fact) -> bool:
    silent = [oracle for oracle in Oracle if oracle.row.usual_harm is Harm.SILENT]
    return fact.oracle in silent and not fact.is_packing
