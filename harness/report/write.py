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
PAGES = ("report.html", "report.md", "latency.svg", "version-matrix.csv", "version-matrix.svg")
DEFECTS_DATA = "defects.json"
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

    def page_and_data() -> None:
        _write(folder, _page_and_data(model))

    # What Arrow writes is written here: a fork has none of the threads that Arrow counts on.
    with forked(page_and_data, *beside, *map(drawn, pictures)):
        frames = _write(folder, _frames(model))
    pages = [folder / name for name in _names(model)]
    return [*pages, *frames, *(folder / name for name in pictures)]


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


def _frames(model: ReportModel) -> dict[str, bytes]:
    files = frame_files(model.frames)
    return {f"{FRAMES_FOLDER}/{name}": data for name, data in files.items()}


def _names(model: ReportModel) -> list[str]:
    """What `_page_and_data` makes."""
    scripts = [f"{SCRIPTS_FOLDER}/{id}.py" for id, each in model.scripts.items() if each.text]
    return [*PAGES, *([DEFECTS_DATA] if model[DEFECTS] else []), *scripts]


def _page_and_data(model: ReportModel) -> dict[str, bytes]:
    drawn, blocks, known = draw(model), model[VERSIONS], model[DEFECTS]
    texts = [
        page(model, drawn),
        markdown(model),
        drawn.latency,
        version_csv(blocks),
        drawn.versions,
        *([osv_text(known.table, model.run.started)] if known else []),
        *(script.text for script in model.scripts.values() if script.text),
    ]
    return {name: text.encode() for name, text in zip(_names(model), texts, strict=True)}
