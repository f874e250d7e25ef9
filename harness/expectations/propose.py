"""Ledger entries for what a run showed and the ledger does not know.

An entry's scope is a product, cases x subjects x routes, and it demands a failure in each cell of
it that is gated; one that does not fail so would be red in the next run. So the failures with one
message are covered by products that hold no other gated cell. What they may hold besides is what
cannot contradict them: cells that the run does not have (a built-in inliner by a route that it
lacks) and hypothetical ones.

The fewest products are found greedily: each time the one that holds the most failures which are
not covered yet, cut down to the cases, subjects and routes that it is needed for.
"""

from __future__ import annotations

import glob
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeVar

from harness.expectations.ledger import (
    NAMED_SUBJECTS,
    UNSUPPORTED,
    Entry,
    Ledger,
    origins_of,
    parsed_version,
)
from harness.expectations.ledger_file import UNEXPLAINED
from harness.expectations.scopes import Scope, scopes
from harness.rig.records import CaseInfo, CellKey, CellRecord
from harness.rig.vocabulary import CellState, Oracle, Stage

#: The coordinates that an entry may name and mostly does not.
_SETTINGS = ("capture", "lane", "builder", "environment")

_Place = tuple[str, str, str]  # case, subject, route
_Scope = tuple[list[str], list[str], list[str]]  # cases, subjects, routes

T = TypeVar("T", bound=Hashable)
V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True, order=True)
class _Failure:
    """What one entry can expect. A stage of None with ``unsupported`` only."""

    severity: int
    oracle: Oracle
    symptom: str
    stage: Stage | None
    message: str


def propose(
    records: Iterable[CellRecord], ledger: Ledger, cases: Iterable[CaseInfo]
) -> list[Entry]:
    """Entries that make the ledger cover every unlisted failure of ``records``, and no more.

    Their ``why`` says UNEXPLAINED, which the reader of a ledger refuses. Not proposed for:
    hypothetical cells, and subjects that a ledger cannot name (an exporter file). Worst first.
    """
    gated = [r for r in records if not r.hypothetical and _can_be_named(r.key.subject)]
    scope_of = scopes((record.key for record in gated), ledger, origins_of(cases))
    seen: dict[_Failure, list[CellKey]] = defaultdict(list)
    for record in gated:
        for failure in _unlisted(record, scope_of[record.key]):
            seen[failure].append(record.key)
    settings = _settings_that_vary(gated)
    taken = {entry.id for entry in ledger.entries}
    return [
        _entry(failure, scope, setting, taken)
        for failure in sorted(seen, key=_order)
        for setting, failing, others in _by_setting(seen[failure], settings, gated)
        for scope in _products(failing, others)
    ]


def _order(failure: _Failure) -> tuple[int, str, str, str]:
    stage = failure.stage.value if failure.stage else ""
    return failure.severity, failure.symptom, stage, failure.message


def _can_be_named(subject: str) -> bool:
    return subject in NAMED_SUBJECTS or parsed_version(subject) is not None


def _unlisted(record: CellRecord, scope: Scope) -> Iterator[_Failure]:
    if record.state is CellState.UNSUPPORTED:
        if not scope.permitting(record):
            oracle = Oracle.COMPLETION
            yield _Failure(len(Oracle), oracle, UNSUPPORTED, None, record.reason)
        return
    for verdict in record.failures:
        entries = scope.demanding(verdict.oracle)
        if not any(entry.expects(verdict) for entry in entries) and verdict.symptom:
            yield _Failure(
                verdict.oracle.severity,
                verdict.oracle,
                verdict.symptom.value,
                verdict.stage,
                verdict.message,
            )


def _settings_that_vary(records: Sequence[CellRecord]) -> tuple[str, ...]:
    return tuple(
        name for name in _SETTINGS if len({getattr(record.key, name) for record in records}) > 1
    )


def _by_setting(
    keys: Sequence[CellKey], names: Sequence[str], records: Sequence[CellRecord]
) -> list[tuple[dict[str, str], set[_Place], set[_Place]]]:
    """The places of ``keys``, and those of all other records, divided by the settings ``names``.

    Where no other setting contradicts the failure, it is not divided: the setting does not matter.
    """

    def setting(key: CellKey) -> tuple[str, ...]:
        return tuple(getattr(key, name) for name in names)

    failing = set(keys)
    others = [record.key for record in records if record.key not in failing]
    places, elsewhere = {_place(key) for key in keys}, {_place(key) for key in others}
    if places.isdisjoint(elsewhere):
        return [({}, places, elsewhere)]
    parts = _grouped((setting(key), _place(key)) for key in keys)
    apart = _grouped((setting(key), _place(key)) for key in others)
    return [
        (dict(zip(names, values, strict=True)), set(parts[values]), set(apart.get(values, ())))
        for values in sorted(parts)
    ]


def _place(key: CellKey) -> _Place:
    return key.case, key.subject, key.route


def _products(failing: set[_Place], others: set[_Place]) -> list[_Scope]:
    """Few (cases, subjects, routes) whose products hold all of ``failing``, none of ``others``.

    No two of them share a cell: one of two entries that do could be deleted unnoticed.
    """
    chosen = []
    left, taken = set(failing), set(others)
    while left:
        best = max(_candidates(left, taken), key=lambda scope: len(left & _cells(scope)))
        chosen.append(_spanned(left & _cells(best)))
        left -= _cells(chosen[-1])
        taken |= _cells(chosen[-1])
    return sorted(chosen)


def _candidates(failing: set[_Place], others: set[_Place]) -> list[_Scope]:
    """For each case and choice of its routes, the widest product that holds none of ``others``.

    A single route of a case always gives one that holds the case, so each failure is in one.
    """
    pairs_of = _grouped((case, (subject, route)) for case, subject, route in failing)
    shapes = {
        (tuple(sorted({s for s, route in pairs if route in routes}, key=_by_age)), routes)
        for pairs in pairs_of.values()
        for routes in _subsets({route for _, route in pairs})
    }
    return [
        ([case for case in sorted(pairs_of)
          if others.isdisjoint(product([case], subjects, routes))], list(subjects), list(routes))
        for subjects, routes in sorted(shapes)
    ]  # fmt: skip


def _subsets(routes: set[str]) -> Iterator[tuple[str, ...]]:
    ordered = sorted(routes)
    for size in range(1, len(ordered) + 1):
        yield from combinations(ordered, size)


def _cells(scope: tuple[Sequence[str], Sequence[str], Sequence[str]]) -> set[_Place]:
    return set(product(*scope))


def _spanned(cells: set[_Place]) -> _Scope:
    """The narrowest product that holds these cells."""
    cases, subjects, routes = (set(names) for names in zip(*cells, strict=True))
    return sorted(cases), sorted(subjects, key=_by_age), sorted(routes)


def _grouped(pairs: Iterable[tuple[T, V]]) -> dict[T, list[V]]:
    groups: dict[T, list[V]] = defaultdict(list)
    for group, value in pairs:
        groups[group].append(value)
    return dict(groups)


def _by_age(subject: str) -> tuple[bool, tuple[int, ...], str]:
    version = parsed_version(subject)
    return version is None, version.release if version else (), subject


def _entry(
    failure: _Failure,
    scope: _Scope,
    setting: Mapping[str, str],
    taken: set[str],
) -> Entry:
    cases, subjects, routes = scope
    stage = failure.stage.value if failure.stage else "any"
    name = _free_name(f"{failure.oracle.value}-{stage}-{cases[0]}-{routes[0]}", taken)
    taken.add(name)
    return Entry(
        id=name,
        oracle=failure.oracle,
        symptom=failure.symptom,
        stage=failure.stage,
        message=escaped_pattern(failure.message),
        cases=tuple(glob.escape(case) for case in cases),
        subjects=tuple(subjects),
        routes=tuple(routes),
        upstream="unknown",
        why=f"{UNEXPLAINED}: say what causes it",
        capture=setting.get("capture"),
        lane=setting.get("lane"),
        builder=setting.get("builder"),
        environment=setting.get("environment"),
    )


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def escaped_pattern(text: str) -> str:
    """A regular expression that matches ``text`` alone.

    Unlike `re.escape` it leaves spaces and dashes as they are, for people read the ledger.
    """
    return "".join("\\" + c if c in r"\.^$*+?{}[]|()" else c for c in text)
