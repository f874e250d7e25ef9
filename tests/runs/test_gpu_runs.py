"""The last run on a GPU: found among runs, published and not; a plan alone is no run."""

import dataclasses
from pathlib import Path

from harness.runs.gpu_runs import GpuRun, last_gpu_run
from harness.runs.run_folder import RunFolder
from harness.wire.builders import CUDA
from harness.wire.records import CellKey, CellRecord, PackageSpec
from harness.wire.routes import Lane, Route
from tests.record_builders import case, planned, provenance, record, subject, unsupported

ENGINE = PackageSpec("tensorrt", (Route.NO_RETRACE,), "11.0.0.114", executor=CUDA)
KEY = CellKey("a", "nonstrict", "2.14.0", Route.NO_RETRACE, Lane.ENGINE, "tensorrt", CUDA)
DAY = 1_790_000_000.0  # 2026-09-21


def run_of(out: Path, *records: CellRecord, run_id: str = "20260921T000000Z-abcdef") -> RunFolder:
    given = provenance(
        subject("2.14.0", packages=(ENGINE,)), run_id=run_id, gpu="NVIDIA L4", gpus=()
    )
    with RunFolder.create(out, given, [planned(each.key) for each in records]) as folder:
        folder.append(*records)
        folder.write_results({"schema": 2, "state": "complete"}, [case("a")], folder.records())
    return folder


def on(day: float) -> CellRecord:
    return record(KEY, ended_at_unix_s=day)


def test_the_newest_cell_that_ran_on_a_gpu_tells_the_day(tmp_path):
    run_of(tmp_path, on(DAY - 1e6), run_id="20260101T000000Z-aaaaaa")
    run_of(tmp_path, on(DAY))
    found, unread = last_gpu_run([tmp_path])
    assert found == GpuRun(
        "20260921T000000Z-abcdef", "2026-09-21", "NVIDIA L4", ("2.14.0",), cells=1
    )
    assert unread == ()


def test_a_published_run_counts(tmp_path):
    folder = run_of(tmp_path / "published", on(DAY))
    for name in ("plan.jsonl", "journal.jsonl"):
        (folder.path / name).unlink()
    found, _ = last_gpu_run([tmp_path])
    assert found is not None
    assert found.day == "2026-09-21"


def test_cells_that_ran_on_a_cpu_or_could_not_be_asked_are_no_run_on_a_gpu(tmp_path):
    emulated = dataclasses.replace(KEY, lane=Lane.PACKAGE, executor="emulated")
    run_of(tmp_path, record(emulated, ended_at_unix_s=DAY), unsupported(KEY))
    assert last_gpu_run([tmp_path]) == (None, ())


def test_a_run_that_cannot_be_read_is_named(tmp_path):
    folder = run_of(tmp_path, on(DAY))
    (folder.path / "run.json").write_text("{")
    found, (unread,) = last_gpu_run([tmp_path])
    assert found is None
    assert str(folder.path) in unread


def test_where_there_are_no_runs_there_was_none(tmp_path):
    assert last_gpu_run([tmp_path / "nowhere"]) == (None, ())
