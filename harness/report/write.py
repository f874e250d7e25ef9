"""The only module of the report that touches files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from harness.base.files import replace_file, written_to
from harness.base.fork import forked
from harness.report.draw import plots, version_plot
from harness.report.draw.defects_plot import defects_figure
from harness.report.model import ReportModel
from harness.report.osv import osv_text
from harness.report.pages.report_page import draw, markdown, page
from harness.report.run_frames import FRAMES_FOLDER, frame_files
from harness.report.sections.defects import DEFECTS
from harness.report.sections.matrix import MATRIX
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS

SCRIPTS_FOLDER = "reproduce"
PICTURES = ("matrix.png", "version-matrix.png")
DEFECTS_PICTURE = "defects.png"


def write_report(folder: Path, model: ReportModel, *beside: Callable[[], object]) -> list[Path]:
    """Write every form of the report, each whole or not at all.

    Args:
        beside: works that take a process of their own each meanwhile.
    """
    for name in (FRAMES_FOLDER, *([SCRIPTS_FOLDER] if model.scripts else [])):
        with written_to(folder / name):
            (folder / name).mkdir(exist_ok=True)
    pictures = dict(zip(PICTURES, (_matrix, _versions), strict=True))
    if model[DEFECTS]:
        pictures[DEFECTS_PICTURE] = _defects

    def drawn(name: str) -> Callable[[], object]:
        return lambda: replace_file(folder / name, plots.png(pictures[name](model)))

    with forked(*beside, *map(drawn, pictures)):
        written = _write(folder, _page_and_data(model))
    return [*written, *(folder / name for name in pictures)]


def _write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]


def _matrix(model: ReportModel) -> Figure:
    return plots.matrix_figure(model[MATRIX], model.headline.words)


def _versions(model: ReportModel) -> Figure:
    return version_plot.version_figure(model[VERSIONS])


def _defects(model: ReportModel) -> Figure:
    known = model[DEFECTS]
    assert known is not None
    return defects_figure(known.table)


def _page_and_data(model: ReportModel) -> dict[str, bytes]:
    drawn, blocks = draw(model), model[VERSIONS]
    return {
        "report.html": page(model, drawn).encode(),
        "report.md": markdown(model).encode(),
        "latency.svg": drawn.latency.encode(),
        "version-matrix.csv": version_csv(blocks).encode(),
        "version-matrix.svg": drawn.versions.encode(),
        **(
            {"defects.json": osv_text(known.table, model.run.started).encode()}
            if (known := model[DEFECTS])
            else {}
        ),
        **{f"{FRAMES_FOLDER}/{name}": data for name, data in frame_files(model.frames).items()},
        **{
            f"{SCRIPTS_FOLDER}/{id}.py": script.text.encode()
            for id, script in model.scripts.items()
            if script.text
        },
    }
