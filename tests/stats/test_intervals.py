"""An interval holds what it says, as often as it says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.intervals import (
    Change,
    Estimate,
    clopper_pearson,
    judge,
    t_interval,
    t_p_value,
    welch_interval,
)

numbers = st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=2, max_size=30)


@given(numbers, st.floats(0.5, 0.99))
def test_a_t_interval_holds_the_mean_and_grows_with_confidence(values, confidence):
    narrow, wide = t_interval(values, confidence), t_interval(values, confidence + 0.005)
    assert narrow.low <= narrow.value <= narrow.high
    assert wide.low <= narrow.low + 1e-9
    assert narrow.high <= wide.high + 1e-9


@given(numbers, st.floats(0.001, 0.5))
def test_a_p_value_and_an_interval_say_the_same(values, alpha):
    p_value, interval = t_p_value(values), t_interval(values, 1 - alpha)
    if abs(p_value - alpha) > 1e-6 and interval.high - interval.low > 2e-9:
        assert (p_value < alpha) == (not interval.low <= 0 <= interval.high)


def test_welch_covers_a_difference_of_samples_that_vary_unlike():
    generator = np.random.default_rng(6)
    hits = 0
    for _ in range(400):
        found = welch_interval(
            list(generator.normal(2, 0.1, 8)), list(generator.normal(2.5, 0.6, 15)), 0.95
        )
        hits += found.low <= 0.5 <= found.high
    assert 0.93 <= hits / 400 <= 0.98


def test_one_value_alone_has_no_limits():
    found = t_interval([2.0], 0.95)
    assert (found.value, found.low, found.high) == (2.0, -math.inf, math.inf)
    assert t_p_value([2.0]) == 1.0


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ValueError, match="value"):
        t_interval(values, 0.95)


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_share_lies_in_its_interval(hits, more):
    trials = hits + more
    found = clopper_pearson(hits, trials, 0.95)
    assert 0 <= found.low <= hits / trials <= found.high <= 1


def test_no_hit_in_three_hundred_leaves_little_more_than_a_per_cent():
    assert clopper_pearson(0, 300, 0.95).high == pytest.approx(0.0122, abs=1e-4)


BAND = math.log(1.05)


@pytest.mark.parametrize(
    ("low", "high", "change"),
    [
        (-0.01, 0.01, Change.EQUIVALENT),
        (0.002, 0.01, Change.EQUIVALENT),  # slower beyond doubt, by less than is allowed
        (0.002, 0.08, Change.REGRESSED),
        (0.20, 0.30, Change.REGRESSED),
        (-0.30, -0.20, Change.IMPROVED),
        (-0.09, -0.01, Change.IMPROVED),
        (-0.01, 0.06, Change.INCONCLUSIVE),
        (-math.inf, math.inf, Change.INCONCLUSIVE),
    ],
)
def test_an_interval_has_its_word(low, high, change):
    middle = 0.0 if math.isinf(low) else (low + high) / 2
    assert judge(Estimate(middle, low, high, 0.99), BAND) is change


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0.001, 0.5))
def test_a_candidate_and_a_baseline_that_change_places_change_the_word(middle, reach, band):
    there = judge(Estimate(middle, middle - reach, middle + reach, 0.99), band)
    back = judge(Estimate(-middle, -middle - reach, -middle + reach, 0.99), band)
    opposite = {Change.REGRESSED: Change.IMPROVED, Change.IMPROVED: Change.REGRESSED}
    assert back is opposite.get(there, there)


def test_only_inconclusive_is_undecided():
    assert [change for change in Change if not change.decided] == [Change.INCONCLUSIVE]
