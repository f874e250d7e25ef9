"""Work in a forked process, which shares this one's memory and need not be sent anything.

The work leaves its results on the disk. Only one fork may run at a time, because a process with
other threads must not be forked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from harness.base.errors import SurroundingsError

_work: list[Callable[[], object]] = []  # of a fork alone: to be handed over, it would be pickled


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[None]:
    """Do ``work`` in a fork while the body runs; leaving the body waits for it."""
    with ProcessPoolExecutor(1, get_context("fork"), _work.append, (work,)) as pool:
        ended = pool.submit(_do)
        yield
    try:
        ended.result()
    except BrokenProcessPool as error:
        raise SurroundingsError(
            "a process that wrote a part of the report was killed; see whether memory is short"
        ) from error


def _do() -> None:
    _work[-1]()
