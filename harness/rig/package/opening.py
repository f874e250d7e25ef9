"""The package of a process, one release for all its life: emulated, or as it is installed."""

from __future__ import annotations

import importlib
import logging
import sys
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.rig.package.patches import PATCHES, patches_for
from harness.rig.package.site import read_site
from harness.wire.builders import SEGMENT


def open_package(setup: Mapping[str, Any]) -> ModuleType:
    """The `torch_tensorrt` of a process, which is made quiet and keeps to one thread.

    Args:
        setup: "release"; "site", the folder of a `PackageSite`, or None for the package that is
            installed here, in which nothing is patched; of a site also "builder", and "engines",
            the folder that keeps those which TensorRT built, if any are to be kept.
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


def import_package(
    site: Path,
    release: str,
    builder: str = SEGMENT,
    skip: Collection[str] = (),
    engines: Path | None = None,
) -> ModuleType:
    """The `torch_tensorrt` of a site, made usable here. Once a process.

    Args:
        site: the folder of a `PackageSite`; it is put first on `sys.path`.
        skip: names of patches to leave out, to see what fails without them.
        engines: a folder that keeps engines which TensorRT built, so that none is built twice.

    Raises:
        RuntimeError: a `torch_tensorrt` or `tensorrt` is imported here already.
        ValueError: ``skip`` names no patch, or the site is of another release or builder.
    """
    unknown = set(skip) - {patch.name for patch in PATCHES}
    if unknown:
        raise ValueError(f"no such patch: {', '.join(sorted(unknown))}")
    there = [name for name in ("torch_tensorrt", "tensorrt") if name in sys.modules]
    if there:
        raise RuntimeError(
            f"{' and '.join(there)} imported in this process already: one process, one release"
        )
    found = read_site(site, engines)
    if (found.release, found.builder) != (release, builder):
        raise ValueError(
            f"{site} is of {found.release} with builder {found.builder}, not of {release} with "
            f"{builder}"
        )
    chosen = [patch for patch in patches_for(release, builder) if patch.name not in skip]
    sys.path[:0] = [str(folder) for folder in (site, found.libraries) if folder]
    for patch in chosen:
        if not patch.imported:
            patch.apply(found)
    package = importlib.import_module("torch_tensorrt")
    for patch in chosen:
        if patch.imported:
            patch.apply(found)
    return package
