"""A report of many records writes its tables before its forks, and they are the same tables."""

import json

import pytest
from rich.console import Console

from harness.catalogue.releases import Catalogue
from harness.report import run_report
from harness.report.run_frames import FRAMES_FOLDER
from harness.run.options import RunOptions
from harness.run.progress import progress_for
from harness.run.run import run
from harness.toolchain import Toolchain


def test_the_tables_of_many_records_are_those_of_few_and_come_first(
    toolchain: Toolchain, catalogue: Catalogue, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    options = RunOptions(releases="2.14.0", cases=("pr_4360",), out=tmp_path)
    judged = run(options, toolchain, catalogue, progress_for(Console(quiet=True)))
    folder = judged.folder.path
    summary = json.loads((folder / "summary.json").read_text())
    run_report.write_run_report(judged, summary)
    frames = [f"{FRAMES_FOLDER}/{each.name}" for each in (folder / FRAMES_FOLDER).iterdir()]
    names = [*run_report.TABLES, *frames]
    few = [(folder / name).read_bytes() for name in names]
    monkeypatch.setattr(run_report, "MANY_RECORDS", 0)
    run_report.write_run_report(judged, summary)
    assert [(folder / name).read_bytes() for name in names] == few
    drawn = (folder / "report.html").stat().st_mtime_ns
    assert frames
    assert all((folder / name).stat().st_mtime_ns < drawn for name in names)
