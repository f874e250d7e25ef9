"""Dropping a file from the page cache, and seeing whether it is gone."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path


def drop_from_cache(path: Path) -> None:
    """Have the system forget a file's pages, written back first: a dirty page cannot be dropped."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def resident_share(path: Path) -> float | None:
    """The part of a file that is in memory, 0 to 1; None where the system does not tell.

    A file system in memory keeps all of it, and a cold load from there is none.
    """
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    library = ctypes.CDLL(None, use_errno=True)
    if not size or not hasattr(library, "mincore"):
        return None
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        found = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(mapped)
        failed = library.mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), found
        )
        del start  # the map cannot be closed while a pointer into it lives
    return None if failed else sum(page & 1 for page in found) / pages
