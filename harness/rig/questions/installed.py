"""What an environment has to run real engines with, as one line of JSON.

    python -m harness.rig.questions.installed        asked by the controller, in the rig's Python

It asks torch for the GPU, in a process that nobody forks afterwards: CUDA does not survive that.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from typing import Any

import torch

# Where both are, torch_tensorrt is the second: it looks for that distribution itself.
_PACKAGES = {"torch-tensorrt": "tensorrt", "torch-tensorrt-rtx": "tensorrt_rtx"}


def facts() -> dict[str, Any]:
    """The fields of `harness.subjects.engine_lane.Installed`, but for the device."""
    found: dict[str, Any] = {
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
        found.update(package=package, release=version.partition("+")[0])
        try:
            found.update(tensorrt=importlib.import_module(module).__version__, no_tensorrt="")
        except ImportError as error:
            found.update(tensorrt=None, no_tensorrt=str(error))
    return found


def _why_no_gpu() -> str:
    """Why torch cannot use a GPU here, or nothing."""
    if torch.version.cuda is None:
        return "it is a CPU build"
    try:
        torch.cuda.init()
    except RuntimeError as error:
        return str(error).partition("\n")[0]
    return ""


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
    sys.stdout.write("\n")
