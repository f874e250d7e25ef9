"""Work that may end the process which does it, tried in a fork first."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress


def dies(work: Callable[[], object]) -> str:
    """How a fork of this process ends that does ``work``, or nothing where it comes to its end.

    What it raises is an end as well: it is raised again where the work is done in this process.
    """
    theirs, ours = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with suppress(Exception):
                work()
            os.write(ours, b"!")
        finally:
            os._exit(1)
    os.close(ours)
    with os.fdopen(theirs, "rb", buffering=0) as pipe:
        ended = pipe.read(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if ended:
        return ""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
