"""The engine lane's preflight: one line for each thing that can be missing."""

import subprocess
import sys
from typing import Any

import pytest

from harness.base.errors import Unavailable
from harness.machine.cuda import Device
from harness.subjects.packages import Installed, installed, preflight
from harness.toolchain.rig_client import ask_rig
from harness.wire.builders import BuilderKind
from tests import fake_drivers

L4, H100 = Device("NVIDIA L4", (8, 9)), Device("NVIDIA H100", (9, 0))
FACTS: dict[str, Any] = {
    "torch": "2.14.0+cu130",
    "torch_cuda": "13.0",
    "no_gpu": "",
    "package": "torch-tensorrt",
    "release": "2.14.0",
    "tensorrt": "11.1.0.106",
    "no_tensorrt": "",
    "no_engine": "",
}
RTX = {**FACTS, "package": "torch-tensorrt-rtx", "tensorrt": "1.6.1.120"}


def test_it_says_what_engines_will_be_built_and_run_with():
    assert installed(FACTS, H100) == Installed("2.14.0", "tensorrt", "11.1.0.106", H100)
    assert installed(RTX, L4) == Installed("2.14.0", "tensorrt-rtx", "1.6.1.120", L4)


@pytest.mark.parametrize(
    ("missing", "device", "told"),
    [
        (
            {"torch": "2.13.0", "torch_cuda": None, "no_gpu": "it is a CPU build"},
            L4,
            r"torch 2.13.0 cannot use the NVIDIA L4 here: it is a CPU build; `nox -s engine`",
        ),
        ({"no_gpu": "driver too old"}, L4, r"too old; install a torch build that this driver"),
        (
            {"package": None},
            L4,
            r"neither torch-tensorrt nor torch-tensorrt-rtx is installed in .*; `nox -s engine`",
        ),
        (
            {"tensorrt": None, "no_tensorrt": "No module named 'tensorrt'"},
            L4,
            r"its TensorRT cannot be imported: No module named 'tensorrt'; `nox -s engine`",
        ),
        (
            {**RTX, "no_engine": "it takes none that it has built"},
            H100,
            r"tensorrt-rtx 1.6.1.120 runs no engine on the NVIDIA H100 here \(sm_90\): it takes no",
        ),
    ],
    ids=["a CPU build of torch", "an old driver", "no package", "no TensorRT", "another GPU"],
)
def test_what_is_missing_is_told_in_one_line_with_what_to_do(missing, device, told):
    with pytest.raises(Unavailable, match=told) as caught:
        installed({**FACTS, **missing}, device)
    assert "\n" not in str(caught.value)


def test_without_a_driver_the_environment_is_not_even_asked():
    with pytest.raises(Unavailable, match="no CUDA driver"):
        preflight("/no/python", "libno-such-driver.so.1")


def test_where_there_is_a_gpu_this_environment_is_asked(tmp_path):
    with pytest.raises(Unavailable, match=r"torch .* cannot use the Fake GPU here"):
        preflight(sys.executable, fake_drivers.cuda(tmp_path))


@pytest.mark.slow
def test_a_tensorrt_that_builds_an_engine_and_cannot_run_it_is_told(toolchain, catalogue):
    """As TensorRT-RTX itself without a GPU: it builds, and takes nothing that it has built."""
    site = toolchain.package_site(catalogue.newest, BuilderKind.RTX)
    asked = (
        f"import sys; sys.path[:0] = {[str(each) for each in site.folders]}; import tensorrt_rtx; "
        "from harness.rig.questions.environment import why_no_engine; "
        "print(why_no_engine(tensorrt_rtx))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "it takes none that it has built"


def test_an_environment_says_which_package_and_which_tensorrt_it_has(tmp_path, monkeypatch):
    for package in ("torch_tensorrt-9.9.9", "torch_tensorrt_rtx-9.9.9"):
        folder = tmp_path / f"{package}.dist-info"
        folder.mkdir()
        name, version = package.split("-")
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}+cu130\n")
    (tmp_path / "tensorrt_rtx.py").write_text("raise ImportError('libtensorrt_rtx.so: gone')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = ask_rig(sys.executable, "installed")[0]
    assert (found["package"], found["release"]) == ("torch-tensorrt-rtx", "9.9.9")
    assert (found["tensorrt"], found["no_tensorrt"]) == (None, "libtensorrt_rtx.so: gone")
    (tmp_path / "tensorrt_rtx.py").write_text("__version__ = '1.2.3'\n")
    found = ask_rig(sys.executable, "installed")[0]
    assert (found["tensorrt"], found["no_tensorrt"]) == ("1.2.3", "")
