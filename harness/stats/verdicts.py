"""From an interval and a band to one of four words."""

from __future__ import annotations

import enum

from harness.stats.intervals import Estimate


class Change(enum.StrEnum):
    """What an interval says of a candidate. `inconclusive` is no "no change"."""

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
        band: the largest log-ratio that is put up with, above zero.

    Inside of the band counts first: a slowdown of half a per cent that is real, where five are
    allowed, is `equivalent`. `regressed` is what is slower beyond doubt, and may be slower than
    allowed.
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
