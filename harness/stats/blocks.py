"""A block's three medians, and the two contrasts that are made of them.

A block measures the baseline, the candidate, and the baseline again under another name. With their
logarithms b, c and a:

    effect   c - (a + b) / 2     the candidate against both baselines
    control  a - b               the baseline against itself

Both baselines take part in the effect because that makes it a quarter less variable than c - b for
the same time spent. The two contrasts are orthogonal: where the three arms vary alike, what the
control says does not depend on what the effect says, and looking at one does not bias the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Block:
    """The medians of three workers, in seconds or bytes."""

    baseline: float
    candidate: float
    again: float

    def __post_init__(self) -> None:
        for value in (self.baseline, self.candidate, self.again):
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"a median of {value} has no logarithm")

    @classmethod
    def of(
        cls, baseline: Sequence[float], candidate: Sequence[float], again: Sequence[float]
    ) -> Block:
        """The block of three workers' samples."""
        return cls(median(baseline), median(candidate), median(again))

    @property
    def effect(self) -> float:
        """The log-ratio of the candidate to the baseline; above zero is slower."""
        both = (math.log(self.baseline) + math.log(self.again)) / 2
        return math.log(self.candidate) - both

    @property
    def control(self) -> float:
        """The log-ratio of the baseline to itself."""
        return math.log(self.again) - math.log(self.baseline)


def percent(log_ratio: float) -> float:
    """A log-ratio as a change in per cent: log(1.05) is 5. An unlimited one stays unlimited."""
    return 100 * math.expm1(log_ratio) if log_ratio < 700 else math.inf


def log_ratio(change_percent: float) -> float:
    """The inverse of `percent`."""
    if change_percent <= -100:
        raise ValueError(f"a change of {change_percent} % leaves nothing")
    return math.log1p(change_percent / 100)
