"""Typed pandas frames from plain records.

Order is part of the data: subjects, families, routes and oracles are ordered categoricals, so a
group-by gives releases by version and the worst oracle first, and a subject or family without a
single cell keeps its row. Hypothetical cells are in every frame, marked; `tables` leaves them out.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.rig.records import (
    CaseInfo,
    CellKey,
    CellRecord,
    CellState,
    Oracle,
    Route,
    SubjectSpec,
    Verdict,
    gates,
)
from harness.subject_order import ordered_subjects

KEY = tuple(field.name for field in dataclasses.fields(CellKey))
"""A cell's coordinates, in the order in which the frames hold them."""

_coordinates = operator.attrgetter(*KEY)  # ten times as fast as dataclasses.astuple

STANDINGS = ("ok", "failing", "unsupported", "missing")
MISSING = "missing"
UNABLE = "unable"


def _categories(
    cases: Iterable[CaseInfo], subjects: Iterable[SubjectSpec]
) -> dict[str, pd.CategoricalDtype]:
    def ordered(values: Iterable[str]) -> pd.CategoricalDtype:
        return pd.CategoricalDtype(list(dict.fromkeys(values)), ordered=True)

    return {
        "subject": ordered(spec.subject for spec in ordered_subjects(subjects)),
        "family": ordered(case.family for case in cases),
        "route": ordered(route.value for route in Route),
        "oracle": ordered(oracle.value for oracle in Oracle),
        "standing": ordered(STANDINGS),
    }


def _frame(
    rows: Sequence[tuple[Any, ...]],
    columns: Mapping[str, str],
    cases: Iterable[CaseInfo],
    subjects: Iterable[SubjectSpec],
) -> pd.DataFrame:
    frame = pd.DataFrame.from_records(rows, columns=list(columns))
    ordered = _categories(cases, subjects)
    return frame.astype({name: ordered.get(name, kind) for name, kind in columns.items()})


_TEXT = "string"
_KEY_COLUMNS = dict.fromkeys(KEY, _TEXT)
_CELL_COLUMNS = {
    **_KEY_COLUMNS,
    "cell_id": _TEXT,
    "family": _TEXT,
    "origin": _TEXT,
    "hypothetical": "bool",
    "standing": _TEXT,
    "label": _TEXT,
    "oracle": _TEXT,
    "message": _TEXT,
    "class": _TEXT,
    "measured_as": _TEXT,
    "archive_bytes": "Int64",
    "engine_bytes": "Int64",
    "carried_bytes": "Int64",
    "steps": "Int64",
}
_VERDICT_COLUMNS = {
    **_KEY_COLUMNS,
    "cell_id": _TEXT,
    "family": _TEXT,
    "origin": _TEXT,
    "hypothetical": "bool",
    "oracle": _TEXT,
    "outcome": _TEXT,
    "label": _TEXT,
    "message": _TEXT,
    "evidence": _TEXT,
}
_SAMPLE_COLUMNS = {
    **_KEY_COLUMNS,
    "family": _TEXT,
    "hypothetical": "bool",
    "measured_as": _TEXT,
    "steps": "Int64",
    "stage": _TEXT,
    "seconds": "float64",
}


def verdict_frame(
    records: Sequence[CellRecord], cases: Sequence[CaseInfo], subjects: Sequence[SubjectSpec]
) -> pd.DataFrame:
    """One row a (cell, oracle); an oracle that was not asked says ``n/a``, and why.

    A failure that is no defect on its route (`gates`) is ``unable``, and counts nowhere.
    """
    by_name = {case.name: case for case in cases}
    rows = []
    for record in records:
        case = by_name[record.key.case]
        head = (*_coordinates(record.key), record.key.cell_id, case.family, case.origin)
        for oracle in Oracle:
            verdict = record.verdict(oracle)
            unasked = record.state is CellState.UNSUPPORTED
            rows.append(
                (
                    *head,
                    record.hypothetical,
                    oracle.value,
                    _outcome(verdict, record.key.route),
                    verdict.label,
                    record.reason if unasked else verdict.message,
                    verdict.evidence,
                )
            )
    return _frame(rows, _VERDICT_COLUMNS, cases, subjects)


def _outcome(verdict: Verdict, route: str) -> str:
    if verdict.failed and not gates(verdict.oracle, route):
        return UNABLE
    return verdict.outcome.value


def cell_frame(
    records: Sequence[CellRecord],
    cases: Sequence[CaseInfo],
    subjects: Sequence[SubjectSpec],
    classes: Mapping[str, str],
    plan: Sequence[CellKey] = (),
) -> pd.DataFrame:
    """One row a cell: its coordinates, the verdict that a user meets, its class, its sizes.

    A planned cell without a record has a row too, labelled ``missing``: a row that vanishes would
    read as a pass.
    """
    case_of = {case.name: case for case in cases}
    subject_of = {spec.subject: spec for spec in subjects}
    rows = [
        _cell_row(record, case_of[record.key.case], classes.get(record.key.cell_id))
        for record in records
    ]
    seen = {record.key for record in records}
    for key in plan:
        if key not in seen:
            hypothetical = key.route in subject_of[key.subject].hypothetical_routes
            rows.append(_missing_row(key, case_of[key.case], hypothetical))
    return _frame(rows, _CELL_COLUMNS, cases, subjects)


def _cell_row(record: CellRecord, case: CaseInfo, given_class: str | None) -> tuple[Any, ...]:
    worst = record.met
    label = worst.label if worst else record.label
    if record.state is CellState.UNSUPPORTED:
        standing, message = "unsupported", record.reason
    else:
        standing, message = ("failing", worst.message) if worst else ("ok", "")
    return (
        *_coordinates(record.key),
        record.key.cell_id,
        case.family,
        case.origin,
        record.hypothetical,
        standing,
        label,
        worst.oracle.value if worst else None,
        message,
        given_class,
        record.measured_as,
        record.archive_bytes,
        record.engine_bytes,
        record.carried_bytes,
        record.steps,
    )


def _missing_row(key: CellKey, case: CaseInfo, hypothetical: bool) -> tuple[Any, ...]:
    known = (*_coordinates(key), key.cell_id, case.family, case.origin, hypothetical)
    return (*known, MISSING, MISSING, None, "", MISSING, "", None, None, None, None)


def sample_frame(
    records: Sequence[CellRecord], cases: Sequence[CaseInfo], subjects: Sequence[SubjectSpec]
) -> pd.DataFrame:
    """Long form: one row a (cell, stage) that was timed to its end.

    The stage at which a cell broke is left out: the time until an exception is no latency.
    """
    family_of = {case.name: case.family for case in cases}
    rows = []
    for record in records:
        broke = record.verdict(Oracle.COMPLETION)
        family = family_of[record.key.case]
        told = (record.hypothetical, record.measured_as, record.steps)
        head = (*_coordinates(record.key), family, *told)
        for stage, seconds in record.seconds.items():
            if not (broke.failed and broke.stage == stage):
                rows.append((*head, str(stage), seconds))
    return _frame(rows, _SAMPLE_COLUMNS, cases, subjects)
