"""What the rig's Python answered about the project's own sources, kept while they are the same.

To ask takes as long as importing torch. An answer is kept under a digest of all that it can depend
on: the sources of corpus and rig, the Python, and its torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.base.files import digest_of, replace_file
from harness.toolchain.cache import ANSWERS, CHOOSE, guarded
from harness.toolchain.environment import PROJECT_ROOT

SOURCES = tuple(PROJECT_ROOT / name for name in ("corpus", "harness/rig", "harness/wire"))


def kept(cache: Path, python: str, ask: Callable[[], str]) -> str:
    """What ``ask`` returned when it was last called with the same sources; else what it does now.

    Of another Python than this one nothing is known that could tell whether it is still the same.
    """
    if python != sys.executable:
        return ask()
    digest = digest_of(SOURCES, _torch(), sys.version, python)
    folder = cache / ANSWERS
    place = folder / digest
    with guarded(place):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    answer = ask()
    if digest_of(SOURCES, _torch(), sys.version, python) != digest:
        return answer  # somebody is editing
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.iterdir():
            older.unlink(missing_ok=True)
    replace_file(place, answer.encode(), CHOOSE)
    return answer


def _torch() -> str:
    try:
        return version("torch")
    except PackageNotFoundError:  # whoever asks will say so
        return ""
