"""The only module of the report that touches files."""

from __future__ import annotations

from pathlib import Path

from harness.atomic import replace_file, written_to
from harness.report import plots, step_plot
from harness.report.markdown import markdown
from harness.report.model import ReportModel
from harness.report.page import page
from harness.report.run_frames import FRAMES_FOLDER, frame_files


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
        "steps.svg": plots.svg(step_plot.step_figure(model.over_steps, model.emulated)).encode(),
        **{f"{FRAMES_FOLDER}/{name}": data for name, data in frame_files(model.frames).items()},
    }
    frames = folder / FRAMES_FOLDER
    with written_to(frames):
        frames.mkdir(exist_ok=True)
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]
