"""What the CUDA driver is asked before anything is installed, of a driver of a few lines."""

import pytest

from harness.base.errors import Unavailable
from harness.machine.cuda import Device, first_device
from tests import fake_drivers


def test_the_first_device_is_named_with_what_it_can_compute(tmp_path):
    device = first_device(fake_drivers.cuda(tmp_path, capability=(12, 0)))
    assert device == Device("Fake GPU", (12, 0))
    assert device.architecture == "sm_120"


def test_a_machine_without_a_driver_is_told_in_one_line():
    with pytest.raises(Unavailable, match=r"no CUDA driver .*needs a machine with an NVIDIA"):
        first_device("libno-such-driver.so.1")


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"init": 100}, r"cuInit: no CUDA-capable device is detected"),
        ({"init": 999}, r"cuInit: error 999"),
        ({"count": 0}, r"the CUDA driver has no device"),
    ],
)
def test_a_driver_that_has_no_device_is_told_in_one_line(tmp_path, answers, told):
    with pytest.raises(Unavailable, match=told) as caught:
        first_device(fake_drivers.cuda(tmp_path, **answers))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("needs a machine with an NVIDIA GPU and its driver")
