"""Importing one release's real package on a machine without CUDA. One process, one release."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from harness.rig.package.patches import PATCHES, patches_for
from harness.rig.package.site import read_site
from harness.wire.builders import SEGMENT


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
