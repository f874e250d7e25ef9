"""What other rules would have said of the same samples, for a table beside our own.

They take two plain lists of seconds, and so pool the calls of all workers as if each were evidence
of its own. All three are used in the field; `pyperf_differs` is pyperf's `compare_to` (a pooled
two-sample t test at 95 %, and means that are told apart by 5 % where asked).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median

from scipy import stats

BARE_THRESHOLD = 0.05
POOLED_ALPHA = 0.01
PYPERF_ALPHA = 0.05


def pooled_t_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """Student's t test on all calls, at 1 %."""
    return _p_value(one, other) < POOLED_ALPHA


def threshold_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """Medians more than 5 % apart, either way."""
    return not 1 / (1 + BARE_THRESHOLD) <= median(other) / median(one) <= 1 + BARE_THRESHOLD


def pyperf_differs(one: Sequence[float], other: Sequence[float]) -> bool:
    """As `pyperf compare_to` decides whether a difference is significant."""
    return _p_value(one, other) <= PYPERF_ALPHA


def slower(one: Sequence[float], other: Sequence[float]) -> bool:
    return mean(other) > mean(one)


def _p_value(one: Sequence[float], other: Sequence[float]) -> float:
    return float(stats.ttest_ind(one, other).pvalue)
