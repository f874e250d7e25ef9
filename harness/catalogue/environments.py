"""The torch of a run: the pinned one, or the one that the judged releases pin."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from harness.base.errors import UsageError
from harness.catalogue.releases import Catalogue, Release
from harness.wire.builders import MATCHED, PINNED, Environment


def matched_name(torch_version: str) -> Environment:
    """The name of a matched environment, such as ``torch-2.14.0``, without torch's build."""
    return Environment(f"torch-{Version(torch_version).base_version}")


def series_name(torch_version: str) -> str:
    """The name under which the tables know a torch and each of its patches, as ``torch-2.14``."""
    return matched_name(torch_version).series


def pins_torch(pinned: str, running: str) -> bool:
    """Whether a torch is the pinned one or another patch release of it."""
    return Version(pinned).release[:2] == Version(running).release[:2]


def releases_in(environment: str, asked: str, running: str, catalogue: Catalogue) -> str:
    """The releases of a run as `Catalogue.select` takes them; in a matched environment its own."""
    if environment == PINNED:
        return asked
    if environment != MATCHED:
        raise UsageError(f"--environment {environment!r}: {PINNED} or {MATCHED}")
    chosen = catalogue.select(asked) if asked else tuple(catalogue)
    fitting = [release for release in chosen if pins_torch(release.pins.torch, running)]
    if not fitting or (asked and len(fitting) < len(chosen)):
        raise UsageError(
            f"--environment {MATCHED}: torch {running} is installed here, but "
            f"{_pinned(release for release in chosen if release not in fitting)}; "
            "`nox -s stack` makes an environment for each release"
        )
    return ",".join(release.version for release in fitting)


def installed_bytes(prefix: Path) -> int:
    """The bytes on the disk below a folder; a file with several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    for entry in _files(prefix):
        status = entry.stat(follow_symlinks=False)
        seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))
            else:
                yield entry


def _pinned(releases: Iterator[Release] | Sequence[Release]) -> str:
    return ", ".join(f"{release.version} pins {release.pins.torch}" for release in releases)
