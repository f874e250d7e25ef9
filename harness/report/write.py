"""The only module of the report that touches files."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from pathlib import Path

from harness.report import plots
from harness.report.markdown import markdown
from harness.report.model import ReportModel
from harness.report.page import page
from harness.report.views import Matrix

CSV_COLUMNS = (
    "subject", "kind", "environment", "inliner", "family", "ok", "failing", "unsupported",
    "missing", "total", "unexpected", "worst",
)  # fmt: skip


def write_report(folder: Path, model: ReportModel) -> list[Path]:
    """Write every form of the report; returns the files in the order in which one reads them."""
    matrix = plots.matrix_figure(model.matrix, model.headline.words)
    latency = plots.latency_figure(model.measures, model.emulated)
    contents = {
        "report.html": page(model).encode(),
        "report.md": markdown(model).encode(),
        "matrix.svg": plots.svg(matrix).encode(),
        "matrix.png": plots.png(matrix),
        "latency.svg": plots.svg(latency).encode(),
        "matrix.csv": matrix_csv(model.matrix).encode(),
    }
    return [write_atomically(folder / name, data) for name, data in contents.items()]


def matrix_csv(matrix: Matrix) -> str:
    """The matrix in long form: a line a (subject, family)."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in matrix.rows:
        shared = {name: getattr(row, name) for name in CSV_COLUMNS[:4]}
        for cell in row.cells:
            counts = {name: getattr(cell, name) for name in CSV_COLUMNS[4:]}
            writer.writerow({**shared, **counts})
    return buffer.getvalue()


def write_atomically(path: Path, data: bytes) -> Path:
    """A reader sees the old file or the new one, never half of one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)  # mkstemp gives 0600, and a report is for others
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path
