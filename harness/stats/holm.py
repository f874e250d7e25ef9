"""Several hypotheses at once: Holm's correction, and the divisor that each interval then has."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given; below alpha together with its family."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    found = [0.0] * len(p_values)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[at]))
        found[at] = highest
    return found


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
