"""A run of the engine lane from its options to its report, up to the first call of CUDA.

What the environment would have is given: a GPU, and in the place of an installed package the
emulated one, on the CPU. All else is the run that a CUDA machine makes.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import harness.run.execute
import harness.run.run
from harness.base.errors import ExitCode, UsageError
from harness.gate.findings import Gate
from harness.machine.cuda import Device
from harness.report.run_report import write_run_report
from harness.run.options import RunOptions
from harness.run.run import resume, run
from harness.subjects.packages import Installed
from harness.workers.process import PackageSetup
from tests import commands

FOUND = Installed("2.13.0", "tensorrt", "11.0.0.114", Device("Fake GPU", (9, 0)))
OPTIONS = RunOptions(lanes=("engine",), environment="matched", expression="residual_over_a")


class Silent:
    """Tells nobody how far a run is."""

    def start(self, total: int, done: int) -> None: ...

    def ended(self, record: Any) -> None: ...

    def say(self, line: str) -> None: ...


@pytest.fixture
def on_the_cpu(toolchain, catalogue, monkeypatch):
    site = toolchain.package_site(catalogue.get(FOUND.release))

    def setup(**given: Any) -> PackageSetup:
        assert (given["site"], given["device"], given["executor"]) == (None, "cuda", "cuda")
        return PackageSetup(**{**given, "site": site, "device": "cpu"})

    monkeypatch.setattr(harness.run.run, "preflight", lambda _: FOUND)
    monkeypatch.setattr(harness.run.execute, "PackageSetup", setup)


def asked(folder: Path, **more: Any) -> RunOptions:
    return dataclasses.replace(OPTIONS, out=folder, **more)


@pytest.mark.slow
@pytest.mark.usefixtures("on_the_cpu")
def test_it_runs_the_installed_package_and_judges_it_by_what_is_known_of_packages(
    toolchain, catalogue, tmp_path
):
    judged = run(asked(tmp_path), toolchain, catalogue, Silent())
    found = {record.key.route: record.label for record in judged.records.values()}
    # As in the package lane: 2.13.0 wires a fallback by name, where it inlines.
    assert found == {
        "compile": "ok",
        "no-retrace": "error@inline-fallbacks",
        "no-retrace-export": "error@inline-fallbacks",
        "retrace": "ok",
    }
    assert judged.report.gate is Gate.GREEN
    keys = {dataclasses.astuple(record.key)[4:] for record in judged.records.values()}
    assert keys == {("engine", "tensorrt-11.0.0.114", "cuda", "torch-2.13.0")}
    write_run_report(judged, json.loads((judged.folder.path / "summary.json").read_text()))
    report = (judged.folder.path / "report.md").read_text()
    assert "emulated" not in report


@pytest.mark.slow
@pytest.mark.usefixtures("on_the_cpu")
def test_a_run_that_goes_on_asks_what_is_missing_with_the_engines_that_it_had(
    toolchain, catalogue, tmp_path, monkeypatch
):
    options = asked(tmp_path, routes=("retrace",))
    folder = run(options, toolchain, catalogue, Silent()).folder
    (folder.path / "journal.jsonl").write_bytes(b"")
    other = dataclasses.replace(FOUND, tensorrt="11.1.0.106")
    monkeypatch.setattr(harness.run.run, "preflight", lambda _: other)
    with pytest.raises(
        UsageError, match=r"the run has engines of tensorrt-11\.0\.0\.114 of 2\.13\.0"
    ):
        resume(str(folder.path), options, toolchain, catalogue, Silent())
    monkeypatch.setattr(harness.run.run, "preflight", lambda _: FOUND)
    judged = resume(str(folder.path), options, toolchain, catalogue, Silent())
    labels = {record.key.route: record.label for record in judged.records.values()}
    assert labels == {"compile": "ok", "retrace": "ok"}


@pytest.mark.usefixtures("on_the_cpu")
def test_a_torch_that_a_release_does_not_pin_is_refused_before_anything_is_asked(
    toolchain, catalogue, tmp_path
):
    with pytest.raises(UsageError, match=r"--lane engine .*; give --environment matched"):
        run(asked(tmp_path, environment="pinned"), toolchain, catalogue, Silent())
    assert not list(tmp_path.iterdir())


def test_without_cuda_it_says_in_one_line_what_is_missing_and_leaves_nothing(tmp_path):
    hidden = {"CUDA_VISIBLE_DEVICES": ""}  # hides a GPU from CUDA, if there is one
    done = commands.harness("run", "--lane", "engine", "--out", tmp_path, **hidden)
    assert done.returncode == ExitCode.INCONCLUSIVE
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "CUDA" in line
    assert line.endswith("the engine lane needs a machine with an NVIDIA GPU and its driver")
    assert not list(tmp_path.iterdir())
