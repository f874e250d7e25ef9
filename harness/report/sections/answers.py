"""The lines of the first screen: what a reader asks of a run first, and the answer to each.

The order is that of the questions: what changed, what is silently wrong, which call is safest.
A line names the worst of what it counts; the rest is folded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from harness.gate.defect_table import DefectRow, DefectTable, Part
from harness.gate.difference_words import by_kind
from harness.gate.qualify import Qualification
from harness.gate.qualify_words import (
    decision_words,
    evidence_words,
    stopped_by,
    stopped_words,
    tally_lines,
)
from harness.gate.signs import LOOKS_LIKE, SEEN_FIRST_NOW
from harness.register.defects import HAVING_STATE, WRITES_PARTS, Defect
from harness.register.standing import Standing
from harness.report import text
from harness.report.reported_run import ReportedRun
from harness.report.sections.calls import (
    run_the_loaded_one,
    safe_without_state,
    safest,
    safest_before,
    safest_in,
    save_records,
)
from harness.wire.oracles import Harm
from harness.wire.vocabulary import SubjectKind

MOST_SEEN: Final = 2  # items of a line that are not folded
_FEWER_SEEN: Final = 1  # of what changed, which the table of defects shows with its signs
_SILENT_IN: Final[Mapping[Part, str]] = {
    Part.PRODUCT: "",
    Part.ELSEWHERE: "; by design or torch's",
    Part.EXPORTED: "; not split by compile()",
    Part.HANDMADE: "; split by hand",
}


@dataclass(frozen=True)
class Item:
    """One of several things that an answer counts.

    ``defect`` is the id of the row of the page's table that ``title`` opens; empty where there is
    none.
    """

    title: str
    told: str = ""
    defect: str = ""

    def __str__(self) -> str:
        return self.title + (f" ({self.told})" if self.told else "")


@dataclass(frozen=True)
class Answer:
    """One line of the first screen: what was asked, and the answer.

    The first ``seen`` of ``items`` stand in the line, and all others are folded behind ``rest``,
    which are the words for them.
    """

    asked: str
    answer: str = ""
    items: tuple[Item, ...] = ()
    seen: int = MOST_SEEN
    rest: str = ""

    @property
    def first(self) -> tuple[Item, ...]:
        return self.items[: self.seen]

    @property
    def folded(self) -> tuple[Item, ...]:
        return self.items[self.seen :]

    @property
    def fold(self) -> str:
        """The words that open what is folded."""
        return self.rest or f"and {len(self.folded)} more"


def answers(run: ReportedRun, decided: Qualification | None) -> Iterator[Answer]:
    """What a reader asks first, a line each.

    Args:
        decided: the comparison that the page's heading tells already.
    """
    rest = []
    for release, told, unlike in run.own_torch:
        yield Answer(release, told, tuple(map(Item, unlike)))
    for q in run.upgrades:
        told = f"{decision_words(q, run.red)}, {evidence_words(q)}"
        (asked, counts), *splits = tally_lines(q, total=True)
        if decided not in (None, q):
            told_of = (Item(f"{name}: {of}") for name, of in ((asked, counts), *splits))
            rest.append(Answer(f"Beside {q.baseline.subject}", told, tuple(told_of)))
            continue
        if decided is None:
            yield Answer(q.candidate.subject, told.removeprefix(f"{q.candidate.subject} "))
        alone = "" if "split" in asked else "the inliner alone, "
        others = tuple(Item(f"{alone}{name}: {of}") for name, of in splits)
        meant = (*_regressed(q), *others)
        yield Answer(asked, counts, meant, seen=0, rest="what is counted")
        yield from _breaks(q, run)
        if not run.breakages and (stoppers := stopped_by(q)):
            items = tuple(_item(run, title, harms, name) for name, title, harms in stoppers)
            yield Answer("Regressed by", f"{stopped_words(q)}:", items)
        yield from _in_defects(q, run)
    if not run.has_candidate and run.own_cases is None:  # whose calls the heading tells
        if run.defect_table:
            yield _silent(run.defect_table)
        yield from _calls(run)
    yield from rest


def safest_by_release(run: ReportedRun) -> dict[str, list[str]]:
    """Which save is safest in each release, for models without and with state; for the search."""
    if run.has_candidate or not run.defect_table:
        return {}
    releases = [spec.subject for spec in run.ordered if spec.kind is SubjectKind.RELEASE]
    has_state = run.cells_of_lanes["case"].isin(_stateful(run))
    told = dict[str, list[str]]()
    for asked, of in (("no state", ~has_state), ("a cache", has_state)):
        for release, words in safest_in(run.cells_of_lanes[of], releases).items():
            told.setdefault(release, []).append(f"Safest save in {release}, {asked}: {words}")
    return told


def _calls(run: ReportedRun) -> Iterator[Answer]:
    """Which call is safest, with and without state, and what is safe in every release."""
    releases = [spec.subject for spec in run.ordered if spec.kind is SubjectKind.RELEASE]
    cells = run.cells_of_lanes
    if not run.defect_table:  # which alone tells the cases that have state
        yield from _safest("Safest call", cells, releases)
        return
    stateful = _stateful(run)
    has_state = cells["case"].isin(stateful)
    yield from _safest("Safest save, no state", cells[~has_state], releases)
    yield from _safest("Safest save, a cache", cells[has_state], releases)
    if safe := safe_without_state(cells, releases, stateful):
        yield Answer("Right in every release", safe)


def _safest(asked: str, cells: pd.DataFrame, releases: Sequence[str]) -> Iterator[Answer]:
    records = save_records(cells, releases)
    if records is None or not (told := safest(records)):
        return
    first, *others = told
    yield Answer(
        asked,
        f"in {records.release} {first}{run_the_loaded_one(records)}",
        tuple(map(Item, [*others, *safest_before(cells, releases)])),
        seen=0,
        rest="the other calls, and older releases",
    )


def _item(run: ReportedRun, title: str, told: str, name: str) -> Item:
    listed = run.defect_table is not None and name in run.defect_table.titles
    return Item(title, told, name if listed else "")


def _titled_item(run: ReportedRun, part: str) -> Item:
    """``"A title" in 2 cells`` as an item that opens the defect, where the part names one."""
    named = re.fullmatch(r'"(?P<title>.+)"(?P<told> [^"]*)?', part)
    ids = {row.defect.title: row.defect.id for row in _rows(run)}
    if not named or named["title"] not in ids:
        return Item(part)
    return Item(named["title"], (named["told"] or "").strip(), ids[named["title"]])


def _rows(run: ReportedRun) -> tuple[DefectRow, ...]:
    return run.defect_table.rows if run.defect_table else ()


def _regressed(q: Qualification) -> Iterator[Item]:
    """What "regressed" counts, for a reader who sees below that something is new."""
    before, now = q.baseline.subject, q.candidate.subject
    yield Item(
        f"regressed: right in {before} and wrong or raising in {now}, or newly silent. A new "
        f"defect regresses no call that {before} gets wrong by another one"
    )
    yield Item("a cell: a case of the corpus by one call of a user, as that release answers it")


def _stateful(run: ReportedRun) -> set[str]:
    """The cases that have state: they show a defect that the register says only state meets.

    What writes parts of a tensor meets a defect whether that tensor is state or not.
    """
    defects = {
        row.defect.id
        for row in _rows(run)
        if HAVING_STATE & set(row.defect.models) and WRITES_PARTS not in row.defect.models
    }
    causes = [cause for cause in run.causes if cause.defect.id in defects]
    return {shown.key.case for cause in causes for shown in cause.shown}


def _breaks(q: Qualification, run: ReportedRun) -> Iterator[Answer]:
    """What a candidate breaks, by cause; their cells add up to those that turn the gate red."""
    mine = [each for each in run.breakages if each.first.subject == q.candidate.subject]
    if not mine:
        return
    cells = sum(each.cells for each in mine)
    regressed = sum(change.forbids for change in q.changes)
    otherwise = f", {cells - regressed} of which failed before" if 0 < regressed < cells else ""
    items = tuple(
        Item(
            each.what,
            f"{text.plural(each.cells, 'cell')} of {text.plural(len(each.cases), 'case')}"
            + (f"; {LOOKS_LIKE} {each.like[0]}" if each.like else ""),
        )
        for each in mine
    )
    told = f"{text.plural(len(mine), 'thing')}, in {text.plural(cells, 'cell')}{otherwise}:"
    yield Answer("Breaks", told, items)


def _in_defects(q: Qualification, run: ReportedRun) -> Iterator[Answer]:
    """What the candidate does otherwise: in the console's words, or the defects by their titles."""
    name, changes = q.candidate.subject, run.changes
    # The order in which the search of the page tells them: by harm, then as the table has them.
    rows = sorted(_rows(run), key=lambda row: row.severity)
    place = {row.defect.id: at for at, row in enumerate(rows)}
    if told := run.differences.get(name):
        kinds = by_kind(told)
        # What is worse is read first.
        kinds.sort(key=lambda kind: kind[0] not in ("breaks", "brings back"))
        for kind, titles in kinds:
            if kind == "else":
                yield Answer("In defects", titles[0])
            else:
                named = sorted(
                    (_titled_item(run, each) for each in titles),
                    key=lambda item: place.get(item.defect, len(place)),
                )
                yield Answer(kind.capitalize(), f"{len(named)}:", tuple(named), _FEWER_SEEN)
        return
    of: Mapping[str, Iterable[Defect]]
    if changes and changes.before == q.baseline.subject and changes.release == name:
        of = {
            "New defects": [each.defect for each in changes.new],
            "Fixed defects": [each.defect for each in changes.fixed],
            SEEN_FIRST_NOW.capitalize(): [each.defect for each in changes.uncovered],
            "Cannot be seen": [row.defect for row in _rows(run) if row.part is Part.HIDDEN],
        }
        means = {
            "New defects": _masked(run, changes.new, changes.before),
            "Fixed defects": _masked(run, changes.fixed, name),
            SEEN_FIRST_NOW.capitalize(): " known before, as what stopped their cases is mended",
            "Cannot be seen": ", as other defects stop their cases",
        }
    else:
        of = {
            "Mends": [each.defect for each in q.causes_gone],
            "Breaks": [each.defect for each in q.causes_new],
        }
        means = {}
    for asked, listed in of.items():
        defects = sorted(listed, key=lambda each: place.get(each.id, len(place)))
        fixed = asked == "Fixed defects"
        items = tuple(
            _item(run, each.title, text.reference(each.fixed_by) if fixed else "", each.id)
            for each in defects
        )
        if items:
            yield Answer(asked, f"{len(items)}{means.get(asked, '')}:", items, _FEWER_SEEN)


def _masked(run: ReportedRun, defects: Collection[Standing], release: str) -> str:
    """How many of some defects show in cells alone that a release gets wrong by other ones."""
    masked = {
        row.defect.id
        for row in _rows(run)
        if any(each.release == release and each.broken_by for each in row.standings)
    }
    count = sum(each.defect.id in masked for each in defects)
    return f" ({count} where other defects stop {release})" if count else ""


def _silent(table: DefectTable) -> Answer:
    """What the newest release computes wrong without a word, those that the product meets first."""
    rows = [
        row
        for row in table.rows
        if row.last == table.newest and row.harm == Harm.SILENT and row.part in _SILENT_IN
    ]
    # What is milder with the torch that the release pins, as its users have it, comes last.
    rows.sort(key=lambda row: (bool(row.own_torch), list(_SILENT_IN).index(row.part)))
    items = tuple(Item(row.defect.title, _met(row), row.defect.id) for row in rows)
    return Answer(
        f"Silent in {table.newest}", f"{len(items)}:" if items else "nothing known", items
    )


def _met(row: DefectRow) -> str:
    """The calls that meet a defect, and since when."""
    since = f"since {row.defect.since}" if row.defect.since else "always"
    own = f"; {row.own_torch}" if row.own_torch else ""
    return f"{', '.join(row.calls)}; {since}{_SILENT_IN[row.part]}{own}"
