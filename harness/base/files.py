"""Files that are written whole or not at all, even after a kill or a power cut; and digests."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from harness.base.errors import SurroundingsError

_SOURCE_SUFFIXES: Final = frozenset({".py", ".json"})
_ADVICE: Final = (
    "free or open that place, or choose another, with --out DIR where the command has it"
)


def replace_file(path: Path, data: bytes, advice: str = _ADVICE, *, durable: bool = True) -> None:
    """Give ``path`` the content ``data``; a reader sees the old content or the new, never a part.

    Args:
        durable: whether it is on the disk when this returns. Pass False for what can be made
            again: waiting for the disk takes longer than writing.

    Raises:
        SurroundingsError: the place cannot be written; names the path and carries ``advice``.
    """
    temporary = _temporary_name(path)
    with written_to(path, advice):
        try:
            # Not tempfile: its files are for the owner alone, and a result is for everybody.
            with temporary.open("xb") as stream:
                stream.write(data)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        if durable:
            sync_folder(path.parent)


def replace_link(path: Path, target: str) -> None:
    """Make ``path`` a symbolic link to ``target``, in one step."""
    temporary = _temporary_name(path)
    with written_to(path):
        try:
            temporary.symlink_to(target)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable: a file's own fsync does not cover its name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def written_to(path: Path, advice: str = _ADVICE) -> Iterator[None]:
    """Turn an OSError while ``path`` is written into a SurroundingsError with ``advice``."""
    try:
        yield
    except OSError as error:
        raise SurroundingsError(
            f"cannot write {path}: {error.strerror or error}", advice
        ) from error


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")


def sha256_of(path: Path) -> str:
    """The file's SHA-256, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(folders: Iterable[Path], *others: str) -> str:
    """SHA-256, as hex, over the names and contents of all sources (.py, .json) below folders."""
    digest = hashlib.sha256("\0".join(others).encode())
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _SOURCE_SUFFIXES):
            digest.update(b"\0" + path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
