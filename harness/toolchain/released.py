"""The wheel of a release that is not in the catalogue yet, found by its version alone.

Its Python is read but never run, so a wheel for any interpreter will do; most releases have one
for CPython 3.11. Its hash cannot be checked, because the catalogue takes the hash from it.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from packaging.utils import parse_wheel_filename
from packaging.version import Version

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.catalogue.releases import is_linux_wheel, is_wheel_of
from harness.toolchain.cache import WHEELS, guarded, locked, workspace
from harness.toolchain.wheels import (
    WheelSource,
    download_arguments,
    is_unreachable,
    last_meaningful_line,
    run_pip,
)

INTERPRETERS: Final = ("cp311", "cp312", "cp310", "cp313")
# All glibc that a wheel of today or of the next years may ask for; pip takes none for granted.
PLATFORMS: Final = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(17, 46)),
    "manylinux2014_x86_64",
    "linux_x86_64",
)
_NEAR: Final = 3


def released_wheel(source: WheelSource, version: str) -> Path:
    """The Linux wheel of a released version, from the wheelhouse if there is one, or from pip.

    What pip fetches goes into the cache, where a later run finds it. Offline it must be there.
    """
    if source.wheelhouse is not None:
        if not source.wheelhouse.is_dir():
            raise UsageError(f"{source.wheelhouse}: no such folder; name one that holds wheels")
        return _at_hand(source.wheelhouse, version, f"the wheelhouse {source.wheelhouse}")
    cache = source.cache / WHEELS
    if source.offline:
        return _at_hand(cache, version, "this run is offline, and the cache")
    with locked(source.cache, f"torch-tensorrt-{version}"), guarded(cache):
        try:
            return _fetched(source, version, cache)
        except Unavailable as error:
            raise SurroundingsError(f"{error}; try again, or give the file with --wheel") from error


def _at_hand(folder: Path, version: str, holder: str) -> Path:
    """Raises UsageError if the folder has no such wheel."""
    names = [path.name for path in folder.glob("torch_tensorrt-*.whl") if is_linux_wheel(path.name)]
    fitting = [name for name in names if is_wheel_of(name, version)]
    if not fitting:
        raise _no_such_version(version, holder, (_version_of(name) for name in names))
    return folder / min(fitting, key=_preference)


def _preference(name: str) -> tuple[int, str]:
    interpreters = {tag.interpreter for tag in parse_wheel_filename(name)[3]}
    ranks = [INTERPRETERS.index(each) for each in interpreters if each in INTERPRETERS]
    return min(ranks, default=len(INTERPRETERS)), name


def _version_of(name: str) -> str:
    return str(parse_wheel_filename(name)[1])


def _fetched(source: WheelSource, version: str, cache: Path) -> Path:
    there: set[str] = set()
    what = f"torch-tensorrt {version}"
    for interpreter in INTERPRETERS:
        source.notify(f"looking for {what} for {interpreter}")
        arguments = download_arguments(version, interpreter, interpreter, PLATFORMS)
        with workspace(cache) as folder:
            refused = run_pip(source.python, arguments, folder, what)
            if not refused:
                (found,) = folder.glob("*.whl")
                os.replace(found, cache / found.name)
                return cache / found.name
        offered = re.search(r"\(from versions: (.*?)\)", refused)
        if offered is None or is_unreachable(refused):
            reason = last_meaningful_line(refused)
            raise SurroundingsError(f"pip could not fetch {what}: {reason}")
        there |= set(offered[1].split(", ")) - {"none"}
    asked = f"the registry, asked for {', '.join(INTERPRETERS)},"
    raise _no_such_version(version, asked, there)


def _no_such_version(version: str, holder: str, there: Iterable[str]) -> UsageError:
    """``there``: the versions that the holder has."""
    known = sorted(set(there), key=Version)
    at = bisect_left([Version(each) for each in known], Version(version))
    near = known[max(0, min(at - 1, len(known) - _NEAR)) :][:_NEAR]
    has = f"it has {', '.join(near)}" if near else "it has none of any version"
    more = f" and {len(known) - len(near)} others" if len(known) > len(near) else ""
    wheel = f"wheel of torch-tensorrt {version} for Linux on x86_64"
    return UsageError(f"{holder} has no {wheel}; {has}{more}")


def newest_wheel(python: str, index: str, folder: Path) -> None:
    """Let pip fetch the newest wheel of an index, nightlies too, into a folder of such wheels.

    Raises:
        Unavailable: pip found none there, or did not reach it.
    """
    with guarded(folder, "choose another folder with --store"):
        folder.mkdir(parents=True, exist_ok=True)
    how = ["download", "--pre", "--no-deps", "--only-binary", ":all:", "--index-url", index]
    if refused := run_pip(python, [*how, "torch-tensorrt"], folder, f"the newest wheel of {index}"):
        raise Unavailable(f"the newest wheel of {index}: {refused}")
