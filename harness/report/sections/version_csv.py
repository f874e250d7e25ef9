"""The version matrix as one CSV table: a row for each (release, torch, TensorRT, lane)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import fields

from harness.report import text
from harness.report.frames.tables import Quartiles
from harness.report.sections.version_matrix import Measures, VersionBlock, VersionRow

Value = str | int | float | None

_BYTES = ("archive", "bare")


def version_csv(blocks: Sequence[VersionBlock]) -> str:
    """The text of version-matrix.csv; what was not measured is left empty.

    A family that a lane does not have is empty in its rows.
    """
    families = sorted({family for block in blocks for family in block.families})
    rows = [
        {**_told(block, row), **_by_family(row, families), **dict(_measured(row.measures))}
        for block in blocks
        for row in block.rows
    ]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, rows[0] if rows else ["release"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _told(block: VersionBlock, row: VersionRow) -> dict[str, Value]:
    whole, step = row.whole, row.step
    return {
        "release": row.release,
        "torch": row.torch,
        "torch_pinned": row.torch_pinned,
        "tensorrt": row.engines,
        "lane": block.lane.value,
        "executor": block.executor,
        "builder": row.builder,
        "environment": row.environment,
        "environment_bytes": row.environment_bytes,
        "inliner": row.inliner,
        "same_inliner": " ".join(row.shares),
        "against": step.against if step else None,
        "changed": step.changed if step else None,
        "compared": step.compared if step else None,
        "fixed": step.fixed if step else None,
        "worse": step.worse if step else None,
        "broken": step.broken if step else None,
        "ok": whole.ok,
        "asked": whole.ok + whole.failing,
        "silent": row.harms.silent,
        "announced": row.harms.announced,
        "error": row.harms.error,
        "lesser": row.harms.interface,
        "not_asked": whole.unsupported + whole.missing,
        "worst": whole.worst,
        "measured_by": block.measured_by,
    }


def _by_family(row: VersionRow, families: Sequence[str]) -> dict[str, Value]:
    cells = {cell.family: text.cell_right(cell) for cell in row.families}
    return {f"family {family}": cells.get(family) for family in families}


def _measured(measures: Measures) -> Iterator[tuple[str, Value]]:
    for each in fields(Measures):
        found: Quartiles | None = getattr(measures, each.name)
        for what in fields(Quartiles):
            unit = "" if what.name == "n" else "_bytes" if each.name in _BYTES else "_s"
            yield f"{each.name}_{what.name}{unit}", getattr(found, what.name) if found else None
