"""A run's records as one typed table: a row for each cell and oracle.

Every planned cell has at least one row: one without verdicts (unsupported, or missing) has a
single row without an oracle, so that no cell vanishes from a count.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.plan import PlannedCell
from harness.rig.records import SCHEMA, CaseInfo, CellKey, CellRecord, CellState, Stage, Verdict

MISSING = "missing"

_COLUMNS = pa.schema(
    [
        ("run_id", pa.string()),
        ("cell_id", pa.string()),
        *((field.name, pa.string()) for field in dataclasses.fields(CellKey)),
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
        *((f"seconds_{stage.value.replace('-', '_')}", pa.float64()) for stage in Stage),
        ("archive_bytes", pa.int64()),
        ("engine_bytes", pa.int64()),
        ("attempts", pa.int64()),
        ("ended_at_unix_s", pa.float64()),
    ],
    metadata={"schema": str(SCHEMA)},
)


def record_table(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    cases: Sequence[CaseInfo],
    run_id: str,
) -> pa.Table:
    """The table. ``message`` of a cell without verdicts is the reason; seconds are a cell's own.

    A stage that was not timed is null, which is not zero; so are a size that was not measured, and
    family and origin of a case that ``cases`` lacks.
    """
    known = {case.name: case for case in cases}
    rows = [
        {"run_id": run_id, **row}
        for cell in plan
        for row in _rows(cell, records.get(cell.key.cell_id), known.get(cell.key.case))
    ]
    return pa.Table.from_pylist(rows, schema=_COLUMNS)


def parquet_bytes(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    cases: Sequence[CaseInfo],
    run_id: str,
) -> bytes:
    """`record_table` as the content of a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(record_table(plan, records, cases, run_id), buffer)
    return buffer.getvalue()


def _rows(
    cell: PlannedCell, record: CellRecord | None, case: CaseInfo | None
) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {
        "cell_id": cell.key.cell_id,
        **dataclasses.asdict(cell.key),
        "family": case.family if case else None,
        "origin": case.origin if case else None,
        "hypothetical": cell.hypothetical,
        "measured_as": cell.measured_as,
    }
    if record is None:
        yield {**head, "state": MISSING, "outcome": MISSING, "label": MISSING, "message": ""}
        return
    head |= {
        "state": record.state.value,
        "archive_bytes": record.archive_bytes,
        "engine_bytes": record.engine_bytes,
        "attempts": record.attempts,
        "ended_at_unix_s": record.ended_at_unix_s,
    }
    head |= {f"seconds_{stage.replace('-', '_')}": s for stage, s in record.seconds.items()}
    if not record.verdicts:
        said = CellState.UNSUPPORTED.value if record.label == "unsupported" else MISSING
        yield {**head, "outcome": said, "label": said, "message": record.reason}
    for verdict in record.verdicts:
        yield {**head, **_verdict_columns(verdict)}


def _verdict_columns(verdict: Verdict) -> dict[str, Any]:
    return {
        "oracle": verdict.oracle.value,
        "outcome": verdict.outcome.value,
        "symptom": verdict.symptom.value if verdict.symptom else None,
        "stage": verdict.stage.value if verdict.stage else None,
        "message": verdict.message,
        "label": verdict.label,
    }
