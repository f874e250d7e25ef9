"""The cache folder: locked, written atomically, verified, cleaned.

Everything in it can be made again, and nobody checks a file that is found there. So everything is
made under a temporary name and moved into place when it is complete.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import filelock

from harness.base.errors import SurroundingsError

WHEELS: Final = "wheels"
NATIVE: Final = "native"
PACKAGES: Final = "packages"
ENGINES: Final = "engines"
ANSWERS: Final = "answers"
KEPT: Final = "kept"
CANDIDATES: Final = "candidates"
FINGERPRINTS: Final = "fingerprints"
FACTS: Final = "facts"
SHIPPED: Final = "shipped"
ENVIRONMENTS: Final = "environments"
_LOCKS: Final = "locks"
#: What to do where the cache cannot be written.
CHOOSE: Final = "choose a cache folder that can be written, with INLINER_REGRESS_CACHE=DIR"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def guarded(path: Path, advice: str = CHOOSE) -> Iterator[None]:
    """Turn an OSError about ``path`` into a SurroundingsError with ``advice``."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            advice = "free some space there, or choose another folder (INLINER_REGRESS_CACHE=DIR)"
        reason = error.strerror or str(error)
        raise SurroundingsError(f"{error.filename or path}: {reason}", advice) from error


@contextmanager
def locked(cache: Path, name: str, timeout_s: float = 900.0) -> Iterator[None]:
    """Hold the lock of one thing in the cache, so that two runs do not make it at once."""
    path = cache / _LOCKS / f"{name}.lock"
    lock = filelock.FileLock(path)
    with guarded(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=timeout_s)
        except filelock.Timeout as error:  # an OSError too: `guarded` would call it unwritable
            raise SurroundingsError(
                f"{path}: held by another process for {timeout_s:.0f} s", "end it, or wait for it"
            ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    """An empty temporary folder in ``folder``, from which results can be moved in one step."""
    with guarded(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".making-") as temporary:
            yield Path(temporary)


def clean(
    cache: Path,
    *,
    wheels: bool = True,
    native: bool = True,
    packages: bool = True,
    kept: bool = True,
) -> int:
    """Remove cached wheels, native builds (and what the rig answered), packages with their
    engines, what came from another machine with its environment, and kept verdicts.

    It returns the number of bytes that were freed.

    Nothing else in the folder is touched, so that a wrong path does no harm.
    """
    asked = {
        WHEELS: wheels,
        NATIVE: native,
        ANSWERS: native,
        FINGERPRINTS: native,
        FACTS: native,
        PACKAGES: packages,
        ENGINES: packages,
        CANDIDATES: packages,
        SHIPPED: packages,
        ENVIRONMENTS: packages,
        KEPT: kept,
    }
    folders = [cache / name for name, wanted in asked.items() if wanted]
    freed_bytes = 0
    for folder in folders:
        with guarded(folder):
            if folder.is_dir():
                freed_bytes += sum(
                    file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()
                )
                shutil.rmtree(folder)
    return freed_bytes
