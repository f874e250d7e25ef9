"""A run ten times as large as a full one is reported in bounded time, memory and pictures."""

import contextlib
import dataclasses
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from harness.report import run_frames
from harness.report.draw import plots, version_plot
from harness.report.frames import limits
from harness.report.frames.limits import MOST_ROWS, most_of_each
from harness.report.pages.report_page import COMMENT_LIMIT, markdown, page
from harness.report.run_frames import RunFrames, frame_files, read_frames
from harness.report.sections import package_lane
from harness.report.sections.latency import LATENCY
from harness.report.sections.version_matrix import VERSIONS
from harness.toolchain.environment import PROJECT_ROOT
from tests.report.large_run import CELLS, newest_published, write_large_run

MOST_BYTES = 1_500_000_000  # 2 GB are asked for; the newest published run takes 1.35
MOST_S = 120.0  # 20 s are asked for, of a machine that has nothing else to do
MOST_OF_A_PAGE = 5_000_000


def report(run: Path) -> int:
    """Write a run's report; returns the most bytes that its processes held at once."""
    command = [sys.executable, "-m", "harness", "report", str(run), "--no-pictures", "--no-scripts"]
    most = 0
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, held(process.pid))
            time.sleep(0.1)
    assert process.returncode == 0
    return most


def held(pid: int) -> int:
    """Resident bytes of a process and its children; what some of them share counts once."""
    found = 0
    with contextlib.suppress(psutil.NoSuchProcess):  # one that ended meanwhile holds nothing
        one = psutil.Process(pid)
        for each in (one, *one.children(recursive=True)):
            found += each.memory_full_info().pss
    return found


@pytest.mark.slow
def test_a_hundred_thousand_cells_are_reported_in_bounded_time_and_memory(tmp_path):
    assert write_large_run(tmp_path / "large", newest_published()) >= CELLS
    begun = time.perf_counter()
    peak = report(tmp_path / "large")
    assert time.perf_counter() - begun < MOST_S
    assert 0 < peak < MOST_BYTES
    assert (tmp_path / "large" / "report.html").stat().st_size < MOST_OF_A_PAGE
    assert len((tmp_path / "large" / "report.md").read_text()) <= COMMENT_LIMIT


@pytest.mark.slow
def test_the_page_of_a_large_run_fits_a_mail_and_tells_what_it_leaves_out(tmp_path):
    run = tmp_path / "large"
    write_large_run(run, newest_published(), 30_000)
    report(run)
    html = (run / "report.html").read_text()
    assert len(html.encode()) < MOST_OF_A_PAGE
    frames = read_frames(run)
    rows = frames.matrix["subject"].nunique()
    assert rows > MOST_ROWS
    assert f"{rows - MOST_ROWS} older rows are not on this page" in html
    files = set(re.findall(r"<code>([^<]+\.csv)</code>", html))
    assert files >= {"frames/matrix.csv", "version-matrix.csv"}
    assert all((run / name).is_file() for name in files)


@pytest.mark.slow
def test_a_large_run_is_the_published_one_over_and_over(tmp_path):
    count = write_large_run(tmp_path / "large", newest_published(), 10_000)
    lines = (tmp_path / "large" / "plan.jsonl").read_text().splitlines()
    assert count == len(lines) == len(set(lines)) >= 10_000


def test_a_page_holds_the_newest_rows_and_counts_what_it_leaves_out(run, monkeypatch):
    whole = page(run.model())
    assert "not on this page" not in whole
    for module in (limits, package_lane):
        monkeypatch.setattr(module, "MOST_ROWS", 4)
    built = run.model()
    cut = page(built)
    assert "2 older rows are not on this page" in cut
    monkeypatch.setattr("harness.report.pages.report_page._LENGTHS", ((60, 4),))
    assert "2 older rows in `report.html`" in markdown(built)


def test_fewer_of_each_list_are_shown_where_there_are_many():
    assert most_of_each([5, 1000], 300, 3000) == 300
    assert most_of_each([1000] * 100, 300, 3000) == 30
    assert most_of_each([1] * 9000, 300, 3000) == 1


def test_a_picture_shows_the_last_of_very_many_lines_and_says_so(run, monkeypatch):
    model = run.model()
    whole = plots.svg(version_plot.version_figure(model[VERSIONS]))
    assert "2.10.0" in whole
    assert "the last" not in whole
    for module in (plots, version_plot):
        monkeypatch.setattr(module, "MOST_LINES", 2)
    assert "; the last 2 of" in plots.svg(plots.latency_figure(model[LATENCY], True))
    versions = plots.svg(version_plot.version_figure(model[VERSIONS]))
    assert "; the last 2 of 3" in versions
    assert "2.10.0" not in versions


def test_a_frame_that_fits_no_spreadsheet_is_parquet_alone(run, monkeypatch):
    frames: RunFrames = run.model().frames
    names = {field.name for field in dataclasses.fields(frames)}
    assert set(frame_files(frames)) == {f"{n}.{e}" for n in names for e in ("csv", "parquet")}
    monkeypatch.setattr(run_frames, "MOST_CSV_ROWS", len(frames.cells))
    assert {f"{n}.csv" for n in names} - set(frame_files(frames)) == {
        "verdicts.csv",
        "timings.csv",
    }
