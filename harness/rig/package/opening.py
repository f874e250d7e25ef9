"""The package of a process, opened as its worker's setup says: the emulated one or the real one."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.rig.package.emulation import import_package


def open_package(setup: Mapping[str, Any]) -> ModuleType:
    """The `torch_tensorrt` of a process, which is made quiet and keeps to one thread.

    Args:
        setup: "release"; "site", the folder of a `PackageSite`, or None for the package that is
            installed here, in which nothing is patched; of a site also "builder", and "engines",
            the folder that keeps those which TensorRT built, if any are to be kept.

    Raises:
        RuntimeError, ValueError: as `import_package`; or another release is installed.
        ImportError, OSError: something is missing here.
    """
    warnings.filterwarnings("ignore")
    logging.disable(logging.INFO)  # the package tells of every node that it converts
    torch.set_num_threads(1)
    if setup["site"] is None:
        return _installed(setup["release"])
    kept = setup.get("engines")
    return import_package(
        Path(setup["site"]),
        setup["release"],
        setup["builder"],
        engines=None if kept is None else Path(kept),
    )


def _installed(release: str) -> ModuleType:
    package = importlib.import_module("torch_tensorrt")
    found = package.__version__.partition("+")[0]
    if found != release:
        raise ValueError(f"torch_tensorrt {found} is installed here, not {release}")
    return package
