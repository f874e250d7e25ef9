"""A run's records as one typed table: a row for each cell and oracle.

Every planned cell has at least one row: a cell without verdicts (unsupported, or missing) has a
single row without an oracle, so that no cell vanishes from a count. Plan and records can be read
back from the table, except for the evidence. A run is published in this form.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import UsageError
from harness.runs.plan import PlannedCell
from harness.wire.record_json import (
    KEY,
    READABLE,
    SCHEMA,
    key_from_json,
    key_to_json,
    verdict_from_json,
    with_later_oracles,
)
from harness.wire.records import CaseInfo, CellRecord, Verdict
from harness.wire.vocabulary import COMPILE_PARTS, CellState, Stage

MISSING = "missing"


@functools.cache
def _seconds_column(stage: str) -> str:
    return f"seconds_{stage.replace('-', '_')}"


_COLUMNS = pa.schema(
    [
        ("run_id", pa.string()),
        ("cell_id", pa.string()),
        *((name, pa.string()) for name in KEY),
        ("family", pa.string()),
        ("origin", pa.string()),
        ("hypothetical", pa.bool_()),
        ("measured_as", pa.string()),
        ("state", pa.string()),
        ("oracle", pa.string()),
        ("outcome", pa.string()),
        ("symptom", pa.string()),
        ("stage", pa.string()),
        ("message", pa.string()),
        ("label", pa.string()),
        ("harm", pa.string()),
        ("raised", pa.string()),
        *((_seconds_column(stage), pa.float64()) for stage in Stage),
        ("archive_bytes", pa.int64()),
        ("engine_bytes", pa.int64()),
        ("carried_bytes", pa.int64()),
        ("steps", pa.int64()),
        ("logged", pa.list_(pa.string())),
        ("attempts", pa.int64()),
        ("ended_at_unix_s", pa.float64()),
        ("kept_from", pa.string()),
    ],
    metadata={"schema": str(SCHEMA)},
)

_OF_A_VERDICT = ("oracle", "outcome", "symptom", "stage", "message", "label", "harm", "raised")
_SAID_COLUMNS, _HEAD_COLUMNS = (
    pa.schema([field for field in _COLUMNS if (field.name in _OF_A_VERDICT) is of])
    for of in (True, False)
)
#: Cells that are a table in memory at a time.
_AT_ONCE = 50_000

# Columns that older runs do not have.
_ADDED_LATER = (
    "carried_bytes",
    "steps",
    "harm",
    "raised",
    "logged",
    "kept_from",
    *map(_seconds_column, COMPILE_PARTS),
)


def record_table(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    cases: Sequence[CaseInfo],
    run_id: str,
) -> pa.Table:
    """The table. A cell without verdicts has its reason as ``message``; seconds are per cell.

    A stage that was not timed is null and not zero. So is a size that was not measured, and so are
    family and origin of a case that ``cases`` lacks.
    """
    known = {case.name: case for case in cases}
    heads: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    rows: list[range] = []  # of `said`, for each cell
    # Most cells repeat what another one says, so the rows of each saying are made once.
    first: dict[object, range] = {}
    for cell in plan:
        record = records.get(cell.key.cell_id)
        heads.append({"run_id": run_id, **_head(cell, record, known.get(cell.key.case))})
        saying = _saying(record)
        if saying not in first:
            told = _said(record)
            first[saying] = range(len(said), len(said) + len(told))
            said += told
        rows.append(first[saying])
    of_cells = pa.array(np.repeat(np.arange(len(rows)), [len(each) for each in rows]))
    of_said = pa.array(np.array([at for each in rows for at in each], dtype="int64"))
    parts = (
        pa.Table.from_pylist(heads, schema=_HEAD_COLUMNS).take(of_cells),
        pa.Table.from_pylist(said, schema=_SAID_COLUMNS).take(of_said),
    )
    columns = {name: part[name] for part in parts for name in part.column_names}
    return pa.Table.from_arrays([columns[name] for name in _COLUMNS.names], schema=_COLUMNS)


def parquet_bytes(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    cases: Sequence[CaseInfo],
    run_id: str,
) -> bytes:
    """`record_table` as the content of a Parquet file, a part of the cells at a time."""
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, _COLUMNS) as writer:
        for start in range(0, len(plan), _AT_ONCE):
            part = plan[start : start + _AT_ONCE]
            writer.write_table(record_table(part, records, cases, run_id))
    return buffer.getvalue()


def cases_in(path: Path) -> list[CaseInfo]:
    """The cases of a `parquet_bytes` file that `read_parquet` takes, by what a record tells."""
    columns = ["case", "family", "origin"]
    rows = pq.read_table(path, columns=columns).group_by(columns).aggregate([]).to_pylist()
    return [CaseInfo(row["case"], row["family"], row["origin"], catches="") for row in rows]


def read_parquet(path: Path) -> tuple[tuple[PlannedCell, ...], dict[str, CellRecord]]:
    """The plan and the ended cells, by ``cell_id``, of a `parquet_bytes` file."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{path}: foreign or damaged: {error}") from error
    schema = int((table.schema.metadata or {}).get(b"schema", 0))
    for name in _ADDED_LATER:
        if name not in table.column_names:
            field = _COLUMNS.field(name)
            table = table.append_column(field, pa.nulls(len(table), field.type))
    if sorted(table.column_names) == sorted(_COLUMNS.names):
        table = table.select(_COLUMNS.names)
    if not table.schema.equals(_COLUMNS) or schema not in READABLE:
        raise UsageError(
            f"{path}: not the columns that this harness writes; read it with the commit that is "
            "named in its run.json"
        )
    plan, records = [], {}
    for cell_id, rows in itertools.groupby(table.to_pylist(), lambda row: str(row["cell_id"])):
        head, *rest = rows
        planned = _planned(head)
        plan.append(planned)
        if head["state"] != MISSING:
            records[cell_id] = _record(planned, head, rest, schema)
    return tuple(plan), records


def _planned(row: Mapping[str, Any]) -> PlannedCell:
    key = key_from_json({name: row[name] for name in KEY})
    unsupported = row["message"] if row["state"] == CellState.UNSUPPORTED else ""
    return PlannedCell(key, row["hypothetical"], row["measured_as"], unsupported)


def _record(
    cell: PlannedCell, head: Mapping[str, Any], rest: Sequence[Mapping[str, Any]], schema: int
) -> CellRecord:
    seconds = {stage.value: head[_seconds_column(stage)] for stage in Stage}
    rows = [row for row in (head, *rest) if row["oracle"]]
    verdicts = tuple(
        verdict_from_json({**row, "evidence": "", "raised": row["raised"] or ""}) for row in rows
    )
    return CellRecord(
        key=cell.key,
        state=CellState(head["state"]),
        verdicts=with_later_oracles(verdicts, schema),
        reason="" if verdicts else head["message"],
        hypothetical=cell.hypothetical,
        measured_as=cell.measured_as,
        seconds={stage: value for stage, value in seconds.items() if value is not None},
        archive_bytes=head["archive_bytes"],
        engine_bytes=head["engine_bytes"],
        carried_bytes=head["carried_bytes"],
        steps=head["steps"],
        logged=tuple(head["logged"] or ()),
        attempts=head["attempts"],
        ended_at_unix_s=head["ended_at_unix_s"],
        kept_from=head["kept_from"] or "",
    )


def _head(cell: PlannedCell, record: CellRecord | None, case: CaseInfo | None) -> dict[str, Any]:
    """What is the same in each row of a cell."""
    head: dict[str, Any] = {
        "cell_id": cell.key.cell_id,
        **key_to_json(cell.key),
        "family": case.family if case else None,
        "origin": case.origin if case else None,
        "hypothetical": cell.hypothetical,
        "measured_as": cell.measured_as,
        "state": MISSING,
    }
    if record is None:
        return head
    head |= {
        "state": record.state.value,
        "archive_bytes": record.archive_bytes,
        "engine_bytes": record.engine_bytes,
        "carried_bytes": record.carried_bytes,
        "steps": record.steps,
        "logged": list(record.logged),
        "attempts": record.attempts,
        "ended_at_unix_s": record.ended_at_unix_s,
        "kept_from": record.kept_from,
    }
    return head | {_seconds_column(stage): seconds for stage, seconds in record.seconds.items()}


def _saying(record: CellRecord | None) -> object:
    """What is the same for cells of which `_said` is; equal verdicts were read as one object."""
    if record is None or record.verdicts:
        return record and tuple(map(id, record.verdicts))
    return record.label, record.reason


def _said(record: CellRecord | None) -> list[dict[str, Any]]:
    """What differs from row to row of a cell: a row a verdict, or one row without an oracle."""
    if record is None:
        return [{"outcome": MISSING, "label": MISSING, "message": ""}]
    if not record.verdicts:
        said = CellState.UNSUPPORTED.value if record.label == "unsupported" else MISSING
        return [{"outcome": said, "label": said, "message": record.reason}]
    return [_verdict_columns(verdict) for verdict in record.verdicts]


def _verdict_columns(verdict: Verdict) -> dict[str, Any]:
    return {
        "oracle": verdict.oracle.value,
        "outcome": verdict.outcome.value,
        "symptom": verdict.symptom.value if verdict.symptom else None,
        "stage": verdict.stage.value if verdict.stage else None,
        "message": verdict.message,
        "label": verdict.label,
        "harm": verdict.harm.value if verdict.harm else None,
        "raised": verdict.raised,
    }
