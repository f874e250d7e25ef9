"""The only module of the report that touches files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from harness.atomic import replace_file
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
    """Write every form of the report, each whole or not at all; the page comes first.

    Raises:
        SurroundingsError: the folder cannot be written.
    """
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
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]


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
