"""What NVML tells of the GPUs, of a library of a few lines; and that only an absent one is none."""

import pytest

from harness.machine.nvml import Gpu, NvmlError, read_gpus
from tests import fake_drivers


def test_every_gpu_is_told_with_driver_clocks_and_throttle_reasons(tmp_path, monkeypatch):
    fake_drivers.load_nvml(monkeypatch, tmp_path)
    first, second = read_gpus()
    assert first == Gpu(
        name="Fake L4",
        driver="999.1",
        compute_capability="8.9",
        sm_clock_mhz=2040,
        memory_clock_mhz=6251,
        throttle_reasons=("software power cap", "software thermal slowdown"),
    )
    # The second one does not tell its clocks.
    assert second == Gpu("Fake A10", "999.1", "8.8", None, None, None)


def test_where_the_library_is_absent_there_is_no_gpu(monkeypatch):
    fake_drivers.load_nvml(monkeypatch, None)
    assert read_gpus() == ()


@pytest.mark.parametrize(
    ("answers", "told"), [({"init": 9}, "Driver Not Loaded"), ({"throttle": 15}, "GPU is lost")]
)
def test_a_library_that_is_there_and_fails_is_told(tmp_path, monkeypatch, answers, told):
    fake_drivers.load_nvml(monkeypatch, tmp_path, **answers)
    with pytest.raises(NvmlError, match=told):
        read_gpus()
