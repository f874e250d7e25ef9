"""The TensorRT bindings of a release: of the version that it names, or of the nearest one.

The catalogue, `bindings.toml`, has a file and its SHA-256 for each version and Python. Wheels come
as a release's does (wheelhouse, cache, pip), and their hash is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from harness.base.errors import Unavailable, UsageError
from harness.base.toml_table import TomlTable

BINDINGS_FILE: Final = Path(__file__).with_name("bindings.toml")
BINDINGS_SCHEMA: Final = 1


@dataclass(frozen=True)
class WheelFile:
    """One file of the catalogue; a `HashedWheel`."""

    wheel: str
    sha256: str


@dataclass(frozen=True)
class Bindings:
    """A version of TensorRT for one Python; as a `HashedWheel` it is the bindings' wheel."""

    version: str
    python: str  # the interpreter's tag, such as cp311
    wheel: str
    sha256: str
    libraries: WheelFile | None = None  # what is under them; None: stand-ins


def load_bindings(path: Path = BINDINGS_FILE) -> Mapping[str, tuple[Bindings, ...]]:
    """The bindings of each table; `BuilderRow.bindings` names a builder's table."""
    top = TomlTable.of_file(path, BINDINGS_SCHEMA)
    segment = [
        Bindings(version, python, *_file(table))
        for version, pythons in top.table("bindings").tables().items()
        for python, table in pythons.tables().items()
    ]
    rtx = []
    for version, pythons in top.table("rtx").tables().items():
        libraries = WheelFile(*_file(pythons.table("libraries")))
        rtx += [
            Bindings(version, python, *_file(table), libraries)
            for python, table in pythons.tables().items()
        ]
    top.nothing_else()
    return {"bindings": tuple(segment), "rtx": tuple(rtx)}


def rtx_versions() -> tuple[str, ...]:
    """The versions of every TensorRT-RTX in the catalogue, oldest first."""
    versions = {
        each.version for each in load_bindings()["rtx"]
    }  # a version has a file for a Python
    return tuple(sorted(versions, key=Version))


def _file(table: TomlTable) -> tuple[str, str]:
    found = (
        table.text("wheel"),
        table.text("sha256", lambda text: re.fullmatch(r"[0-9a-f]{64}", text)),
    )
    table.nothing_else()
    return found


def choose(
    known: Sequence[Bindings], pinned: str, python: str, wanted: str | None = None
) -> Bindings:
    """The bindings for a release that names TensorRT ``pinned``, for an interpreter such as cp311.

    It is the newest version that agrees with the pinned one in its three numbers, else the nearest
    above it, else the newest of all, because bindings keep what older ones had.

    Args:
        wanted: take exactly this version instead.
    """
    fitting = sorted(
        (version for version in known if version.python == python),
        key=lambda version: Version(version.version),
    )
    if not fitting:
        pythons = ", ".join(sorted({version.python for version in known}))
        raise Unavailable(f"no TensorRT bindings for {python}; there are some for {pythons}")
    if wanted is not None:
        exact = [version for version in fitting if version.version == wanted]
        if not exact:
            versions = ", ".join(version.version for version in fitting)
            raise UsageError(f"no TensorRT bindings {wanted} for {python}; known: {versions}")
        return exact[0]
    same = [version for version in fitting if _numbers(version.version) == _numbers(pinned)]
    above = [version for version in fitting if _numbers(version.version) > _numbers(pinned)]
    return same[-1] if same else above[0] if above else fitting[-1]


def _numbers(version: str) -> tuple[int, ...]:
    return Version(version).release[:3]
