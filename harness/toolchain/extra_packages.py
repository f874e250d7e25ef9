"""Another Python for the rig, or this one with packages that a user's model imports."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.base.process import run
from harness.toolchain import Toolchain
from harness.toolchain.cache import guarded, locked, workspace

_FOLDER: Final = "with"
_HAS_TORCH: Final = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"


def python_with(toolchain: Toolchain, python: str, packages: Sequence[str] | None) -> Toolchain:
    """The toolchain with another Python, or with one that has these packages as well.

    The packages are installed into an environment of their own in the cache, which finds everything
    else in the environment that runs this.

    Raises:
        UsageError: there is no such Python, or it has no torch, or both are asked for.
        Unavailable: the packages cannot be installed.
    """
    if python and packages:
        raise UsageError("--with and --python: install the packages into that environment instead")
    if python:
        found = shutil.which(python)
        if found is None:
            raise UsageError(f"--python {python}: no such program")
        if run([found, "-c", _HAS_TORCH]).code != 0:
            raise UsageError(
                f"--python {python}: torch is not installed there; name the Python of an "
                "environment that has torch and what the model imports"
            )
        return dataclasses.replace(toolchain, python=os.path.abspath(found))
    if not packages:
        return toolchain
    return dataclasses.replace(toolchain, python=str(_environment(toolchain, packages)))


def _environment(toolchain: Toolchain, packages: Sequence[str]) -> Path:
    key = "\0".join((sys.executable, sys.version, *sorted(packages)))
    folder = toolchain.cache / _FOLDER / hashlib.sha256(key.encode()).hexdigest()[:24]
    python = folder / "bin" / "python"
    with locked(toolchain.cache, folder.name):
        if not python.exists():
            toolchain.notify(f"installing {', '.join(packages)} beside torch")
            with workspace(folder.parent) as making:
                made = making / "environment"
                _venv(made)
                _install(made, packages, toolchain)
                with guarded(folder):
                    os.replace(made, folder)
    return python


def _venv(made: Path) -> None:
    """An environment that finds the packages of this one behind its own."""
    done = run([sys.executable, "-m", "venv", "--without-pip", str(made)])
    if done.code != 0:
        raise SurroundingsError(f"an environment cannot be made: {done.last_words}")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    behind = made / "lib" / version / "site-packages" / "behind.pth"
    behind.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def _install(made: Path, packages: Sequence[str], toolchain: Toolchain) -> None:
    command = [str(made / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    command += ["--no-index"] if toolchain.offline else []
    done = run([*command, *packages])
    if done.code != 0:
        raise Unavailable(
            f"--with {' '.join(packages)}: {done.last_words}",
            "leave out --offline, by which no index of packages was asked, or give --python of an "
            "environment"
            if toolchain.offline
            else "name packages as `pip install` takes them, or give --python of an environment",
        )
