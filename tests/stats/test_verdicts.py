"""Four words, and which interval gets which."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.intervals import Change, Estimate, judge

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
