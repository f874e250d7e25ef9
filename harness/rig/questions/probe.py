"""`python -m harness.rig.questions.probe`: what this Python's torch is, as one line of JSON.

It runs in the rig's environment and imports torch only: TensorRT is looked for, and no more. The
controller reads its line.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
from pathlib import Path

import torch

_TORCH = Path(torch.__file__).parent
_API = "include/torch/csrc/api/include"
_TENSORRT = ("torch_tensorrt", "tensorrt", "tensorrt_rtx")


def facts() -> dict[str, object]:
    """The fields of `harness.toolchain.EnvironmentFacts`."""
    return {
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "torch_version": torch.__version__,
        "torch_git_version": torch.version.git_version,
        "torch_cuda": torch.version.cuda,
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        # As torch.utils.cpp_extension has them, which imports setuptools: torch 2.9 and 2.10 do not
        # ask for that, and uv puts it into no environment by itself.
        "include_paths": [str(_TORCH / path) for path in ("include", _API)],
        "library_path": str(_TORCH / "lib"),
        "threads": torch.get_num_threads(),
        "real_tensorrt": [name for name in _TENSORRT if importlib.util.find_spec(name)],
    }


if __name__ == "__main__":
    json.dump(facts(), sys.stdout)
    sys.stdout.write("\n")
