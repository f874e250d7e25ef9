"""What an environment has: its torch, its GPU, its TensorRT. It imports torch and no corpus."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch

_API: Final = "include/torch/csrc/api/include"
_TENSORRT: Final = ("torch_tensorrt", "tensorrt", "tensorrt_rtx")
#: The TensorRT that each distribution runs on. Where both are installed, torch_tensorrt takes the
#: second, since it looks for that distribution itself.
_PACKAGES: Final = {"torch-tensorrt": "tensorrt", "torch-tensorrt-rtx": "tensorrt_rtx"}


def deciding() -> dict[str, str]:
    """What decides a verdict beside code, inputs and the installed packages of a subject."""
    try:
        transformers = importlib.metadata.version("transformers")
    except importlib.metadata.PackageNotFoundError:
        transformers = "none"
    return {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "architecture": platform.machine(),
        "torch": f"{torch.__version__} ({torch.version.git_version})",
        "transformers": transformers,  # whose models are cases
    }


def probe(_: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The fields of `harness.toolchain.EnvironmentFacts`. TensorRT is looked for, not imported."""
    folder = Path(torch.__file__).parent
    yield {
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "torch_version": torch.__version__,
        "torch_git_version": torch.version.git_version,
        "torch_cuda": torch.version.cuda,
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        # As in torch.utils.cpp_extension, which imports setuptools; torch 2.9 and 2.10 do not
        # require that, and uv puts it into no environment by itself.
        "include_paths": [str(folder / path) for path in ("include", _API)],
        "library_path": str(folder / "lib"),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "deciding": deciding(),
        "real_tensorrt": [name for name in _TENSORRT if importlib.util.find_spec(name)],
    }


def installed(_: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The fields of `harness.subjects.packages.Installed`, but for the device.

    It asks torch for the GPU, so nobody may fork this process afterwards: CUDA does not survive it.
    """
    facts: dict[str, Any] = {
        "torch": torch.__version__,
        "torch_cuda": torch.version.cuda,
        "no_gpu": _why_no_gpu(),
        "package": None,
        "release": None,
        "tensorrt": None,
        "no_tensorrt": "",
    }
    for package, module in _PACKAGES.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        facts.update(package=package, release=version.partition("+")[0])
        try:
            facts.update(tensorrt=importlib.import_module(module).__version__, no_tensorrt="")
        except ImportError as error:
            facts.update(tensorrt=None, no_tensorrt=str(error))
    yield facts


def patches(_: Mapping[str, Any]) -> Iterator[str]:
    """A line for each patch of the package lane, for `doctor`."""
    from harness.rig.package.patches import PATCHES  # which imports more than torch

    return (patch.line for patch in PATCHES)


def _why_no_gpu() -> str:
    """Why torch cannot use a GPU here; empty if it can."""
    if torch.version.cuda is None:
        return "it is a CPU build"
    try:
        torch.cuda.init()
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return ""
