"""A user's own cases by releases: the worst that each release does to each case, and by which call.

A case is told by the calls that its user makes. What the graph lane shows of an inliner counts for
the call that comes to it, and so do the releases that have no package here.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.base.words import plural, span, spans
from harness.gate.attribution import Attributed
from harness.gate.findings import NO_TITLES, Finding, titled
from harness.gate.signs import LEGEND, SIGNS
from harness.register.table import UNKNOWN
from harness.runs.commands import Places, explain_command
from harness.wire.oracles import Harm
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import COMPILE, USER_CALLS
from harness.wire.vocabulary import CellState

#: The standing of a case whose every call is right, and of one that could not be asked.
OK: Final = "ok"
UNSUPPORTED: Final = "unsupported"
_TO: Final = "\N{EN DASH}"
#: How wide the console's table is, and how many lines say what is wrong.
_WIDTH: Final = 100
_MOST: Final = 12
_OR: Final = " or "


@dataclass(frozen=True)
class Wrong:
    """What one release does wrong with one case by the same harm: the calls, and the defects.

    ``unknown`` says that some cell bears no known defect's sign. ``shown`` is one of the cells.
    ``defects`` are titles; of those that look alike it has all as one, ``"A" or "B"``.
    """

    harm: Harm
    calls: tuple[str, ...]
    defects: tuple[str, ...]
    unknown: bool
    torchs_own: bool
    shown: CellKey = field(compare=False)


@dataclass(frozen=True)
class CaseRow:
    """One case: its standing in each release (a harm, ``ok``, ``unsupported``), and what is wrong.

    ``wrong`` has the worst harm first, with the releases in which it is so, the oldest first.
    """

    case: str
    standings: tuple[str, ...]
    wrong: tuple[tuple[Wrong, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Call:
    """How many of the cases that a user's call of a release was asked about it is right for.

    ``exact`` of the ``right`` ones are not in another form either.
    """

    call: str
    asked: int
    right: int
    exact: int

    @property
    def words(self) -> str:
        """``save(m, f) 3 of 3``."""
        other = self.right - self.exact
        form = f" ({other} in another form)" if other else ""
        return f"{self.call} {self.right} of {self.asked}{form}"


@dataclass(frozen=True)
class CaseMatrix:
    """The cases by releases, the oldest first, and behind them the candidates.

    ``calls`` has the calls of each release that could be asked.
    """

    releases: tuple[str, ...]
    rows: tuple[CaseRow, ...]
    calls: Mapping[str, tuple[Call, ...]] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Neighbouring releases of equal standings, as one name, and these standings by row."""
        columns = list(zip(*(row.standings for row in self.rows), strict=True))
        found: list[tuple[list[str], tuple[str, ...]]] = []
        for release, column in zip((*self.releases, *self.candidates), columns, strict=True):
            if found and found[-1][1] == column and release not in self.candidates:
                found[-1][0].append(release)
            else:
                found.append(([release], column))
        return tuple((span(names, _TO), column) for names, column in found)

    def without(self, cases: Collection[str]) -> CaseMatrix:
        """The matrix without these cases, if no release could be asked about them."""
        rows = (
            row for row in self.rows if row.case not in cases or {*row.standings} != {UNSUPPORTED}
        )
        return dataclasses.replace(self, rows=tuple(rows))

    @property
    def asked(self) -> frozenset[str]:
        """The cases that some release could be asked about."""
        return frozenset(row.case for row in self.rows if {*row.standings} != {UNSUPPORTED})

    def safest(self, release: str) -> Call:
        """The call that is right for most cases; of equal ones one that saves a program."""
        return max(
            self.calls[release],
            key=lambda each: (each.right, each.call != COMPILE, each.exact, -each.asked),
        )

    def where(self, releases: Collection[str]) -> str:
        """Some of the releases and candidates in words."""
        of = [
            [name for name in every if name in releases]
            for every in (self.releases, self.candidates)
        ]
        return ", ".join([*spans(of[0], self.releases), *of[1]])


@dataclass(frozen=True)
class OwnAnswer:
    """Which release and which call are right for a user's cases, and what its other calls are.

    ``newest_is_right`` says that all could be asked, and a call of the newest release is right
    for all.
    """

    words: str
    calls: str
    newest_is_right: bool


#: Why a gate is red although a call of the newest release is right for all cases.
GATE_ASKS_MORE: Final = (
    "the gate, and so the exit code 1, asks for every call of every release; the first line names "
    "one call that is right"
)


def own_answer(matrix: CaseMatrix) -> OwnAnswer | None:
    """None where nothing could be asked."""
    asked = len(matrix.asked)
    if not asked or not matrix.calls:
        return None
    newest = max(matrix.calls, key=matrix.releases.index)
    found = {release: matrix.safest(release) for release in matrix.calls}
    whole = [release for release, call in found.items() if call.right == asked]
    use = max(whole, key=matrix.releases.index) if whole else newest
    several = "both" if asked == 2 else f"all {asked}"
    yours = "your case" if asked == 1 else f"{several} of your cases"
    right = found[newest].right
    by = f" by {found[newest].call}" if right else ""
    told = f"{newest} is right for {right} of them{by}" if asked > 1 else f"{newest} is not"
    if whole:
        form = "" if found[use].exact == asked else "the numbers are "
        words = f"Use Torch-TensorRT {use} and {found[use].call}: {form}right for {yours}"
        words += "" if use == newest else f"; {told}"
    else:
        words = f"No release is right for {yours}" + (f": {told}" if asked > 1 else "")
    unasked = len(matrix.rows) - asked
    words += f"; {unasked} more could not be asked" if unasked else ""
    calls = matrix.calls[use]
    told = f"Right in {use}: {', '.join(call.words for call in calls)}"
    if all(call.exact == call.asked for call in calls):
        told = f"Every call of {use} that was asked is right"
    return OwnAnswer(words, told, use == newest and bool(whole) and not unasked)


def matrix_lines(matrix: CaseMatrix, places: Places) -> list[str]:
    """The matrix as the console shows it, and in words what is wrong and what shows it."""
    if not matrix.rows:
        return []
    lines = list(_table(matrix))
    used = {sign for row in matrix.rows for sign in map(SIGNS.get, row.standings)}
    told = [f"{sign} {meaning}" for sign, meaning in LEGEND if sign in used]
    lines.append(", ".join(told + ["? could not be asked"] * (SIGNS[UNSUPPORTED] in used)))
    words = [(row.case, *each) for row in matrix.rows for each in row.wrong]
    for case, wrong, releases in words[:_MOST]:
        lines.append(f"  {case} in {matrix.where(releases)}: {wrong_words(wrong)}")
        lines.append(f"      {explain_command(wrong.shown, places)}")
    if len(words) > _MOST:
        lines.append(f"  and {len(words) - _MOST} more, which the report has")
    return lines


def note_lines(notes: Iterable[Finding], titles: Mapping[str, str]) -> list[str]:
    """What the gate does not count: cosmetic failures by their defects, and what was not asked."""
    notes = list(notes)
    defects = Counter(
        titled(name.removeprefix(UNKNOWN), titles) or "no known defect"
        for note in notes
        if note.is_cosmetic
        for name in note.defects or ("",)
    )
    counted = (f"{name} in {plural(count, 'cell')}" for name, count in sorted(defects.items()))
    lines = [f"cosmetic, and so no failure: {', '.join(counted)}"] if defects else []
    return lines + [
        f"{note.case} cannot be asked of an inliner alone; packages were asked: {note.of_case}"
        for note in notes
        if note.of_case
    ]


def wrong_words(wrong: Wrong) -> str:
    """``✗ save(retrace=False) ("A PyTorch fallback reads the wrong tensor")``."""
    calls = ", ".join(wrong.calls) or "the inliner alone"
    causes = [*wrong.defects, *(["no known defect"] if wrong.unknown else [])]
    if wrong.torchs_own:
        causes.append("plain torch.export fails likewise")
    return f"{SIGNS[wrong.harm]} {calls} ({', '.join(causes)})"


def _table(matrix: CaseMatrix) -> Iterator[str]:
    """As many columns beside each other as there is room for, and the others below."""
    margin = max(len(row.case) for row in matrix.rows)
    columns = list(matrix.columns)
    while columns:
        width, count = margin, 0
        while count < len(columns) and (not count or width + 2 + len(columns[count][0]) <= _WIDTH):
            width += 2 + len(columns[count][0])
            count += 1
        here, columns = columns[:count], columns[count:]
        yield "  ".join([" " * margin, *(name for name, _ in here)])
        for number, row in enumerate(matrix.rows):
            signs = (SIGNS[of[number]].center(len(name)) for name, of in here)
            yield "  ".join([row.case.ljust(margin), *signs]).rstrip()


def case_matrix(
    cases: Sequence[str],
    releases: Sequence[str],
    records: Iterable[CellRecord],
    shown: Iterable[Attributed],
    torchs_own: Collection[str] = (),
    titles: Mapping[str, str] = NO_TITLES,
    candidates: Sequence[str] = (),
) -> CaseMatrix:
    """The matrix of a run.

    Args:
        cases: in the order of the rows.
        releases: the oldest first.
        shown: the judged failures with their defects.
        torchs_own: the ids of cells that fail as plain torch.export does.
        titles: of defects, by their ids.
        candidates: the columns behind the releases.
    """
    of: dict[tuple[str, str], list[CellRecord]] = defaultdict(list)
    for record in records:
        if not record.hypothetical:
            of[record.key.case, record.key.subject].append(record)
    due: dict[str, list[Attributed]] = defaultdict(list)
    for each in shown:
        due[each.key.cell_id].append(each)
    rows = []
    for case in cases:
        wrong: dict[Wrong, list[str]] = {}
        for release in (*releases, *candidates):
            for found in _wrong(of[case, release], due, torchs_own, titles):
                wrong.setdefault(found, []).append(release)
        worst_first = sorted(wrong, key=lambda each: each.harm.severity)
        rows.append(
            CaseRow(
                case,
                tuple(_of_case(of[case, name]) for name in (*releases, *candidates)),
                tuple((each, tuple(wrong[each])) for each in worst_first),
            )
        )
    calls = {release: tuple(_calls(release, cases, of)) for release in releases}
    answered = {name: of for name, of in calls.items() if of}
    return CaseMatrix(tuple(releases), tuple(rows), answered, tuple(candidates))


def _calls(
    release: str, cases: Sequence[str], of: Mapping[tuple[str, str], list[CellRecord]]
) -> Iterator[Call]:
    """The calls of which some cell ended. What `compile` stops is not right."""
    for call, routes in USER_CALLS.items():
        harms = []
        for case in cases:
            cells = [each for each in of.get((case, release), ()) if each.key.route in routes]
            standing = _standing(cells)
            if any(each.rests_on_compile for each in cells):
                harms.append(UNSUPPORTED)
            elif standing != UNSUPPORTED:
                harms.append(standing)
        if {*harms} - {UNSUPPORTED}:
            exact = harms.count(OK)
            yield Call(call, len(harms), exact + harms.count(Harm.INTERFACE), exact)


def _of_case(records: Sequence[CellRecord]) -> str:
    """The worst of all cells of a case; an inliner alone makes nothing right that nobody calls."""
    standing = _standing(records)
    calls = [record for record in records if record.key.route.row.call]
    return UNSUPPORTED if standing == OK and calls and _standing(calls) != OK else standing


def _standing(records: Sequence[CellRecord]) -> str:
    ended = [record for record in records if record.state is CellState.ENDED]
    if not ended:
        return UNSUPPORTED
    harms = [record.harm for record in ended if not record.right and record.harm]
    return min(harms, key=lambda harm: harm.severity).value if harms else OK


def _wrong(
    records: Sequence[CellRecord],
    due: Mapping[str, Sequence[Attributed]],
    torchs_own: Collection[str],
    titles: Mapping[str, str],
) -> list[Wrong]:
    """What is wrong, a value a harm."""
    by_harm: dict[Harm, list[CellRecord]] = defaultdict(list)
    for record in records:
        if record.state is CellState.ENDED and not record.right and record.harm:
            by_harm[record.harm].append(record)
    return [_of_harm(harm, of, due, torchs_own, titles) for harm, of in by_harm.items()]


def _of_harm(
    harm: Harm,
    records: Sequence[CellRecord],
    due: Mapping[str, Sequence[Attributed]],
    torchs_own: Collection[str],
    titles: Mapping[str, str],
) -> Wrong:
    routes = {record.key.route for record in records}
    defects = [_defects_of(due[record.key.cell_id], harm, titles) for record in records]
    return Wrong(
        harm=harm,
        calls=tuple(call for call, by in USER_CALLS.items() if routes & {*by}),
        defects=tuple(sorted(set[str]().union(*defects))),
        unknown=not all(defects),
        torchs_own=all(record.key.cell_id in torchs_own for record in records),
        shown=max((record.key for record in records), key=_telling),
    )


def _defects_of(facts: Sequence[Attributed], harm: Harm, titles: Mapping[str, str]) -> set[str]:
    """The defects of a cell that do this harm: what harms less in it is not why.

    Where none is sure, those that look alike are one name, ``A or B``, as `check` tells them.
    """
    why = [fact for fact in facts if fact.fact.own_harm == harm] or facts
    sure = {(fact.defect,) for fact in why if fact.defect}
    named: set[tuple[str, ...]] = {*sure} or {fact.alike for fact in why}
    return {_OR.join(titled(name, titles) for name in names) for names in named if names}


def _telling(key: CellKey) -> tuple[bool, CellKey]:
    """A cell of a user's own call tells more than one of the inliner alone."""
    return bool(key.route.row.call), key
