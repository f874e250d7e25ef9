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

import numpy as np
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
    return _typed(frame, columns, cases, subjects)


def _typed(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    cases: Iterable[CaseInfo],
    subjects: Iterable[SubjectSpec],
) -> pd.DataFrame:
    ordered = _categories(cases, subjects)
    return frame.astype({name: ordered.get(name, kind) for name, kind in columns.items()})


def _repeated(heads: pd.DataFrame, times: Sequence[int], more: pd.DataFrame) -> pd.DataFrame:
    """Each row of ``heads`` so many times, beside the rows of ``more``.

    So a cell's coordinates get their types once, and not for each of its verdicts.
    """
    rows = heads.take(np.repeat(np.arange(len(heads)), times)).reset_index(drop=True)
    return pd.concat([rows, more], axis=1)


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
_OF_A_VERDICT = ("oracle", "outcome", "label", "message", "evidence")
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
    heads = []
    told: list[tuple[str, str, str, str, str]] = []
    for record in records:
        case, key = by_name[record.key.case], record.key
        about = (key.cell_id, case.family, case.origin, record.hypothetical)
        heads.append((*_coordinates(key), *about))
        unasked = record.state is CellState.UNSUPPORTED
        for oracle in Oracle:
            verdict = record.verdict(oracle)
            outcome = _outcome(verdict, key.route)
            message = record.reason if unasked else verdict.message
            told.append((oracle.value, outcome, verdict.label, message, verdict.evidence))
    cells = {name: kind for name, kind in _VERDICT_COLUMNS.items() if name not in _OF_A_VERDICT}
    more = pd.DataFrame.from_records(told, columns=list(_OF_A_VERDICT))
    frame = _repeated(_frame(heads, cells, cases, subjects), [len(Oracle)] * len(heads), more)
    return _typed(frame, _VERDICT_COLUMNS, cases, subjects)


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
    heads, times = [], []
    stages: list[str] = []
    seconds: list[float] = []
    for record in records:
        broke = record.verdict(Oracle.COMPLETION)
        ended = {
            str(stage): taken
            for stage, taken in record.seconds.items()
            if not (broke.failed and broke.stage == stage)
        }
        told = (record.hypothetical, record.measured_as, record.steps)
        heads.append((*_coordinates(record.key), family_of[record.key.case], *told))
        times.append(len(ended))
        stages += ended
        seconds += ended.values()
    cells = {
        name: kind for name, kind in _SAMPLE_COLUMNS.items() if name not in ("stage", "seconds")
    }
    more = pd.DataFrame({"stage": stages, "seconds": seconds})
    frame = _repeated(_frame(heads, cells, cases, subjects), times, more)
    return _typed(frame, _SAMPLE_COLUMNS, cases, subjects)
