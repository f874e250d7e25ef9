"""Finds the first of several candidates that shows a defect, in the least number of runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.base.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Bisected(Generic[T]):
    """The answer: ``first`` shows it and ``last_good`` does not.

    What lies between the two could not be asked, and may be the first one in truth.
    """

    last_good: T
    first: T
    between: tuple[T, ...]
    runs: int


def first_showing(items: Sequence[T], shows: Callable[[T], bool | None]) -> Bisected[T]:
    """The first item that shows what the last one shows and the first one does not.

    Args:
        items: the good one, those between in their order, and the bad one.
        shows: asks an item; None where it could not be asked. Its neighbours are asked then.

    Raises:
        UsageError: the good one shows it, or the bad one does not.
    """
    asked: dict[int, bool | None] = {}

    def ask(at: int) -> bool | None:
        if at not in asked:
            asked[at] = shows(items[at])
        return asked[at]

    good, bad = 0, len(items) - 1
    if ask(bad) is not True:
        raise UsageError(f"--bad {items[bad]}: {_not(asked[bad], 'does not show it')}")
    if ask(good) is not False:
        raise UsageError(f"--good {items[good]}: {_not(asked[good], 'shows it, too')}")
    while True:
        open_ = [at for at in range(good + 1, bad) if asked.get(at, True) is not None]
        if not open_:
            break
        middle = (good + bad) / 2
        at = min(open_, key=lambda at: abs(at - middle))
        told = ask(at)
        if told is not None:
            good, bad = (good, at) if told else (at, bad)
    return Bisected(items[good], items[bad], tuple(items[good + 1 : bad]), len(asked))


def _not(told: bool | None, otherwise: str) -> str:
    return "could not be asked" if told is None else otherwise
