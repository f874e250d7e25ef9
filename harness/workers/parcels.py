"""Files and folders that travel to another machine once, and are found there by their content."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.toolchain.cache import PACKAGES, SHIPPED, guarded, locked, workspace
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.fingerprint import digest_of_content

_CHUNK_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True)
class Parcel:
    """A file or a folder, and its digest; a package's folder, whose name is one, has none."""

    source: Path
    digest: str

    def place(self, cache: Path) -> Path:
        """Where it lies below the cache of a machine that it travelled to."""
        if not self.digest:  # beside others of its kind, as a package looks for its TensorRT there
            return cache / PACKAGES / self.source.name
        return cache / SHIPPED / self.digest / self.source.name

    def found(self, cache: Path) -> Path | None:
        """Where this machine has it, if it does: at its source, too, where disks are shared."""
        place = self.place(cache)
        if place.exists():
            return place
        if not self.source.exists():
            return None
        same = not self.digest or digest_of_content([self.source], cache) == self.digest
        return self.source if same else None

    def chunks(self) -> Iterator[bytes]:
        """Its content, to be given to `unpack`."""
        sink = _Chunks()
        with tarfile.open(fileobj=sink, mode="w|") as archive:  # type: ignore[call-overload]
            for path in _members(self.source):
                archive.add(path, path.relative_to(self.source.parent), recursive=False)
                yield from sink.full()
        yield from sink.rest()

    def unpack(self, chunks: Iterable[bytes], cache: Path) -> Path:
        """Put it into this machine's cache, if nobody else did meanwhile."""
        target = self.place(cache)
        with locked(cache, f"{self.digest}{target.name}"):
            found = self.found(cache)
            if found is not None:
                return found
            with workspace(cache) as folder, guarded(target):
                with tarfile.open(fileobj=_Joined(chunks), mode="r|") as archive:
                    archive.extractall(folder, filter="data")
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(folder / target.name, target)
        return target


def parcel_of(source: Path, cache: Path) -> Parcel:
    """The parcel of a file or folder of the machine that has this cache."""
    if source.parent == cache / PACKAGES:
        return Parcel(source, "")
    return Parcel(source, digest_of_content([source], cache))


def moved(message: Any, places: dict[str, str]) -> Any:
    """A message in which every path in ``places``, or directly below one, is where it is here."""
    if isinstance(message, str):
        folder, slash, name = message.rpartition("/")
        if message in places or folder not in places:
            return places.get(message, message)
        return f"{places[folder]}{slash}{name}"
    if isinstance(message, dict):
        return {name: moved(value, places) for name, value in message.items()}
    if isinstance(message, list | tuple):
        return [moved(value, places) for value in message]
    return message


def _members(source: Path) -> Iterator[Path]:
    yield source
    if source.is_dir():
        yield from sorted(source.rglob("*"))


class _Chunks:
    """A sink for a tar archive that gives back what was written, in pieces of one size."""

    def __init__(self) -> None:
        self._written = io.BytesIO()

    def write(self, data: bytes) -> int:
        return self._written.write(data)

    def full(self) -> Iterator[bytes]:
        if self._written.tell() >= _CHUNK_BYTES:
            yield from self.rest()

    def rest(self) -> Iterator[bytes]:
        yield self._written.getvalue()
        self._written = io.BytesIO()


class _Joined(io.RawIOBase):
    """Pieces as one file to read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._chunks, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def own_sources(folder: Path) -> Path:
    """A copy of this program alone, which travels to each machine that runs a part of it."""
    for name in ("harness", "corpus"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PROJECT_ROOT / name, folder / name, ignore=ignored)
    project = PROJECT_ROOT / "pyproject.toml"
    if project.is_file():
        shutil.copy(project, folder)
    return folder
