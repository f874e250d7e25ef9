"""A block's contrasts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.blocks import Block, log_ratio, percent

seconds = st.floats(1e-6, 1e3)


@given(seconds, seconds, seconds, st.floats(0.01, 100))
def test_a_machine_that_is_slower_in_a_block_changes_neither_contrast(
    baseline, candidate, again, slower
):
    fast = Block(baseline, candidate, again)
    slow = Block(baseline * slower, candidate * slower, again * slower)
    assert slow.effect == pytest.approx(fast.effect, abs=1e-9)
    assert slow.control == pytest.approx(fast.control, abs=1e-9)


def test_the_effect_and_the_control_do_not_depend_on_one_another():
    generator = np.random.default_rng(2)
    blocks = [Block(*np.exp(generator.normal(0, 0.05, 3))) for _ in range(4000)]
    found = np.corrcoef([b.effect for b in blocks], [b.control for b in blocks])[0, 1]
    assert abs(found) < 0.05


def test_two_baselines_make_the_effect_less_variable_than_one():
    generator = np.random.default_rng(3)
    blocks = [Block(*np.exp(generator.normal(0, 0.05, 3))) for _ in range(4000)]
    alone = np.var([math.log(b.candidate / b.baseline) for b in blocks])
    assert np.var([b.effect for b in blocks]) / alone == pytest.approx(0.75, abs=0.05)


def test_a_block_is_made_of_medians():
    assert Block.of([1, 9, 2], [4, 4, 4], [2, 2, 50]) == Block(2, 4, 2)


@given(st.floats(-90, 1000))
def test_per_cent_and_log_ratio_are_each_others_inverse(change):
    assert percent(log_ratio(change)) == pytest.approx(change, abs=1e-6)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_time_without_a_logarithm_is_refused(value):
    with pytest.raises(ValueError, match="no logarithm"):
        Block(1.0, value, 1.0)
