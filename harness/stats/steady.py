"""Whether a worker's calls were warm: checked, not assumed.

A worker calls one thing over and over. Its first calls are slower: caches are empty, memory is not
mapped, code paths have not been specialised. How many have to be left out is read off series that
left out none, and the calls that were kept are checked once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.stats.intervals import Estimate, t_interval

TOLERATED = 0.05  # a first kept call may be this much slower than those after it


def warm_up_needed(series: Sequence[Sequence[float]], most: int) -> int:
    """The least number of calls to leave out, so that the next is as fast as those after it.

    Args:
        series: the calls of several workers that left out none, each in the order of time and
            longer than ``most``.
        most: the answer at most, also where no number of calls will do.
    """
    for skipped in range(most):
        slower = median(
            calls[skipped] / median(calls[skipped + 1 :]) - 1 for calls in series if len(calls) > 1
        )
        if slower <= TOLERATED:
            return skipped
    return most


@dataclass(frozen=True)
class Steadiness:
    """How much slower the first kept call of a worker is than those after it (a log-ratio)."""

    first: Estimate
    steady: bool


def steadiness(series: Sequence[Sequence[float]], confidence: float) -> Steadiness | None:
    """The steadiness of many workers' kept calls; None if there are too few.

    Calls are unsteady only if the first is slower beyond doubt, and by more than is tolerated.
    """
    slower = [
        math.log(calls[0]) - math.log(median(calls[1:])) for calls in series if len(calls) >= 3
    ]
    if len(slower) < 3:
        return None
    first = t_interval(slower, confidence)
    return Steadiness(first, first.low <= math.log1p(TOLERATED))
