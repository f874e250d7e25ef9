"""The only module of the report that touches files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from harness.base.errors import SurroundingsError
from harness.base.files import replace_file, written_to
from harness.report.draw import plots, version_plot
from harness.report.model import ReportModel
from harness.report.pages.report_page import draw, markdown, page
from harness.report.run_frames import FRAMES_FOLDER, frame_files
from harness.report.sections.matrix import MATRIX
from harness.report.sections.version_csv import version_csv
from harness.report.sections.version_matrix import VERSIONS

_work: list[Callable[[], object]] = []  # of a fork alone: to be handed over, it would be pickled


@contextmanager
def in_a_fork(work: Callable[[], object]) -> Iterator[None]:
    """Do ``work`` in a fork while the body runs; leaving the body waits for it.

    The fork shares this process's memory, and leaves its results on the disk. Only one may run at a
    time, because a process with other threads must not be forked.
    """
    with ProcessPoolExecutor(1, get_context("fork"), _work.append, (work,)) as pool:
        ended = pool.submit(_do)
        yield
    try:
        ended.result()
    except BrokenProcessPool as error:
        raise SurroundingsError(
            "a process that wrote a part of the report was killed; see whether memory is short"
        ) from error


def _do() -> None:
    _work[-1]()


SCRIPTS_FOLDER = "reproduce"
PICTURES = ("matrix.svg", "matrix.png", "version-matrix.png")


def write_report(folder: Path, model: ReportModel) -> list[Path]:
    """Write every form of the report, each whole or not at all; the page comes first."""
    for name in (FRAMES_FOLDER, *([SCRIPTS_FOLDER] if model.scripts else [])):
        with written_to(folder / name):
            (folder / name).mkdir(exist_ok=True)
    with in_a_fork(lambda: _write(folder, _pictures(model))):
        written = _write(folder, _page_and_data(model))
    return [*written, *(folder / name for name in PICTURES)]


def _write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, data in contents.items():
        replace_file(folder / name, data)
    return [folder / name for name in contents]


def _pictures(model: ReportModel) -> dict[str, bytes]:
    """The pictures that stand beside the page alone."""
    blocks = model[VERSIONS]
    matrix = plots.matrix_figure(model[MATRIX], model.headline.words)
    versions = version_plot.version_figure(blocks)
    made = (plots.svg(matrix).encode(), plots.png(matrix), plots.png(versions))
    return dict(zip(PICTURES, made, strict=True))


def _page_and_data(model: ReportModel) -> dict[str, bytes]:
    drawn, blocks = draw(model), model[VERSIONS]
    return {
        "report.html": page(model, drawn).encode(),
        "report.md": markdown(model).encode(),
        "latency.svg": drawn.latency.encode(),
        "version-matrix.csv": version_csv(blocks).encode(),
        "version-matrix.svg": drawn.versions.encode(),
        **{f"{FRAMES_FOLDER}/{name}": data for name, data in frame_files(model.frames).items()},
        **{
            f"{SCRIPTS_FOLDER}/{id}.py": script.text.encode()
            for id, script in model.scripts.items()
            if script.text
        },
    }
