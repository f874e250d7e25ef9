"""Checks what a run needs before it starts: one finding for each thing that can be missing.

The functions that judge are pure. `examine` asks the machine, and puts the findings in the order in
which a user would fix them.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from harness.base.errors import HarnessError, SurroundingsError, Unavailable
from harness.base.process import run
from harness.catalogue.releases import Release
from harness.machine.cuda import DRIVER
from harness.subjects.packages import preflight
from harness.toolchain import Toolchain
from harness.toolchain.cache import workspace
from harness.toolchain.wheels import mismatch

MIN_DISK_BYTES: Final = 2 * 1024**3  # wheels, a build, and the archives of a few runs
MIN_MEMORY_BYTES: Final = 2 * 1024**3  # two workers, each with torch and a program in memory
MIN_CORES: Final = 2
_PIP_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Finding:
    """One thing that was checked. ``advice`` is empty if there is nothing to do."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


def examine(toolchain: Toolchain, releases: Sequence[Release]) -> list[Finding]:
    """Check everything; nothing is fetched or built, and a failed check raises nothing."""
    return [
        Finding("python", True, platform.python_version()),  # another one is refused at once
        pip_finding(toolchain.python),
        _asked("compiler", toolchain.compiler_version),
        _asked("torch", lambda: _torch_detail(toolchain)),
        cache_finding(toolchain.cache),
        wheels_finding(toolchain, releases),
        _bindings(toolchain, releases),
        disk_finding(shutil.disk_usage(_existing(toolchain.cache)).free),
        memory_finding(psutil.virtual_memory().available),
        cores_finding(len(psutil.Process().cpu_affinity() or [])),
        engine_lane_finding(toolchain.python),
    ]


def pip_finding(python: str) -> Finding:
    """pip of the rig's Python, which fetches the wheels."""
    advice = f"install pip into it: {python} -m ensurepip"
    try:
        done = run([python, "-m", "pip", "--version"], timeout_s=_PIP_TIMEOUT_S)
    except SurroundingsError as error:
        return Finding("pip", False, str(error), "name a Python that can be run")
    if done.code != 0:
        return Finding("pip", False, f"{python} has none", advice)
    return Finding("pip", True, " ".join(done.printed.split()[:2]))


def cache_finding(cache: Path) -> Finding:
    """Whether the cache folder can be written: tried, not guessed from its permissions."""
    try:
        with workspace(cache) as folder:
            (folder / "probe").write_bytes(b"x")
    except SurroundingsError as error:
        return Finding("cache", False, *_detail_and_advice(error))
    return Finding("cache", True, f"{cache} can be written")


def wheels_finding(toolchain: Toolchain, releases: Sequence[Release]) -> Finding:
    """Which wheels are at hand and sound; a missing one is bad only if it cannot be fetched."""
    missing, corrupt = [], []
    for release in releases:
        path = toolchain.wheel_at_hand(release)
        if path is None:
            missing.append(release.version)
        elif not _sound(path, release):
            corrupt.append(str(path))
    detail = f"{len(releases) - len(missing) - len(corrupt)} of {len(releases)} at hand"
    if corrupt:
        return Finding("wheels", False, f"{detail}; corrupt: {', '.join(corrupt)}", "delete them")
    if not missing:
        return Finding("wheels", True, detail)
    return _missing("wheels", detail, missing, toolchain, "a run fetches them")


def _missing(
    name: str, detail: str, missing: Sequence[str], toolchain: Toolchain, otherwise: str
) -> Finding:
    """Files that are not at hand; a finding is bad only if they cannot be fetched."""
    detail = f"{detail}; missing: {', '.join(missing)}"
    if toolchain.wheelhouse is not None:
        return Finding(name, False, detail, f"put them into {toolchain.wheelhouse}")
    if toolchain.offline:
        return Finding(name, False, detail, "run once with a registry, or give a wheelhouse")
    return Finding(name, True, detail, otherwise)


def bindings_finding(toolchain: Toolchain, releases: Sequence[Release]) -> Finding:
    """Whether the TensorRT bindings that the package lane imports can be had."""
    try:
        wanted = {toolchain.bindings(wheel).wheel: toolchain.bindings(wheel) for wheel in releases}
    except Unavailable as error:
        return Finding("bindings", False, str(error), "run with a Python that has some")
    missing = [wheel.version for wheel in wanted.values() if not toolchain.wheel_at_hand(wheel)]
    detail = f"TensorRT's: {len(wanted) - len(missing)} of {len(wanted)} at hand"
    real = toolchain.python_env().real_tensorrt
    if real:
        detail += f"; {', '.join(real)} is installed: no emulated package is put beside it"
    if not missing:
        return Finding("bindings", True, detail)
    return _missing("bindings", detail, missing, toolchain, "the package lane fetches them")


def _bindings(toolchain: Toolchain, releases: Sequence[Release]) -> Finding:
    try:
        return bindings_finding(toolchain, releases)
    except SurroundingsError as error:
        return Finding("bindings", False, *_detail_and_advice(error))


def disk_finding(free_bytes: int) -> Finding:
    return _at_least(
        "disk", free_bytes, MIN_DISK_BYTES, "free some space, or choose another cache folder"
    )


def memory_finding(available_bytes: int) -> Finding:
    return _at_least(
        "memory", available_bytes, MIN_MEMORY_BYTES, "close something, or run with --jobs 1"
    )


def cores_finding(cores: int) -> Finding:
    """The cores that this process may use."""
    if cores >= MIN_CORES:
        return Finding("cores", True, str(cores))
    return Finding("cores", False, str(cores), "run with --jobs 1, and do not trust the times")


def engine_lane_finding(python: str, driver: str = DRIVER) -> Finding:
    """Whether real engines could run. Most machines have no GPU, and that is not a fault."""
    try:
        installed = preflight(python, driver)
    except (SurroundingsError, Unavailable) as error:
        detail, advice = _detail_and_advice(error)
        return Finding("engine lane", True, f"not here: {detail}", advice)
    return Finding(
        "engine lane",
        True,
        f"torch_tensorrt {installed.release} with {installed.builder} {installed.tensorrt} on "
        f"{installed.device.name} ({installed.device.architecture})",
    )


def _at_least(name: str, have_bytes: int, need_bytes: int, advice: str) -> Finding:
    ok = have_bytes >= need_bytes
    detail = f"{have_bytes / 1024**3:.1f} GiB free, {need_bytes / 1024**3:.0f} GiB wanted"
    return Finding(name, ok, detail, "" if ok else advice)


def _sound(path: Path, release: Release) -> bool:
    try:
        return not mismatch(path, release)
    except OSError:
        return False  # a wheel that cannot be read is of no more use than a corrupt one


def _asked(name: str, question: Callable[[], str]) -> Finding:
    """The answer as a finding, or the toolchain's own complaint."""
    try:
        return Finding(name, True, question())
    except SurroundingsError as error:
        return Finding(name, False, *_detail_and_advice(error))


def _detail_and_advice(error: HarnessError) -> tuple[str, str]:
    return error.what, error.advice or "see the message"


def _torch_detail(toolchain: Toolchain) -> str:
    facts = toolchain.python_env()
    return f"{facts.torch_version} ({facts.torch_build}, {facts.threads} threads)"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
