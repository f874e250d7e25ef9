"""Which defect each observed failure is due to: by the table, and else by the defects' signs."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.expectations.defects import Register
from harness.expectations.facts import Fact, facts_in, facts_of, place_of
from harness.expectations.naming import due_to
from harness.expectations.table import UNKNOWN, Table
from harness.findings import CellClass, Finding
from harness.rig.records import CellKey, CellRecord
from harness.rig.vocabulary import CellState, Harm
from harness.verdict import HARM_WORDS


@dataclass(frozen=True)
class Attributed:
    """One fact of one cell and its defect; ``defect`` is empty where none is known.

    ``expected``: the table says so. Else it is what the signs say, outright or not at all.
    """

    key: CellKey
    fact: Fact
    defect: str
    expected: bool


def attributed(
    records: Iterable[CellRecord],
    table: Table,
    register: Register,
    likes: Mapping[str, str] | None = None,
) -> list[Attributed]:
    """Every failure of the judged cells, each fact with its defect."""
    found = []
    for record in records:
        if record.hypothetical or record.state is not CellState.ENDED or not record.failures:
            continue
        key, place = record.key, place_of(record.key)
        subject = table.stands_for(key.subject, (likes or {}).get(key.subject, ""))
        known = table.expected(place, subject)
        for fact in facts_of(record):
            entry = known.get(fact.seen)
            if entry is not None and entry.defect in register.by_id:
                found.append(Attributed(key, fact, entry.defect, expected=True))
                continue
            like = (likes or {}).get(key.subject, "")
            found_out = due_to(place, fact, key.subject, table, register, like)
            named = found_out[0].id if len(found_out) == 1 else ""
            found.append(Attributed(key, fact, named, expected=False))
    return found


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
            seen |= dict.fromkeys(UNKNOWN + each.id for each in named)
    return dataclasses.replace(finding, defects=tuple(seen))


@dataclass(frozen=True)
class Difference:
    """What a candidate does otherwise than what it is like, in defects and cells."""

    mended: Mapping[str, int]
    partly: Mapping[str, int]
    broken: Mapping[str, int]  # by the id of a defect whose signs it bears, or by what it says


def difference(
    candidate: str, like: str, records: Iterable[CellRecord], table: Table, register: Register
) -> Difference:
    """A candidate against a release of the same run, told in defects."""
    mine: dict[CellKey, dict[tuple[str, str, str], Attributed]] = defaultdict(dict)
    theirs: dict[CellKey, dict[tuple[str, str, str], Attributed]] = defaultdict(dict)
    chosen = [record for record in records if record.key.subject in (candidate, like)]
    asked: dict[str, set[CellKey]] = defaultdict(set)
    for record in chosen:
        if record.state is CellState.ENDED and not record.hypothetical:
            asked[record.key.subject].add(dataclasses.replace(record.key, subject=""))
    both = asked[candidate] & asked[like]
    for each in attributed(chosen, table, register, {candidate: like}):
        whose = mine if each.key.subject == candidate else theirs
        whose[dataclasses.replace(each.key, subject="")][each.fact.seen] = each
    gone: dict[str, set[CellKey]] = defaultdict(set)
    left: dict[str, set[CellKey]] = defaultdict(set)
    new: dict[str, set[CellKey]] = defaultdict(set)
    for place in both:
        for seen, each in theirs[place].items():
            name = each.defect or each.fact.text
            (left if seen in mine[place] else gone)[name].add(place)
        for seen, each in mine[place].items():
            if seen in theirs[place]:
                left[each.defect or each.fact.text].add(place)
            else:
                new[each.defect or each.fact.text].add(place)
    return Difference(
        mended={name: len(of) for name, of in sorted(gone.items()) if name not in {*left, *new}},
        partly={name: len(of) for name, of in sorted(gone.items()) if name in left},
        broken={name: len(of) for name, of in sorted(new.items())},
    )


def difference_line(told: Difference, like: str) -> str:
    """The difference in one line: ``mends: A, B; breaks: C in 3 cells; all else as 2.14.0``."""
    parts = []
    if told.mended:
        parts.append(f"mends: {', '.join(told.mended)}")
    if told.partly:
        parts.append(f"mends in part: {', '.join(map(_counted, told.partly.items()))}")
    if told.broken:
        parts.append(f"breaks: {', '.join(map(_counted, told.broken.items()))}")
    return "; ".join([*parts, f"all else as {like}" if parts else f"all as {like}"])


def shown_lines(shown: Iterable[Attributed], releases: Sequence[str]) -> list[str]:
    """The defects that releases show, each with its cells and its worst harm.

    Neighbours that are alike share a line; those that show nothing have none.

    Args:
        releases: the oldest first.
    """
    of: dict[str, dict[str, list[Attributed]]] = {name: defaultdict(list) for name in releases}
    for each in shown:
        if each.key.subject in of:
            of[each.key.subject][each.defect].append(each)
    lines = []
    for told, group in itertools.groupby(releases, key=lambda name: _shown(of[name])):
        names = list(group)
        if told:
            span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
            lines.append(f"defects in {span}: {told}")
    return lines


def _shown(defects: Mapping[str, Sequence[Attributed]]) -> str:
    """``wired-by-name in 3 cells (silent), one-output-list in 1 cell (cosmetic)``."""
    parts = []
    for name in sorted(defects, key=lambda name: (not name, name)):  # what is unknown comes last
        harms = [Harm(each.fact.harm) for each in defects[name] if each.fact.harm]
        worst = min(harms, key=lambda harm: harm.severity, default=None)
        cells = len({each.key for each in defects[name]})
        counted = _counted((name or "what is none of these for sure", cells))
        parts.append(f"{counted} ({HARM_WORDS[worst]})" if worst else counted)
    return ", ".join(parts)


def _counted(item: tuple[str, int]) -> str:
    name, cells = item
    return f"{name} in {cells} cell{'s' if cells > 1 else ''}"
