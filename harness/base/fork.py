"""Work in a forked process, which shares this one's memory and need not be sent anything.

The work leaves its results on the disk. All forks that run at a time are made at once, because a
process with other threads must not be forked.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from harness.base.errors import SurroundingsError

_works: list[Callable[[], object]] = []  # of forks alone: to be handed over, they would be pickled


@contextmanager
def forked(*works: Callable[[], object]) -> Iterator[None]:
    """Do each of ``works`` in a fork while the body runs; leaving the body waits for them."""
    gc.freeze()  # or each fork copies the pages that its collections mark
    try:
        with ProcessPoolExecutor(len(works), get_context("fork"), _works.extend, (works,)) as pool:
            ended = [pool.submit(_do, number) for number in range(len(works))]
            yield
    finally:
        gc.unfreeze()
    try:
        for each in ended:
            each.result()
    except BrokenProcessPool as error:
        raise SurroundingsError(
            "a process that wrote a part of the report was killed; see whether memory is short"
        ) from error


def _do(number: int) -> None:
    _works[number]()
