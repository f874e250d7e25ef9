"""Typed pandas frames from plain records.

Order is part of the data: subjects, families, routes and oracles are ordered categoricals, so a
group-by gives releases by version and the worst oracle first, and a subject or family without a
single cell keeps its row. Hypothetical cells are in every frame, marked; `tables` leaves them out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.catalogue.releases import ordered_subjects
from harness.wire.oracles import Harm, Oracle, gates
from harness.wire.record_json import KEY, key_words
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec, Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState

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
        "harm": ordered(harm.value for harm in Harm),
    }


def _frame(
    rows: Sequence[tuple[Any, ...]],
    columns: Mapping[str, str],
    cases: Iterable[CaseInfo],
    subjects: Iterable[SubjectSpec],
) -> pd.DataFrame:
    ordered = _categories(cases, subjects)
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    told = zip(columns.items(), values, strict=True)
    return pd.DataFrame({name: _typed(of, ordered.get(name, kind)) for (name, kind), of in told})


def _typed(values: Sequence[Any], kind: Any) -> Any:
    """A column of a dtype, or of ``_WORD``; a value outside the categories becomes missing."""
    if kind == _WORD:
        kind = pd.CategoricalDtype(sorted(set(values) - {None}))
    if not isinstance(kind, pd.CategoricalDtype):
        return pd.Series(list(values), dtype=kind)
    place = {word: at for at, word in enumerate(kind.categories)}
    codes = np.fromiter(map(place.get, values, itertools.repeat(-1)), "int64", len(values))
    return pd.Categorical.from_codes(codes, dtype=kind)


def _repeated(heads: pd.DataFrame, times: Any, more: pd.DataFrame) -> pd.DataFrame:
    """Each row of ``heads`` repeated ``times`` times, beside the rows of ``more``."""
    rows = heads.take(np.repeat(np.arange(len(heads)), times))
    return pd.concat([rows.reset_index(drop=True), more.reset_index(drop=True)], axis=1)


_TEXT = "string"
_WORD = "word"
"""One of few that are repeated: a category, in alphabetical order."""
_KEY_COLUMNS = dict.fromkeys(KEY, _WORD)
_CELL_COLUMNS = {
    **_KEY_COLUMNS,
    "cell_id": _TEXT,
    "family": _WORD,
    "origin": _WORD,
    "hypothetical": "bool",
    "standing": _WORD,
    "label": _WORD,
    "oracle": _WORD,
    "harm": _WORD,
    "message": _TEXT,
    "class": _WORD,
    "measured_as": _TEXT,
    "archive_bytes": "Int64",
    "engine_bytes": "Int64",
    "carried_bytes": "Int64",
    "steps": "Int64",
}
_VERDICT_COLUMNS = {
    **_KEY_COLUMNS,
    "cell_id": _WORD,
    "family": _WORD,
    "origin": _WORD,
    "hypothetical": "bool",
    "oracle": _WORD,
    "outcome": _WORD,
    "harm": _WORD,
    "label": _WORD,
    "message": _TEXT,
    "evidence": _TEXT,
}
_OF_A_VERDICT = ("oracle", "outcome", "harm", "label", "message", "evidence")
_Told = tuple[str, str, str | None, str, str, str]
_SAMPLE_COLUMNS = {
    **_KEY_COLUMNS,
    "family": _WORD,
    "hypothetical": "bool",
    "measured_as": _TEXT,
    "steps": "Int64",
    "stage": _WORD,
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
    # Most cells repeat what another one says, so the rows of each saying are built once.
    first: dict[tuple[object, ...], int] = {}
    told: list[_Told] = []
    begins = []
    for record in records:
        case, key = by_name[record.key.case], record.key
        about = (key.cell_id, case.family, case.origin, record.hypothetical)
        heads.append((*key_words(key), *about))
        said = _saying(record)
        if said not in first:
            first[said] = len(told)
            told += _told(record)
        begins.append(first[said])
    cells, verdicts = (
        {name: kind for name, kind in _VERDICT_COLUMNS.items() if (name in _OF_A_VERDICT) is of}
        for of in (False, True)
    )
    rows = np.add.outer(np.array(begins, dtype="int64"), np.arange(len(Oracle))).ravel()
    more = _frame(told, verdicts, cases, subjects).take(rows)
    return _repeated(_frame(heads, cells, cases, subjects), len(Oracle), more)


def _told(record: CellRecord) -> Iterator[_Told]:
    """The verdict columns of each oracle for one cell."""
    unasked = record.state is CellState.UNSUPPORTED
    for oracle in Oracle:
        verdict = record.verdict(oracle)
        outcome = _outcome(verdict, record.key.route)
        message = record.reason if unasked else verdict.message
        harm = verdict.graded.value if verdict.failed else None
        yield oracle.value, outcome, harm, verdict.label, message, verdict.evidence


def _outcome(verdict: Verdict, route: Route) -> str:
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
    rows = []
    # Most cells meet a user as another one does, so what they meet is told once.
    met: dict[object, tuple[str, str, str | None, str | None, str]] = {}
    for record in records:
        case, key = case_of[record.key.case], record.key
        saying = _saying(record)
        if saying not in met:
            met[saying] = _met(record)
        about = (key.cell_id, case.family, case.origin, record.hypothetical)
        sizes = (record.archive_bytes, record.engine_bytes, record.carried_bytes, record.steps)
        told = (*met[saying], classes.get(key.cell_id), record.measured_as)
        rows.append((*key_words(key), *about, *told, *sizes))
    seen = {record.key for record in records}
    for key in plan:
        if key not in seen:
            hypothetical = key.route in subject_of[key.subject].hypothetical_routes
            rows.append(_missing_row(key, case_of[key.case], hypothetical))
    return _frame(rows, _CELL_COLUMNS, cases, subjects)


def _saying(record: CellRecord) -> tuple[object, ...]:
    """What all depends on that a cell says; equal verdicts were read as one object."""
    return record.key.route, record.state, record.reason, *map(id, record.verdicts)


def _met(record: CellRecord) -> tuple[str, str, str | None, str | None, str]:
    """The columns from ``standing`` to ``message``."""
    worst = None if record.right else record.user_failure
    label = worst.label if worst else "ok" if record.right else record.label
    if record.state is CellState.UNSUPPORTED:
        standing, message = "unsupported", record.reason
    else:
        standing, message = "ok" if record.right else "failing", worst.message if worst else ""
    oracle = worst.oracle.value if worst else None
    return standing, label, oracle, record.harm.value if record.harm else None, message


def _missing_row(key: CellKey, case: CaseInfo, hypothetical: bool) -> tuple[Any, ...]:
    known = (*key_words(key), key.cell_id, case.family, case.origin, hypothetical)
    return (*known, MISSING, MISSING, None, None, "", MISSING, "", None, None, None, None)


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
        heads.append((*key_words(record.key), family_of[record.key.case], *told))
        times.append(len(ended))
        stages += ended
        seconds += ended.values()
    cells = {
        name: kind for name, kind in _SAMPLE_COLUMNS.items() if name not in ("stage", "seconds")
    }
    more = pd.DataFrame(
        {"stage": _typed(stages, _WORD), "seconds": pd.Series(seconds, dtype=float)}
    )
    return _repeated(_frame(heads, cells, cases, subjects), times, more)
