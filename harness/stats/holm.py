"""Several hypotheses at once: Holm's correction, and the divisor that each interval then has."""

from __future__ import annotations

from collections.abc import Sequence


def divisors(p_values: Sequence[float], alpha: float) -> list[int]:
    """By what ``alpha`` is divided for each hypothesis's own interval.

    Holm rejects the smallest p-value at alpha / m, the next at alpha / (m - 1), and stops at the
    first that is not below its share; that one and all that follow have its share. So an interval
    excludes zero exactly if Holm rejects.
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    found = [1] * len(p_values)
    divisor = len(order)
    for rank, at in enumerate(order):
        divisor = len(order) - rank
        found[at] = divisor
        if p_values[at] > alpha / divisor:
            for rest in order[rank:]:
                found[rest] = divisor
            break
    return found
