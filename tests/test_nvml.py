"""What NVML tells of the GPUs, of a library of a few lines; and that only an absent one is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.machine.nvml import Gpu, NvmlError, read_gpus
from tests import fake_drivers


def test_every_gpu_is_told_with_driver_clocks_and_throttle_reasons(tmp_path: Path) -> None:
    first, second = read_gpus(fake_drivers.nvml(tmp_path))
    assert first == Gpu(
        name="Fake L4",
        driver="999.1",
        compute_capability="8.9",
        sm_clock_mhz=2040,
        memory_clock_mhz=6251,
        throttle_reasons=("software power cap", "software thermal slowdown"),
    )
    assert (second.name, second.compute_capability) == ("Fake A10", "8.8")


def test_what_a_gpu_does_not_tell_is_not_measured(tmp_path: Path) -> None:
    second = read_gpus(fake_drivers.nvml(tmp_path))[1]
    assert second.sm_clock_mhz is second.memory_clock_mhz is second.throttle_reasons is None


def test_where_the_library_is_absent_there_is_no_gpu() -> None:
    assert read_gpus("libno-such-library.so.1") == ()


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"init": 18}, r"nvmlInit_v2: version mismatch \(18\)"),
        ({"throttle": 15}, r"nvmlDeviceGetCurrentClocksThrottleReasons: unknown \(15\)"),
        ({"init": 3}, r"nvmlInit_v2: not supported"),
    ],
)
def test_a_library_that_is_there_and_fails_is_told(
    tmp_path: Path, answers: dict[str, int], told: str
) -> None:
    with pytest.raises(NvmlError, match=told):
        read_gpus(fake_drivers.nvml(tmp_path, **answers))


def test_another_library_of_that_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(NvmlError, match="has no nvmlInit_v2"):
        read_gpus(fake_drivers.cuda(tmp_path))
