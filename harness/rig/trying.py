"""A try: one piece of work in a fork of this process, which may hang or die there.

The fork has all that this process has imported and made, and leaves nothing behind in it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from harness.rig.channel import die_with_parent, end_after


class Stopped(Exception):
    """Whoever asks wants no further tries."""


class CameToNothing(Exception):
    """A try raised, died, or was still at it when its time was over: what happened."""


class TookTooLong(CameToNothing):
    """Its time was over."""


def tried(
    work: Callable[[], Mapping[str, Any]], limit_s: float, stop: int | None = None
) -> dict[str, Any]:
    """What ``work`` returns in a fork, sent as JSON.

    Args:
        stop: a descriptor on which something comes where nobody waits any more.

    Raises:
        CameToNothing: it returned nothing.
        Stopped: something came on ``stop``.
    """
    theirs, ours = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(theirs)
        end_after(functools.partial(_answer, work, ours))
    os.close(ours)
    try:
        text = _read(theirs, time.monotonic() + limit_s, stop)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(theirs)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not text:
        how = (
            f"was killed by {signal.Signals(-code).name}"
            if code < 0
            else f"exited with code {code}"
        )
        raise CameToNothing(how)
    answer: dict[str, Any] = json.loads(text)
    if "raised" in answer:
        raise CameToNothing(answer["raised"])
    return answer


def _read(pipe: int, until: float, stop: int | None) -> bytes:
    parts: list[bytes] = []
    while True:
        left = until - time.monotonic()
        watched = [pipe] if stop is None else [pipe, stop]
        ready, _, _ = select.select(watched, [], [], max(left, 0))
        if not ready:
            raise TookTooLong("did not end in its time")
        if pipe not in ready:
            raise Stopped
        part = os.read(pipe, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _answer(work: Callable[[], Mapping[str, Any]], pipe: int) -> None:
    """Do the work in the fork, and write what it returns or what it raised."""
    die_with_parent()
    with contextlib.redirect_stdout(sys.stderr):
        try:
            answer = dict(work())
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            traceback.print_exc()
            answer = {"raised": f"{type(error).__name__}: {error}"}
    with os.fdopen(pipe, "wb") as stream:
        stream.write(json.dumps(answer).encode())
