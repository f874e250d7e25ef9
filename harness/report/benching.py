"""A bench's results on the disk: the table of samples, the verdicts, the page."""

from __future__ import annotations

import dataclasses
import enum
import io
import math
from pathlib import Path
from typing import Any

import pandas as pd

from harness.bench.bench import JudgedBench
from harness.bench.samples import rows
from harness.report.pages.bench_page import bench_markdown, bench_page


def write_bench(judged: JudgedBench) -> list[Path]:
    """Write every form of the results, each whole or not at all; the page comes first."""
    folder, plan, report = judged.folder, judged.plan, judged.report
    table = io.BytesIO()
    pd.DataFrame(rows(judged.samples)).to_parquet(table, index=False)
    return [
        folder.write("bench.html", bench_page(plan, report, judged.provenance)),
        folder.write("bench.md", bench_markdown(plan, report, judged.provenance)),
        folder.write("samples.parquet", table.getvalue()),
        folder.write("bench.json", {"report": _plain(report), "spent_s": judged.samples.spent_s}),
    ]


def _plain(value: Any) -> Any:
    """JSON data of a report; a number without limit is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
