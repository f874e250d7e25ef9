"""Zips of others, looked over before anything is read out of them."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

#: No wheel of Torch-TensorRT, TensorRT or torch has a tenth of these.
MOST_FILES: Final = 200_000
MOST_BYTES: Final = 64 * 10**9
#: Text becomes a fifth to a tenth of itself, and zeros a thousandth: over so many bytes nothing
#: honest becomes less than a hundredth.
MOST_RATIO: Final = 100
RATIO_FROM_BYTES: Final = 100 * 10**6


@contextmanager
def opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip, to be read.

    Raises:
        zipfile.BadZipFile: it is none, or it is one that nobody should unpack.
    """
    with zipfile.ZipFile(path) as archive:
        if reason := unsafe(archive.infolist()):
            raise zipfile.BadZipFile(reason)
        yield archive


def unsafe(entries: list[zipfile.ZipInfo]) -> str:
    """Why a zip with these entries is not to be unpacked; empty where nothing speaks against it."""
    if len(entries) > MOST_FILES:
        return f"it has {len(entries):,} files"
    for entry in entries:
        if reason := _unsafe_name(entry):
            return f"{entry.filename[:200]!r} {reason}"
    size = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if size > MOST_BYTES or (size > RATIO_FROM_BYTES and size > MOST_RATIO * packed):
        return f"it says that {packed:,} bytes become {size:,}"
    return ""


def _unsafe_name(entry: zipfile.ZipInfo) -> str:
    name = entry.orig_filename
    if "\\" in name or "\0" in name or PurePosixPath(name).is_absolute():
        return "is no path inside of it"
    if ".." in PurePosixPath(name).parts:
        return "leads out of it"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link"
    return ""
