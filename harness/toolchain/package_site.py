"""A folder from which one release's whole package is imported on a machine without CUDA.

    torch_tensorrt/            the release's own Python, unchanged from its wheel, and its bytecode,
                               as an installation has it
        lib/libtorchtrt_runtime.so     the stand-in runtime: the graph lane's, the very same file
    tensorrt/                  TensorRT's real bindings, over three stand-in C libraries
    torch_tensorrt-X.dist-info what importlib.metadata is asked for
    site.json                  a description for `harness.rig.package`

With builder tensorrt-rtx it is `tensorrt_rtx/` and `torch_tensorrt_rtx-X.dist-info`, and the real C
libraries, which build engines without a GPU, are in a folder beside it that sites share.

The folder's name is the hash of everything that went into it. It is made under another name and
then moved into place, so that a half-made one is never found. It holds no absolute path, so it can
be moved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError, Unavailable
from harness.base.files import sha256_of
from harness.catalogue.bindings import Bindings, WheelFile
from harness.catalogue.releases import PACKAGE_LANE_SINCE, Release
from harness.toolchain.cache import PACKAGES, guarded, locked, workspace
from harness.toolchain.environment import EnvironmentFacts
from harness.toolchain.native import RUNTIME_SOURCE, Compiler
from harness.toolchain.unpacking import (
    byte_compile,
    place,
    put_under,
    text_in,
    unpack_bindings,
    unpack_libraries,
    unpack_release,
)
from harness.toolchain.wheels import WheelSource
from harness.wire.builders import SEGMENT, BuilderKind

STUB_SOURCE: Final = Path(__file__).with_name("stub_libraries.cpp")
SITE_FILE: Final = "site.json"
# Part of a folder's name: raise it when the same inputs are put together in another way.
LAYOUT: Final = 2
_RUNTIME_DIR: Final = "torch_tensorrt/dynamo/runtime"


@dataclass(frozen=True)
class PackageSite:
    """A made folder, and what is in it."""

    folder: Path  # to be put first on sys.path
    release: str
    builder: str
    tensorrt_pinned: str  # what the release names
    tensorrt_running: str  # the TensorRT or TensorRT-RTX that is in the folder

    @property
    def folders(self) -> list[Path]:
        """The package's own folder, and that of the TensorRT beside it where that is another."""
        named = json.loads((self.folder / SITE_FILE).read_text(encoding="utf-8"))
        libraries = named["libraries"]
        return [self.folder, *([self.folder.parent / libraries] if libraries else [])]


def package_site(
    release: Release,
    *,
    wheels: WheelSource,
    compiler: Compiler,
    facts: EnvironmentFacts,
    bindings: Bindings,
    builder: str = SEGMENT,
    released: Path | None = None,
) -> PackageSite:
    """The folder for one release, made if it is not in the cache; see `Toolchain.package_site`."""
    if facts.real_tensorrt:
        raise Unavailable(
            f"{', '.join(facts.real_tensorrt)} is installed in this environment: the emulated "
            "package is not put beside the real one"
        )
    released, bound = released or wheels.wheel(release), wheels.wheel(bindings)
    with guarded(released):
        slots = engine_slots(released, release.abi)
        sha256 = sha256_of(released)
    runtime, stub = compiler.build(RUNTIME_SOURCE, facts), compiler.build(STUB_SOURCE, None)
    libraries = None if bindings.libraries is None else _libraries(bindings.libraries, wheels)
    description = {
        "schema": LAYOUT,
        "release": release.version,
        "builder": builder,
        "tensorrt_pinned": pinned_tensorrt(release, builder),
        "tensorrt_running": bindings.version,
        "slots": slots,
        "abi": release.abi,
        "libraries": "" if libraries is None else libraries.name,
    }
    # Native libraries are named by the hash of what they were built from.
    parts = [json.dumps(description), sha256, bindings.sha256, runtime.stem, stub.stem]
    site = PackageSite(
        folder=wheels.cache / PACKAGES / hashlib.sha256("\0".join(parts).encode()).hexdigest(),
        release=release.version,
        builder=builder,
        tensorrt_pinned=pinned_tensorrt(release, builder),
        tensorrt_running=bindings.version,
    )
    with locked(wheels.cache, site.folder.name):
        if not site.folder.exists():
            wheels.notify(f"putting torch_tensorrt {release.version} together ({builder})")
            with workspace(site.folder.parent) as folder:
                made = folder / "site"
                unpack_release(released, made, rtx=libraries is not None)
                place(runtime, made / "torch_tensorrt" / "lib" / "libtorchtrt_runtime.so")
                if libraries is None:
                    put_under(unpack_bindings(bound, made, "tensorrt"), stub)
                else:
                    unpack_bindings(bound, made, "tensorrt_rtx")
                byte_compile(made, wheels.python)
                (made / SITE_FILE).write_text(json.dumps(description, indent=2) + "\n")
                os.replace(made, site.folder)
    return site


def pinned_tensorrt(release: Release, builder: str) -> str:
    """The TensorRT that a release names for a builder."""
    pinned = str(getattr(release.pins, BuilderKind(builder).row.pin))
    if not pinned:
        raise Unavailable(f"torch_tensorrt {release.version} names no TensorRT for {builder}")
    return pinned


def _libraries(file: WheelFile, wheels: WheelSource) -> Path:
    """The folder of a version's C libraries, which is large and so is shared by all sites."""
    wheel = wheels.wheel(file)
    target = wheels.cache / PACKAGES / f"libraries-{file.sha256}"
    with locked(wheels.cache, target.name):
        if not target.exists():
            with workspace(target.parent) as folder:
                unpack_libraries(wheel, folder / "made")
                os.replace(folder / "made", target)
    return target


def engine_slots(wheel: Path, abi: str) -> int:
    """How many slots a release's runtime serializes an engine into, as its own Python says.

    Its ABI number must be the catalogue's; before 2.13 the Python does not name it.
    """
    stated = text_in(wheel, f"{_RUNTIME_DIR}/_serialized_engine_layout.py")
    text = stated or text_in(wheel, f"{_RUNTIME_DIR}/_TorchTensorRTModule.py")
    slots = len(set(re.findall(r"^ *([A-Z_]+_IDX) *= ", text, re.MULTILINE)))
    number = re.search(r'^ABI_VERSION = "(\d+)"', stated, re.MULTILINE)
    if number and number[1] != abi:
        raise SurroundingsError(
            f"{wheel}: its engine ABI is {number[1]}, but the catalogue says {abi}; correct `abi`"
        )
    if slots == 0:
        raise Unavailable(
            f"{wheel.name}: its Python names no slots of an engine, as releases before 2.5 do not",
            f"whole packages can be run from {PACKAGE_LANE_SINCE} on",
        )
    return slots
