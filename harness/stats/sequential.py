"""When to look, and how much error each look may spend.

To test after every block at 1 % and stop at the first hit calls identical code different far more
often than in 1 % of all runs. Here an error of alpha is split over a few looks that are fixed by
the number of blocks, whatever the samples say: half of it over the looks on the way, half for the
last one, which comes when the time is up. By the union bound the sum holds however the looks hang
together, and whatever the number of blocks at the end.

A hypothesis has one p-value over all its looks, the least of those of the looks, each divided by
its share: what multiple looks cost is paid there, and Holm's correction over the cells is then
applied to it as to any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.stats.intervals import Change, Estimate, judge, standard_error, t_interval, t_p_value

INTERIM_LOOKS = (8, 12, 18, 27, 40, 60, 90, 135)  # blocks
INTERIM_SHARE = 0.5
POWER = 0.95  # of the smallest change that a cell could have seen


@dataclass(frozen=True)
class Look:
    """At how many blocks, and the share of alpha that may be spent there."""

    blocks: int
    share: float


@dataclass(frozen=True)
class Effect:
    """What the blocks of one hypothesis say, in log-ratios."""

    estimate: Estimate
    change: Change
    blocks: int
    p_value: float  # over all looks, not corrected for other hypotheses
    smallest_detectable: float  # a change of this size is called with probability `POWER`


def looks(blocks: int, final: bool) -> tuple[Look, ...]:
    """The looks that were taken up to this number of blocks; the last one only where it is over."""
    share = INTERIM_SHARE / len(INTERIM_LOOKS)
    taken = tuple(Look(at, share) for at in INTERIM_LOOKS if at <= blocks)
    return (*taken, Look(blocks, 1 - INTERIM_SHARE)) if final and blocks else taken


def p_over_looks(values: Sequence[float], final: bool) -> float:
    """The p-value of a hypothesis over all looks so far."""
    p_values = (t_p_value(values[: look.blocks]) / look.share for look in looks(len(values), final))
    return min([1.0, *p_values])


def decided_early(values: Sequence[float], band: float, alpha: float, hypotheses: int) -> bool:
    """Whether an interim look at exactly this number of blocks ends the sampling.

    Bonferroni over all hypotheses, which is never more lenient than Holm at the end.
    """
    if len(values) not in INTERIM_LOOKS:
        return False
    share = INTERIM_SHARE / len(INTERIM_LOOKS)
    estimate = t_interval(values, 1 - alpha * share / hypotheses)
    return judge(estimate, band).decided


def effects(
    samples: Sequence[Sequence[float]],
    bands: Sequence[float],
    alpha: float,
    stopped: Sequence[bool],
) -> list[Effect]:
    """The verdicts of one family of hypotheses, corrected together.

    Args:
        samples: of each hypothesis the log-ratios, one a block, in the order of time.
        bands: of each, as `judge` takes it.
        alpha: the probability that anything of the family is called different and is not.
        stopped: of each, whether an interim look ended its sampling (then the last look, with its
            share, was not taken).
    """
    p_values = [
        p_over_looks(values, not early) for values, early in zip(samples, stopped, strict=True)
    ]
    divided = divisors(p_values, alpha)
    return [
        _effect(values, band, alpha / divisor, p_value, early)
        for values, band, divisor, p_value, early in zip(
            samples, bands, divided, p_values, stopped, strict=True
        )
    ]


def _effect(
    values: Sequence[float], band: float, alpha: float, p_value: float, early: bool
) -> Effect:
    taken = looks(len(values), not early)
    if not taken:
        estimate = Estimate(
            sum(values) / len(values) if values else 0.0, -math.inf, math.inf, 1 - alpha
        )
        return Effect(estimate, Change.INCONCLUSIVE, len(values), p_value, math.inf)
    last = taken[-1]
    level = alpha * last.share
    estimate = t_interval(values[: last.blocks], 1 - level)
    return Effect(
        estimate=estimate,
        change=judge(estimate, band),
        blocks=len(values),
        p_value=p_value,
        smallest_detectable=smallest_detectable(values[: last.blocks], level),
    )


def smallest_detectable(values: Sequence[float], alpha: float, power: float = POWER) -> float:
    """The log-ratio that a two-sided t test at ``alpha`` would have called with this power."""
    from scipy import stats  # here: its import takes longer than most commands

    if len(values) < 2:
        return math.inf
    freedom = len(values) - 1
    reach = float(stats.t.ppf(1 - alpha / 2, freedom) + stats.t.ppf(power, freedom))
    return reach * standard_error(values)


def divisors(p_values: Sequence[float], alpha: float) -> list[int]:
    """The divisor of ``alpha`` for each hypothesis's own interval, by Holm's correction.

    Holm rejects the smallest p-value at alpha / m, the next at alpha / (m - 1), and stops at the
    first that is not below its share. That one and all later ones have the same divisor, so an
    interval excludes zero exactly if Holm rejects.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    divided = [1] * len(p_values)
    divisor = len(order)
    for rank, at in enumerate(order):
        divisor = len(order) - rank
        divided[at] = divisor
        if p_values[at] > alpha / divisor:
            for rest in order[rank:]:
                divided[rest] = divisor
            break
    return divided
