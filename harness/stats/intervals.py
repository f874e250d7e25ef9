"""A number with its interval, as one type, and the ways to get one.

Means of blocks get Student's t interval, and shares of campaigns an exact one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A value and the interval around it; ``low`` <= ``high``, and both may be infinite."""

    value: float
    low: float
    high: float
    confidence: float  # 0 to 1, of this interval alone

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"a confidence lies between 0 and 1, not {self.confidence}")
        if self.low > self.high:
            raise ValueError(f"an interval from {self.low} to {self.high} is empty")

    def map(self, function: Callable[[float], float]) -> Estimate:
        """The same on another scale; ``function`` must be increasing."""
        return Estimate(
            function(self.value), function(self.low), function(self.high), self.confidence
        )


def t_interval(values: Sequence[float], confidence: float) -> Estimate:
    """The mean of independent values with Student's interval; without limits for a single one.

    Raises:
        ValueError: there is no value, or one is not finite.
    """
    from scipy import stats  # here: its import takes longer than most commands

    sample = _checked(values)
    mean = float(sample.mean())
    if sample.size < 2:
        return Estimate(mean, -math.inf, math.inf, confidence)
    reach = float(stats.t.ppf((1 + confidence) / 2, sample.size - 1)) * standard_error(values)
    return Estimate(mean, mean - reach, mean + reach, confidence)


def welch_interval(one: Sequence[float], other: Sequence[float], confidence: float) -> Estimate:
    """The difference of two means, ``other`` less ``one``, of samples with spreads of their own."""
    from scipy import stats  # here: its import takes longer than most commands

    a, b = _checked(one), _checked(other)
    difference = float(b.mean() - a.mean())
    if a.size < 2 or b.size < 2:
        return Estimate(difference, -math.inf, math.inf, confidence)
    part_a, part_b = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    error = math.sqrt(part_a + part_b)
    if error == 0:
        return Estimate(difference, difference, difference, confidence)
    freedom = (part_a + part_b) ** 2 / (part_a**2 / (a.size - 1) + part_b**2 / (b.size - 1))
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return Estimate(difference, difference - reach, difference + reach, confidence)


def clopper_pearson(hits: int, trials: int, confidence: float) -> Estimate:
    """A share with its exact interval, which covers at least as often as it says.

    Raises:
        ValueError: not 0 <= ``hits`` <= ``trials``, or no trial.
    """
    from scipy import stats  # here: its import takes longer than most commands

    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"{hits} of {trials} is no share")
    interval = stats.binomtest(hits, trials).proportion_ci(confidence, "exact")
    share = hits / trials
    # Rounding may leave an end a hair inside of the share itself.
    return Estimate(
        share, min(float(interval.low), share), max(float(interval.high), share), confidence
    )


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of at least two values."""
    sample = np.asarray(values, dtype=float)
    return float(sample.std(ddof=1)) / math.sqrt(sample.size)


def t_p_value(values: Sequence[float]) -> float:
    """The two-sided p-value for a mean of zero; 1 for fewer than two values."""
    from scipy import stats  # here: its import takes longer than most commands

    sample = _checked(values)
    if sample.size < 2:
        return 1.0
    mean, error = abs(float(sample.mean())), standard_error(values)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stats.t.sf(mean / error, sample.size - 1))


def _checked(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sample = np.asarray(values, dtype=np.float64).reshape(-1)
    if not sample.size:
        raise ValueError("an interval needs at least one value")
    if not np.isfinite(sample).all():
        raise ValueError("a value is not finite")
    return sample


class Change(enum.StrEnum):
    """What an interval says of a candidate. `inconclusive` does not mean "no change"."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"

    @property
    def decided(self) -> bool:
        return self is not Change.INCONCLUSIVE


def judge(effect: Estimate, band: float) -> Change:
    """The verdict on an effect.

    Args:
        effect: the log-ratio of candidate to baseline.
        band: the largest log-ratio that is accepted, above zero.

    The band counts first: a real slowdown of half a per cent is `equivalent` if five are allowed.
    `regressed` means slower beyond doubt, and maybe slower than allowed.
    """
    if band <= 0:
        raise ValueError(f"a band of {band} allows nothing")
    if -band < effect.low and effect.high < band:
        return Change.EQUIVALENT
    if effect.low > 0:
        return Change.REGRESSED
    if effect.high < 0:
        return Change.IMPROVED
    return Change.INCONCLUSIVE
