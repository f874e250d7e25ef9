"""The whole thread, as a user runs it: real wheels, real workers, the run folder, the gate."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pandas as pd
import psutil
import pytest

from harness.runs.run_folder import RunFolder
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.records import SubjectSpec
from tests import commands

RELEASES = "2.13.0,2.14.0"
FEW = ("relu_once~", "pr_4360~")
CASES = "relu_once or pr_4360 or named_like_an_earlier or residual_over or dynamic_batch_chunk"


def start(*arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        cwd=PROJECT_ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


ONE = ("--jobs", "1")  # a second worker would import torch for a case or two


def harness(*arguments: str | Path, **environment: str) -> tuple[int, str, str]:
    done = commands.harness(*arguments, **environment)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory, library, release_specs):
    """A finished run of a few cases through everything."""
    out = tmp_path_factory.mktemp("results")
    code, printed, err = harness("run", "-k", CASES, "--releases", RELEASES, *ONE, "--out", out)
    assert code == 0, printed + err
    first, *below = printed.splitlines()
    assert " in place of " in first
    assert any(line.startswith("gate: green: every failure is a known defect") for line in below)
    return (out / "latest").resolve()


def table(run: Path) -> dict[str, list[str]]:
    """cell id -> the verdicts, as labels and messages."""
    records = RunFolder.open(run).records()
    return {
        cell_id: [f"{verdict.oracle} {verdict.label} {verdict.message}" for verdict in r.verdicts]
        for cell_id, r in records.items()
    }


def test_the_run_folder_holds_what_the_design_says(finished):
    for name in (
        "run.json", "plan.jsonl", "journal.jsonl", "records.parquet", "summary.json",
        "report.md", "report.html", "junit.xml", "frames/matrix.csv", "failures", "spent.jsonl",
    ):  # fmt: skip
        assert (finished / name).exists(), name
    provenance = json.loads((finished / "run.json").read_text())
    assert provenance["torch_version"].startswith("2.13.0")
    assert all(
        spec["wheel_sha256"] and spec["inliner_id"]
        for spec in provenance["subjects"]
        if spec["kind"] == "release"
    )


def test_the_summary_is_a_partition_of_the_plan(finished):
    summary = json.loads((finished / "summary.json").read_text())
    cells = summary["cells"]
    planned = len((finished / "plan.jsonl").read_text().splitlines())
    classes = ("ok", "expected_failure", "unexpected_failure", "unexpected_pass", "unsupported")
    assert cells["planned"] == cells["ended"] == planned
    assert sum(cells[name] for name in classes) + cells["missing"] == planned
    assert sum(row["cells"] for row in summary["inliners"]) == planned
    assert (summary["state"], summary["gate"]) == ("complete", "green")
    seconds = summary["seconds"]
    assert 0 < seconds["in_stages"] < seconds["workers"]
    assert seconds["stage_share"] == seconds["in_stages"] / seconds["workers"]


def test_the_records_are_a_table_for_pandas(finished):
    frame = pd.read_parquet(finished / "records.parquet")
    wrong = frame[(frame.oracle == "values") & (frame.outcome == "failed")]
    assert set(wrong.subject) == {"2.13.0", "name-matching"}


def test_summary_prints_what_the_run_wrote_and_exits_with_its_code(finished):
    code, printed, _ = harness("summary", finished, "--json")
    assert code == 0
    assert json.loads(printed) == json.loads((finished / "summary.json").read_text())


def test_a_green_run_changes_nothing_in_the_table(finished):
    code, printed, err = harness("expected", "--review", finished)
    assert code == 0, printed + err
    assert "expected/*.csv: 0 lines out, 0 in" in printed


def _exporter(spec: SubjectSpec, path: Path, change: tuple[str, str] | None = None) -> Path:
    with zipfile.ZipFile(str(spec.wheel_path)) as wheel:
        source = wheel.read("torch_tensorrt/dynamo/_exporter.py").decode()
    if change is not None:
        assert source.count(change[0]) == 1
        source = source.replace(*change)
    path.write_text(source)
    return path


def test_a_broken_wire_turns_the_gate_red_on_the_first_screen(finished, release_specs, tmp_path):
    # In a cell whose metadata is known to be wrong: a row excuses one finding.
    broken = _exporter(
        release_specs["2.14.0"],
        tmp_path / "_exporter.py",
        (
            "copied_placeholder.replace_all_uses_with(submodule_inputs[idx])",
            "copied_placeholder.replace_all_uses_with(submodule_inputs[-1 - idx])",
        ),
    )
    code, printed, err = harness(
        "run", "--exporter", broken, "-k", "inputs_read_in_reverse or relu_once",
        "--routes", "legacy", *ONE, "--out", tmp_path / "out",
    )  # fmt: skip
    assert code == 1, printed + err
    screen = "\n".join(printed.splitlines()[:24])
    assert "gate: red" in screen
    assert "values: inputs_read_in_reverse" in screen
    assert "numbers differ" in screen
    assert "python -m harness explain inputs_read_in_reverse" in screen
    assert "relu_once" not in screen
    # The command that the screen prints shows the cell, as it is printed.
    command = next(line for line in screen.splitlines() if "harness explain" in line).split()
    code, told, err = harness(*command[3:])
    assert code == 0, err
    assert "should read" in told


@pytest.mark.slow
def test_an_exporter_that_is_like_an_old_release_is_worse_than_the_newest(
    finished, release_specs, tmp_path
):
    old = _exporter(release_specs["2.13.0"], tmp_path / "_exporter.py")
    code, printed, _ = harness(
        "run", "--exporter", old, "--like", "2.14.0", "-k", "pr_4360", "--out", tmp_path / "out"
    )
    assert code == 1
    assert "pr_4360" in printed


def test_killed_in_the_middle_and_resumed_gives_the_same_verdicts(finished, tmp_path):
    few = "relu_once or pr_4360 and not recorded"
    whole = {cell: told for cell, told in table(finished).items() if cell.startswith(FEW)}
    process = start("run", "-k", few, "--releases", RELEASES, *ONE, "--out", tmp_path)
    journal = tmp_path / "latest" / "journal.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if journal.exists() and len(journal.read_bytes().splitlines()) >= 5:
            break
        time.sleep(0.05)
    workers = psutil.Process(process.pid).children()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert workers
    assert not alive, "a worker outlives its controller"
    with journal.open("ab") as file:
        file.write(b"123 00000000 {cut off in the mid")
    run = (tmp_path / "latest").resolve()
    ended = len(RunFolder.open(run).records())
    assert 0 < ended < len(whole)
    began = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(began | {"python": "CPython 3.9.9"}))
    code, printed, err = harness("run", "--resume", run, *ONE, "--out", tmp_path)
    assert code == 0, printed + err
    assert "resumed: Python: the run has CPython 3.9.9, this is" in err
    assert table(run) == whole
    lines = (run / "journal.jsonl").read_text().splitlines()
    assert len(lines) == len(whole), "a cell that had ended was run again"


def test_a_run_of_another_corpus_is_not_resumed(finished, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("plan.jsonl", "journal.jsonl", "state.json"):
        (copy / name).write_bytes((finished / name).read_bytes())
    provenance = json.loads((finished / "run.json").read_text())
    provenance["corpus_digest"] = "0" * 64
    (copy / "run.json").write_text(json.dumps(provenance))
    code, _, err = harness("run", "--resume", copy)
    assert code == 2
    assert "cannot be resumed" in err
    assert "corpus" in err


def test_without_registry_and_wheelhouse_the_built_in_inliners_run_and_nothing_is_decided(
    toolchain, library, tmp_path
):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "native").symlink_to(library.parent)
    code, printed, err = harness(
        "run", "--offline", "-k", "relu_once", "--releases", RELEASES, *ONE,
        "--out", tmp_path / "out", INLINER_REGRESS_CACHE=str(cache),
    )  # fmt: skip
    assert code == 3, printed + err
    assert "inconclusive" in printed
    summary = json.loads((tmp_path / "out" / "latest" / "summary.json").read_text())
    assert summary["cells"]["unsupported"] == 8  # two releases by four routes
    built_in = [r for r in summary["inliners"] if r["subject"] in {"name-matching", "positional"}]
    assert [row["ok"] for row in built_in] == [1, 1]
