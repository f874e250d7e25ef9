"""An environment of what a lock file lists, made once a machine and found by its content."""

from __future__ import annotations

import hashlib
import sys
import venv
from pathlib import Path

from harness.base.errors import SurroundingsError
from harness.base.process import run
from harness.toolchain.cache import ENVIRONMENTS, guarded, locked

_INSTALL_TIMEOUT_S = 3600.0
_STAMP = "complete"


def locked_python(cache: Path, lock: str) -> str:
    """The Python of the environment, which has the version of the one that runs this.

    Raises:
        SurroundingsError: pip does not install what the lock lists.
    """
    digest = hashlib.sha256(f"{sys.version}\0{lock}".encode()).hexdigest()
    place = cache / ENVIRONMENTS / digest
    python = place / "bin" / "python"
    with locked(cache, digest, _INSTALL_TIMEOUT_S):
        if not (place / _STAMP).is_file():
            with guarded(place):
                venv.EnvBuilder(clear=True, with_pip=True).create(place)
                listed = place / "lock.txt"
                listed.write_text(lock, encoding="utf-8")
            install = ["-m", "pip", "install", "-q", "--require-hashes", "-r", str(listed)]
            done = run([str(python), *install], timeout_s=_INSTALL_TIMEOUT_S)
            if done.code != 0:
                raise SurroundingsError(
                    f"{place}: pip cannot install the lock: {done.last_words}",
                    "or name a Python that has torch, with INLINER_REGRESS_PYTHON=FILE on the node",
                )
            with guarded(place):
                (place / _STAMP).touch()
    return str(python)
