"""Change points of a trend: where a series of runs moved to another level, and stayed there.

Binary segmentation: the split that explains most is kept if a permutation test says that chance
would seldom do as well, and both parts are then split in turn. Permutations rather than a formula,
since a history of twenty runs is short and its spread is not normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Series = np.ndarray[tuple[int], np.dtype[np.float64]]

LEAST = 3  # values on either side: two outliers in a row are no new level
PERMUTATIONS = 1999


@dataclass(frozen=True)
class ChangePoint:
    """The first index of the new level, both levels (means), and how rare chance makes it."""

    at: int
    before: float
    after: float
    p_value: float


def change_points(
    values: Sequence[float], alpha: float = 0.01, seed: int = 0
) -> tuple[ChangePoint, ...]:
    """Every change of level, in order.

    Args:
        values: in the order of time; log-seconds or log-ratios, so that levels are compared by
            their ratio.
        alpha: for each split that is tried.
    """
    series: Series = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    cuts = sorted(_cuts(series, 0, alpha, generator))
    ends = [0, *(at for at, _ in cuts), len(series)]
    return tuple(
        ChangePoint(
            at,
            float(series[ends[number] : at].mean()),
            float(series[at : ends[number + 2]].mean()),
            p_value,
        )
        for number, (at, p_value) in enumerate(cuts)
    )


def _cuts(
    series: Series, start: int, alpha: float, generator: np.random.Generator
) -> list[tuple[int, float]]:
    if len(series) < 2 * LEAST or float(np.ptp(series)) == 0.0:
        return []
    gains = _gains(series)
    best = int(gains.argmax())
    chance = sum(
        float(_gains(generator.permutation(series)).max()) >= float(gains[best])
        for _ in range(PERMUTATIONS)
    )
    p_value = (chance + 1) / (PERMUTATIONS + 1)
    if p_value > alpha:
        return []
    at = best + LEAST
    return [
        (start + at, p_value),
        *_cuts(series[:at], start, alpha, generator),
        *_cuts(series[at:], start + at, alpha, generator),
    ]


def _gains(series: Series) -> Series:
    """By how much each possible split lowers the sum of squares."""
    count = len(series)
    sums = np.cumsum(series - series.mean())[LEAST - 1 : count - LEAST]
    left = np.arange(LEAST, count - LEAST + 1)
    gains: Series = sums**2 * count / (left * (count - left))
    return gains
