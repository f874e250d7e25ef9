"""The only module of the report that touches files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from harness.base.files import replace_file, written_to
from harness.base.fork import forked
from harness.report.draw import plots, version_plot
from harness.report.draw.defects_plot import defects_figure
from harness.report.model import ReportModel
from harness.report.osv import osv_text
from harness.report.pages.report_page import Drawn, draw, markdown, page
from harness.report.run_frames import FRAMES_FOLDER, RunFrames, frame_files
from harness.report.sections.defects import DEFECTS
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS

SCRIPTS_FOLDER = "reproduce"


def write_report(
    folder: Path, model: ReportModel, *beside: Callable[[], object], in_turn: bool = False
) -> list[Path]:
    """Write every form of the report, each whole or not at all.

    Args:
        beside: works that take a process of their own each meanwhile.
        in_turn: do these works here, and write the frames, before there are forks, and not while
            they hold their memory.
    """
    for name in (FRAMES_FOLDER, *([SCRIPTS_FOLDER] if model.scripts else [])):
        with written_to(folder / name):
            (folder / name).mkdir(exist_ok=True)
    pictures = {"version-matrix.png": _versions}
    if model[DEFECTS]:
        pictures["defects.png"] = _defects

    def drawn(name: str) -> Callable[[], object]:
        return lambda: replace_file(folder / name, plots.png(pictures[name](model)))

    texts = _texts(model)
    # Made once, before the forks: each would make what it shows, and copy what that is made of.
    frames, _ = model.frames, (model.sections, model.headline, model.scope, model.safest)

    def page_and_data() -> None:
        drawn = draw(model)
        _write(folder, {name: text(drawn).encode() for name, text in texts.items()})

    # What Arrow writes is written here: a fork has none of the threads that Arrow counts on.
    tables: list[Path] = []
    if in_turn:
        for work in beside:
            work()
        beside, tables = (), _write(folder, _frames(frames))
    with forked(page_and_data, *beside, *map(drawn, pictures)):
        tables = tables or _write(folder, _frames(frames))
    return [*(folder / name for name in texts), *tables, *(folder / name for name in pictures)]


def _write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]


def _versions(model: ReportModel) -> Figure:
    return version_plot.version_figure(model[VERSIONS])


def _defects(model: ReportModel) -> Figure:
    known = model[DEFECTS]
    assert known is not None
    return defects_figure(known.table)


def _frames(frames: RunFrames) -> dict[str, bytes]:
    files = frame_files(frames)
    return {f"{FRAMES_FOLDER}/{name}": data for name, data in files.items()}


def _texts(model: ReportModel) -> dict[str, Callable[[Drawn], str]]:
    """How each text of the report is made of what is drawn, by the name of its file."""
    texts: dict[str, Callable[[Drawn], str]] = {
        "report.html": lambda drawn: page(model, drawn),
        "report.md": lambda _: markdown(model),
        "latency.svg": lambda drawn: drawn.latency,
        "version-matrix.csv": lambda _: version_csv(model[VERSIONS]),
        "version-matrix.svg": lambda drawn: drawn.versions,
    }
    if known := model[DEFECTS]:
        texts["defects.json"] = lambda _: osv_text(known.table, model.run.started)
    for name, script in model.scripts.items():
        if script.text:
            texts[f"{SCRIPTS_FOLDER}/{name}.py"] = partial(_as_it_is, script.text)
    return texts


def _as_it_is(text: str, _: Drawn) -> str:
    return text
