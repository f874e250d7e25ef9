"""What is wrong with a ledger itself, whatever the subjects do.

The ledger is exact: each entry is needed, and each is put to the test. Two kinds of fault would
break that. An entry that expects what another one expects already could be deleted unnoticed. An
entry, or a part of one, in whose scope no cell is ever judged could be added unnoticed: it names
what does not exist, or only what no user call reaches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Final

from harness.environments import matched_name
from harness.expectations.ledger import Entry, Ledger, origins_of, selects_case, selects_subject
from harness.expectations.scopes import Scope
from harness.plan import CAPTURES, PlannedCell, make_plan
from harness.rig.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.rig.vocabulary import PINNED, CellState, Oracle, gates

SETTINGS: Final = ("lane", "builder")


@dataclass(frozen=True)
class LedgerFault:
    """What is wrong with these entries, and what to do, in one sentence."""

    entry_ids: tuple[str, ...]
    reason: str


def idle_selectors(
    ledger: Ledger, cases: Sequence[CaseInfo], subjects: Sequence[SubjectSpec]
) -> tuple[LedgerFault, ...]:
    """A fault for each part of an entry that selects no cell that is ever judged.

    Args:
        cases: the whole corpus, not a run's part of it.
        subjects: every release of the catalogue, and every named subject.
    """
    judged = [cell for cell in make_plan(cases, subjects, CAPTURES) if not cell.hypothetical]
    matched = {matched_name(spec.torch_pinned) for spec in subjects if spec.torch_pinned}
    captures: dict[str, set[str]] = defaultdict(set)
    for cell in judged:
        captures[cell.key.case].add(cell.key.capture)
    scope = _Scope(
        origins=origins_of(cases),
        captures=captures,
        subjects=[spec.subject for spec in subjects],
        pairs={(cell.key.subject, cell.key.route) for cell in judged},
        settings={
            **{name: {getattr(cell.key, name) for cell in judged} for name in SETTINGS},
            "environment": {PINNED, *matched},
        },
    )
    return tuple(
        LedgerFault((entry.id,), f'entry "{entry.id}": {what}; remove it, or correct it')
        for entry in ledger.entries
        for what in _idle(entry, scope)
    )


@dataclass(frozen=True)
class _Scope:
    """All that is ever judged: every case in its captures, by each pair of subject and route."""

    origins: Mapping[str, str]
    captures: Mapping[str, Collection[str]]
    subjects: Sequence[str]
    pairs: Collection[tuple[str, str]]
    settings: Mapping[str, Collection[str]]


def _idle(entry: Entry, scope: _Scope) -> Iterator[str]:
    for selector in entry.cases:
        chosen = [name for name in scope.origins if selects_case(selector, name)]
        if not chosen:
            yield f"cases: {selector!r} names no case of the corpus"
        elif entry.origin not in (None, *(scope.origins[name] for name in chosen)):
            yield f"cases: {selector!r} names no case of origin {entry.origin!r}"
        elif entry.capture not in (
            None,
            *(mode for name in chosen for mode in scope.captures[name]),
        ):
            yield f"cases: {selector!r} is never captured as {entry.capture!r}"
    pairs = {
        (selector, route)
        for selector in entry.subjects
        for subject, route in scope.pairs
        if route in entry.routes
        and gates(entry.oracle, route)
        and selects_subject(selector, subject)
    }
    asked = f"judged of {entry.oracle.value}"
    for selector in entry.subjects:
        if not any(selects_subject(selector, subject) for subject in scope.subjects):
            yield f"subjects: {selector!r} names no known subject"
        elif not any(selector == judged for judged, _ in pairs):
            routes = " or ".join(entry.routes)
            yield f"subjects: {selector!r} is never {asked} by {routes}"
    for route in entry.routes:
        if pairs and not any(route == judged for _, judged in pairs):
            yield f"routes: none of its subjects is ever {asked} by {route!r}"
    for name, known in scope.settings.items():
        for pattern in (getattr(entry, name) or "*").split(","):
            if not any(fnmatchcase(each, pattern) for each in known):
                yield f"{name}: no cell has {pattern!r}; there are {', '.join(sorted(known))}"


def overlaps(
    plan: Iterable[PlannedCell],
    records: Mapping[str, CellRecord],
    scope_of: Mapping[CellKey, Scope],
) -> tuple[LedgerFault, ...]:
    """A fault for each two entries that list one oracle of one cell.

    Args:
        plan: the cells that the ledger judges; one without a record says nothing.
        records: the ended cells by ``cell_id``.
        scope_of: the entries that cover each cell.
    """
    alike: dict[tuple[Scope, str, CellState, str], list[CellRecord]] = defaultdict(list)
    for cell in plan:
        record = records.get(cell.key.cell_id)
        if record is not None:
            what = (scope_of[cell.key], cell.key.route, record.state, record.reason)
            alike[what].append(record)
    held: dict[Entry, int] = defaultdict(int)
    shared: dict[tuple[Entry, Entry], list[tuple[CellRecord, Oracle]]] = defaultdict(list)
    for (scope, *_), cells in alike.items():
        for oracle, entries in _speaking(cells[0], scope):
            for entry in entries:
                held[entry] += len(cells)
            for pair in combinations(entries, 2):
                shared[pair] += [(record, oracle) for record in cells]
    return tuple(_overlap(pair, shared[pair], held) for pair in shared)


def _speaking(record: CellRecord, scope: Scope) -> Iterator[tuple[Oracle, tuple[Entry, ...]]]:
    """The entries that the gate asks about this cell, oracle by oracle."""
    if record.state is CellState.UNSUPPORTED:
        yield Oracle.COMPLETION, scope.permitting(record)
        return
    for oracle in Oracle:
        if gates(oracle, record.key.route):
            yield oracle, scope.demanding(oracle)


def _overlap(
    pair: tuple[Entry, Entry], both: Sequence[tuple[CellRecord, Oracle]], held: Mapping[Entry, int]
) -> LedgerFault:
    one, other = pair
    record, oracle = both[0]
    refuted = [entry for entry in pair if not any(_says(entry, *where) for where in both)]
    # What is seen speaks against one of them, or else against neither or both: then the smaller.
    weak = refuted[0] if len(refuted) == 1 else min((other, one), key=lambda entry: held[entry])
    strong = one if weak is other else other
    if held[weak] == len(both):
        advice = f'delete "{weak.id}", all of whose cells here are those of "{strong.id}"'
    else:
        advice = f'narrow "{weak.id}" to cells that "{strong.id}" does not name'
    cells = f"{len(both)} cell{'s' if len(both) > 1 else ''}"
    return LedgerFault(
        (one.id, other.id),
        f'entries "{one.id}" and "{other.id}" both list {oracle.value} of {cells}, such as '
        f"{_cell(record.key)}: {advice}",
    )


def _says(entry: Entry, record: CellRecord, oracle: Oracle) -> bool:
    return entry.permits(record) or entry.expects(record.verdict(oracle))


def _cell(key: CellKey) -> str:
    return f"{key.case} [{key.subject} {key.route}]"
