"""Ledger entries for what a run showed and the ledger does not know.

An entry's scope is a product, cases x subjects x routes, and it demands a failure in each cell of
it; a scope that is wider than what was seen would be red in the next run. So failures with one
message are divided into products that hold exactly the failing cells: cases with the same set of
(subject, route) go together, and such a set is divided into routes with the same subjects.
"""

from __future__ import annotations

import glob
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from harness.rig.records import CaseInfo, CellKey, CellRecord, CellState, Oracle, Stage

#: The coordinates that an entry may name and mostly does not.
_SETTINGS = ("capture", "lane", "builder", "environment")

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
    origins = origins_of(cases)
    seen: dict[_Failure, list[CellKey]] = defaultdict(list)
    for record in gated:
        for failure in _unlisted(record, ledger, origins.get(record.key.case)):
            seen[failure].append(record.key)
    settings = _settings_that_vary(gated)
    taken = {entry.id for entry in ledger.entries}
    return [
        _entry(failure, scope, setting, taken)
        for failure in sorted(seen, key=_order)
        for setting, keys in _by_setting(seen[failure], settings, gated)
        for scope in _products(keys)
    ]


def _order(failure: _Failure) -> tuple[int, str, str, str]:
    stage = failure.stage.value if failure.stage else ""
    return failure.severity, failure.symptom, stage, failure.message


def _can_be_named(subject: str) -> bool:
    return subject in NAMED_SUBJECTS or parsed_version(subject) is not None


def _unlisted(record: CellRecord, ledger: Ledger, origin: str | None) -> Iterator[_Failure]:
    if record.state is CellState.UNSUPPORTED:
        if not ledger.permitting(record, origin):
            oracle = Oracle.COMPLETION
            yield _Failure(len(Oracle), oracle, UNSUPPORTED, None, record.reason)
        return
    for verdict in record.failures:
        entries = ledger.demanding(record.key, verdict.oracle, origin)
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
) -> list[tuple[dict[str, str], list[CellKey]]]:
    """Divide ``keys`` by those settings of which the run has several.

    Where the failure is the same in all of them, it is not divided: the setting does not matter.
    """

    def setting(key: CellKey) -> tuple[str, ...]:
        return tuple(getattr(key, name) for name in names)

    parts = _grouped((setting(key), key) for key in keys)
    scopes = {
        frozenset((key.case, key.subject, key.route) for key in part) for part in parts.values()
    }
    if len(scopes) == 1 and set(parts) == {setting(record.key) for record in records}:
        return [({}, list(keys))]
    return [(dict(zip(names, values, strict=True)), parts[values]) for values in sorted(parts)]


def _products(keys: Iterable[CellKey]) -> list[tuple[list[str], list[str], list[str]]]:
    """Disjoint (cases, subjects, routes) whose products together are exactly the keys' cells."""
    by_case = _grouped((key.case, (key.subject, key.route)) for key in keys)
    cases_of = _grouped((frozenset(pairs), case) for case, pairs in by_case.items())
    products = []
    for pairs, cases in cases_of.items():
        by_route = _grouped((route, subject) for subject, route in pairs)
        routes_of = _grouped((frozenset(subjects), route) for route, subjects in by_route.items())
        for subjects, routes in routes_of.items():
            products.append((sorted(set(cases)), sorted(subjects, key=_by_age), sorted(routes)))
    return sorted(products)


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
    scope: tuple[list[str], list[str], list[str]],
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
