"""Which files a user's own cases open beside themselves, such as weights, while they are built."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

#: What lies in these is no user's, even where his model lies above them.
_OTHERS: Final = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parents[2])
_CACHED: Final = ".pyc"


class OpenedFiles:
    """Keeps the path of every file that Python opens to be read in this process, from now on.

    A library that opens files without Python's own `open`, as safetensors does, is not seen.
    """

    def __init__(self) -> None:
        self._paths: set[str] = set()
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(arguments[0], int):
            return
        path, mode = os.fsdecode(arguments[0]), arguments[1]
        if mode is None or "r" in mode:
            self._paths.add(os.path.abspath(path))

    def add(self, paths: Collection[str]) -> None:
        """Add what another process has opened."""
        self._paths |= {*paths}

    def below(self, files: Collection[Path]) -> list[str]:
        """Return the opened files beside some files or in folders below, without hidden ones.

        A module that was imported counts with its source.
        """
        folders = {file.parent for file in files}
        return sorted({str(path) for path in map(_source_of, self._paths) if _is_in(path, folders)})


def _source_of(path: str) -> Path:
    return Path(importlib.util.source_from_cache(path) if path.endswith(_CACHED) else path)


def _is_in(path: Path, folders: set[Path]) -> bool:
    above = folders.intersection(path.parents)
    if not above or any(other in path.parents for other in _OTHERS) or not path.is_file():
        return False
    return any(
        not any(part.startswith(".") for part in path.relative_to(folder).parts) for folder in above
    )
