"""What is in a folder, as a digest of all that Python may import there.

To read an environment takes seconds, and to look at it a third of one. So a digest is remembered
under the state of every file: its size, its place on the disk and its times, of which the one of
the last change cannot be set by anybody.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.base.files import replace_file, sha256_of
from harness.toolchain.cache import CHOOSE, FINGERPRINTS, guarded

#: Bytecode follows from sources; what pip writes about an installation names its place and its day.
_IGNORED_FOLDERS: Final = frozenset({"__pycache__"})
_IGNORED_FILES: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
_REMEMBERED: Final = 100
_AT_ONCE: Final = 2
_NOTHING: Final[Mapping[Path, list[FileState]]] = {}


@dataclass(frozen=True)
class FileState:
    """A file below a folder, and what changes whenever somebody writes to it."""

    name: str  # below the folder, with slashes
    path: str
    state: tuple[int, ...]


def states_of(folder: Path) -> list[FileState]:
    """Every file below a folder that counts, by name. A single file counts as itself."""
    if folder.is_file():
        return [FileState(folder.name, str(folder), _state(folder.stat()))]
    return sorted(_states(folder, ""), key=lambda each: each.name)


def signature_of(states: Iterable[FileState]) -> str:
    """SHA-256, as hex: another one as soon as any of the files was written, made or removed."""
    lines = (f"{each.path}\0{each.state}" for each in states)
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def remembered_digest(folders: Sequence[Path], cache: Path) -> str | None:
    """What `digest_of_content` found when it read folders that nobody wrote to since; else None."""
    with guarded(folders[0], "it has to be readable"):
        signature = signature_of(each for folder in folders for each in states_of(folder))
    return _remembered(cache / FINGERPRINTS / signature)


def _remembered(place: Path) -> str | None:
    with guarded(place):
        if not place.is_file():
            return None
        known = place.read_text(encoding="ascii").strip()
        if len(known) != len(place.name):  # written by nobody of ours
            return None
        os.utime(place)
        return known


def digest_of_content(
    folders: Sequence[Path], cache: Path, looked: Mapping[Path, list[FileState]] = _NOTHING
) -> str:
    """SHA-256, as hex, over the names and contents of what is in folders, wherever these lie.

    Args:
        cache: remembers what was read, so that it is read once.
        looked: what `states_of` found in some of them a moment ago.

    Raises:
        SurroundingsError: a folder cannot be read, or the cache not be written.
    """
    with guarded(folders[0], "it has to be readable"):
        states = [looked.get(folder) or states_of(folder) for folder in folders]
    signature = signature_of(each for some in states for each in some)
    place = cache / FINGERPRINTS / signature
    known = _remembered(place)
    if known is not None:
        return known
    digest = hashlib.sha256()
    with guarded(folders[0], "it has to be readable"), ThreadPoolExecutor(_AT_ONCE) as readers:
        for some in states:
            hashes = readers.map(sha256_of, (Path(each.path) for each in some))
            for each, content in zip(some, hashes, strict=True):
                digest.update(f"{each.name}\0{content}\0".encode(errors="surrogateescape"))
            digest.update(b"\0\0")
        again = [states_of(folder) for folder in folders]
    if again != states:  # somebody is writing: this is the digest of no moment
        return digest_of_content(folders, cache)
    with guarded(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(place.parent)
    replace_file(place, digest.hexdigest().encode(), CHOOSE)
    return digest.hexdigest()


def _states(folder: Path | str, below: str) -> Iterator[FileState]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _IGNORED_FOLDERS:
                    yield from _states(entry.path, f"{name}/")
            elif entry.name not in _IGNORED_FILES and not entry.name.endswith(".pyc"):
                if entry.is_symlink() and entry.is_dir():
                    yield from _states(entry.path, f"{name}/")
                elif entry.is_file():
                    yield FileState(name, entry.path, _state(entry.stat()))


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _forget_old(folder: Path) -> None:
    known = []
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process writes, or forgets, too
            known.append((path.stat().st_mtime, path))
    for _, path in sorted(known)[: max(0, len(known) - _REMEMBERED + 1)]:
        path.unlink(missing_ok=True)
