"""One worker's calls, made in this process."""

import gc
import os
from pathlib import Path

import pytest
import torch

from harness.rig.bench.measuring import Worker, drop_from_cache, resident_share
from harness.rig.bench.prepared import make_ready
from harness.rig.cell.sharing import program_identity
from harness.wire.bench_records import INLINE_PARTS, Arm, BenchCase, Metric

ARM = Arm("baseline", "2.14.0", "export")


@pytest.fixture(scope="module")
def measured():
    return make_ready(BenchCase("relu_once"), 0)


def test_what_is_written_in_parts_is_what_is_saved_whole(measured, inliners, tmp_path):
    Worker(measured, inliners["2.14.0"], ARM, ["save", "write"], tmp_path).call()
    whole, parts = (torch.export.load(tmp_path / f"{name}.pt2") for name in ("program", "written"))
    assert program_identity(whole) == program_identity(parts)


def test_inline_is_the_sum_of_its_three_stages(measured, inliners, tmp_path):
    seconds = Worker(measured, inliners["2.14.0"], ARM, ["inline"], tmp_path).call()
    assert seconds[Metric.INLINE] == pytest.approx(sum(seconds[part] for part in INLINE_PARTS))


def test_a_call_measures_its_module_and_its_garbage_is_collected_outside(
    measured, inliners, tmp_path
):
    collected: list[bool] = []

    def note(phase: str, _: object) -> None:
        collected.append(gc.isenabled())

    worker = Worker(measured, inliners["2.14.0"], ARM, ["save", "call"], tmp_path)
    worker.call()
    gc.callbacks.append(note)
    try:
        seconds = worker.call()
    finally:
        gc.callbacks.remove(note)
    assert collected
    assert all(collected)  # it is switched off wherever something is timed
    assert gc.isenabled()
    assert {Metric.MODULE, Metric.FIRST_CALL, Metric.STEADY_CALL} <= set(seconds)
    assert sum(seconds.values()) <= worker.timed_s


def test_a_dropped_file_is_no_longer_in_memory(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    before = resident_share(path)
    drop_from_cache(path)
    after = resident_share(path)
    assert before is not None
    assert after is not None
    assert before > 0.9
    if _in_memory(tmp_path):
        assert after > 0.9  # and a bench says that it is not cold
    else:
        assert after < 0.1


def _in_memory(folder: Path) -> bool:
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [(where, kind) for where, kind in mounts if str(folder).startswith(where)]
    return max(above, key=lambda found: len(found[0]))[1] in {"tmpfs", "ramfs"}
