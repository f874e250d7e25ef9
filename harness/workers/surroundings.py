"""What a worker process finds around it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Final

from harness.toolchain.environment import PROJECT_ROOT

# One thread each: workers share the cores, sums keep their order of addition, and a process with a
# warm thread pool cannot be forked.
_ONE_THREAD: Final[Mapping[str, str]] = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Where one worker's temporary files lie; who ends the worker removes the folder.

    Releases keep the caches of their timings and of their runtime in the machine's temporary
    folder, locked while they are written: workers would wait for each other there, and use and
    change what the user's own programs have cached. And a worker that is killed leaves its files.
    """
    return tempfile.TemporaryDirectory(prefix="harness-worker-", ignore_cleanup_errors=True)


def environment(temporary: str, seed: int = 0) -> dict[str, str]:
    """The environment variables of a worker whose temporary folder that is.

    Args:
        seed: of the run. It decides in which order a set of texts is walked through, too, so that
            another seed shows an inliner that depends on it.
    """
    return {
        **os.environ,
        **_ONE_THREAD,
        "PYTHONPATH": str(PROJECT_ROOT),
        "PYTHONHASHSEED": str(seed % 2**32),
        "TMPDIR": temporary,
    }
