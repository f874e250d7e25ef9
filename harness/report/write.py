"""The only module of the report that touches files."""

from __future__ import annotations

from pathlib import Path

from harness.atomic import replace_file, written_to
from harness.report import plots, version_plot
from harness.report.markdown import markdown
from harness.report.model import ReportModel
from harness.report.page import draw, page
from harness.report.run_frames import FRAMES_FOLDER, frame_files
from harness.report.version_csv import version_csv

SCRIPTS_FOLDER = "reproduce"


def write_report(folder: Path, model: ReportModel) -> list[Path]:
    """Write every form of the report, each whole or not at all; the page comes first.

    Raises:
        SurroundingsError: the folder cannot be written.
    """
    matrix = plots.matrix_figure(model.matrix, model.headline.words)
    versions = version_plot.version_figure(model.versions)
    drawn = draw(model)
    contents = {
        "report.html": page(model, drawn).encode(),
        "report.md": markdown(model).encode(),
        "matrix.svg": plots.svg(matrix).encode(),
        "matrix.png": plots.png(matrix),
        "latency.svg": drawn.latency.encode(),
        "steps.svg": drawn.steps.encode(),
        "version-matrix.csv": version_csv(model.versions).encode(),
        "version-matrix.svg": drawn.versions.encode(),
        "version-matrix.png": plots.png(versions),
        **{f"{FRAMES_FOLDER}/{name}": data for name, data in frame_files(model.frames).items()},
    }
    contents |= {
        f"{SCRIPTS_FOLDER}/{id}.py": script.text.encode()
        for id, script in model.scripts.items()
        if script.text
    }
    for name in (FRAMES_FOLDER, *([SCRIPTS_FOLDER] if model.scripts else [])):
        with written_to(folder / name):
            (folder / name).mkdir(exist_ok=True)
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]
