"""The exponent by which time grows with size: 1 is linear, 2 is quadratic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.stats.intervals import Estimate


@dataclass(frozen=True)
class Growth:
    """A fitted power law.

    ``robust`` is the slope by Theil and Sen, which one bad size does not move. ``upper`` is the
    exponent over the larger half of the sizes, where a constant part no longer hides it; None if
    these are fewer than three.
    """

    exponent: Estimate
    robust: float
    upper: Estimate | None


def growth(sizes: Sequence[float], times: Sequence[float], confidence: float) -> Growth:
    """Fit log(time) over log(size); a size may come several times.

    Raises:
        ValueError: fewer than three points or two sizes, or a number that has no logarithm.
    """
    from scipy import stats  # here: its import takes longer than most commands

    if len(sizes) != len(times) or len(sizes) < 3 or len(set(sizes)) < 2:
        raise ValueError("an exponent needs at least three points of at least two sizes")
    if not all(value > 0 and math.isfinite(value) for value in (*sizes, *times)):
        raise ValueError("a size or a time has no logarithm")
    middle = float(np.median(sorted(set(sizes))))
    upper = [(size, time) for size, time in zip(sizes, times, strict=True) if size >= middle]
    upper_sizes, upper_times = [size for size, _ in upper], [time for _, time in upper]
    return Growth(
        exponent=_slope(sizes, times, confidence),
        robust=float(stats.theilslopes(np.log(times), np.log(sizes)).slope),
        upper=_slope(upper_sizes, upper_times, confidence) if len(set(upper_sizes)) > 2 else None,
    )


def _slope(sizes: Sequence[float], times: Sequence[float], confidence: float) -> Estimate:
    from scipy import stats  # here: its import takes longer than most commands

    fit = stats.linregress(np.log(sizes), np.log(times))
    reach = float(stats.t.ppf((1 + confidence) / 2, len(sizes) - 2)) * float(fit.stderr)
    slope = float(fit.slope)
    return Estimate(slope, slope - reach, slope + reach, confidence)
