"""A wheel of a known hash, from a wheelhouse, from the cache, or fetched by pip.

pip is told Python, ABI and platform, so that every machine gets the same file. Wherever a file
comes from, it must have the SHA-256 of the catalogue.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from packaging.utils import parse_wheel_filename

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.base.files import sha256_of
from harness.base.process import TookTooLong, run
from harness.toolchain.cache import WHEELS, guarded, locked, workspace

DOWNLOAD_TIMEOUT_S: Final = 600.0
# What pip prints when this machine is at fault, and not the registry.
_OWN_FAILURES: Final = ("No space left on device", "Permission denied", "No module named pip")


class HashedWheel(Protocol):
    """Identifies one file: a release of the catalogue, or TensorRT's bindings."""

    @property
    def wheel(self) -> str:
        """The file's name."""

    @property
    def sha256(self) -> str: ...


@dataclass(frozen=True)
class WheelSource:
    """Where wheels come from. If there is a ``wheelhouse``, no other place is looked at."""

    cache: Path
    wheelhouse: Path | None
    python: str
    offline: bool
    notify: Callable[[str], None]

    def wheel(self, release: HashedWheel) -> Path:
        """The verified wheel; see `Toolchain.wheel`."""
        if self.wheelhouse is not None:
            return self._from_wheelhouse(release, self.wheelhouse)
        target = self.cache / WHEELS / release.wheel
        with locked(self.cache, release.wheel), guarded(target):
            corrupt = ""
            if target.exists():
                corrupt = mismatch(target, release)
                if not corrupt:
                    return target
                self.notify(f"{release.wheel}: the cached file is corrupt; fetching it again")
            self._fetch(release, target, corrupt)
        return target

    def at_hand(self, release: HashedWheel) -> Path | None:
        """The wheel if it is here, whatever its content. No registry is asked."""
        folder = self.wheelhouse or self.cache / WHEELS
        path = folder / release.wheel
        return path if path.is_file() else None

    def keep(self, path: Path) -> None:
        """Put a copy of a wheel into the cache; see `Toolchain.keep_wheel`."""
        target = self.cache / WHEELS / path.name
        with locked(self.cache, path.name), workspace(target.parent) as folder:
            os.replace(shutil.copyfile(path, folder / path.name), target)

    def _from_wheelhouse(self, release: HashedWheel, wheelhouse: Path) -> Path:
        if not wheelhouse.is_dir():
            raise UsageError(f"{wheelhouse}: no such folder; name the one that holds the wheels")
        path = wheelhouse / release.wheel
        if not path.is_file():
            raise Unavailable(f"the wheelhouse holds no {release.wheel}")
        advice = "put the released file in its place"
        with guarded(path, advice):
            wrong = mismatch(path, release)
        if wrong:
            raise SurroundingsError(f"{wrong}; {advice}")
        return path

    def _fetch(self, release: HashedWheel, target: Path, corrupt: str) -> None:
        """Put the wheel at ``target``; ``corrupt`` says what is wrong with the file now there."""
        try:
            if self.offline:
                raise Unavailable(f"{release.wheel} is not cached, and this run is offline")
            with workspace(target.parent) as folder:
                self.notify(f"fetching {release.wheel}")
                fetched = self._download(release, folder)
                wrong = mismatch(fetched, release)
                if wrong:
                    raise SurroundingsError(
                        f"{wrong}; this is what the registry sent",
                        "retry; if it happens again, check for a proxy or a mirror",
                    )
                os.replace(fetched, target)
        except Unavailable as error:
            if corrupt:
                # Not "unavailable": that would hide a damaged file behind a missing registry.
                raise SurroundingsError(
                    f"{corrupt}; it could not be fetched again ({error}): delete the file"
                ) from error
            raise

    def _download(self, release: HashedWheel, folder: Path) -> Path:
        refused = run_pip(self.python, pip_arguments(release), folder, release.wheel)
        if refused:
            reason = last_meaningful_line(refused)
            raise Unavailable(f"pip could not fetch {release.wheel}: {reason}")
        fetched = folder / release.wheel
        if not fetched.is_file():
            found = ", ".join(sorted(entry.name for entry in folder.iterdir())) or "nothing"
            raise SurroundingsError(f"pip fetched {found} where {release.wheel} was asked for")
        return fetched


def run_pip(python: str, arguments: Sequence[str], folder: Path, what: str) -> str:
    """Let pip download into ``folder``. Returns its complaint, or an empty string on success.

    Args:
        what: what is fetched, for messages.
    """
    command = [python, "-m", "pip", *arguments, "-d", str(folder)]
    try:
        done = run(command, timeout_s=DOWNLOAD_TIMEOUT_S, if_missing="name a Python that has pip")
    except TookTooLong as error:
        raise Unavailable(f"{what}: pip fetched nothing in {DOWNLOAD_TIMEOUT_S:.0f} s") from error
    if done.code == 0:
        return ""
    if any(mark in done.complaint for mark in _OWN_FAILURES):
        reason = last_meaningful_line(done.complaint)
        raise SurroundingsError(f"pip could not fetch {what}: {reason}")
    return done.complaint or "pip said nothing"


def mismatch(path: Path, release: HashedWheel) -> str:
    """What is wrong with the file's SHA-256; empty if it is the release's."""
    status = path.stat()
    written = status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
    found = _sha256_of_written(path, written)
    if found == release.sha256:
        return ""
    return f"{path}: wrong SHA-256: expected {release.sha256}, found {found}"


@functools.cache
def _sha256_of_written(path: Path, _: tuple[int, ...]) -> str:
    """A file's SHA-256, read once as long as nobody writes to it: a command asks some times."""
    return sha256_of(path)


def pip_arguments(release: HashedWheel) -> list[str]:
    """What pip is told: this version, for the tags in its wheel's name, without dependencies."""
    project, version, _, tags = parse_wheel_filename(release.wheel)
    interpreter, abi = next((tag.interpreter, tag.abi) for tag in tags)
    platforms = sorted({tag.platform for tag in tags})
    return download_arguments(str(version), interpreter, abi, platforms, project)


def download_arguments(
    version: str,
    interpreter: str,
    abi: str,
    platforms: Iterable[str],
    project: str = "torch-tensorrt",
) -> list[str]:
    """What pip is told to find a wheel of this version for these tags.

    Args:
        interpreter: such as ``cp311``, or ``py3`` for any.
    """
    python = ".".join(part for part in (interpreter[2], interpreter[3:]) if part)
    return [
        "download",
        "--no-deps",
        "--only-binary=:all:",
        *(part for platform in platforms for part in ("--platform", platform)),
        "--python-version",
        python,
        "--implementation",
        interpreter[:2],
        "--abi",
        abi,
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar=off",
        f"{project}=={version}",
    ]


def last_meaningful_line(stderr: str) -> str:
    """pip's last error, and the broken connection behind it, which pip only reports as a warning.

    Without the latter, an unreachable registry would look like one that lacks the release.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    last = (errors or lines or ["pip said nothing"])[-1]
    if is_unreachable(stderr):
        return f"no registry could be reached ({last})"
    return last


def is_unreachable(stderr: str) -> bool:
    """Whether pip reported a broken connection."""
    return "connection broken by" in stderr
