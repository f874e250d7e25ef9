"""Warm-up is checked."""

import numpy as np

from harness.stats.steady import steadiness, warm_up_needed


def workers(warm_up: list[float], calls: int, count: int = 8) -> list[list[float]]:
    generator = np.random.default_rng(1)
    return [[*warm_up, *(float(x) for x in generator.normal(1, 0.01, calls))] for _ in range(count)]


def test_slow_first_calls_are_left_out_and_no_others():
    assert warm_up_needed(workers([3.0, 1.4], 8), most=4) == 2
    assert warm_up_needed(workers([], 8), most=4) == 0


def test_a_series_that_never_settles_gets_the_most():
    falling = [[2.0 ** (10 - call) for call in range(8)]]
    assert warm_up_needed(falling, most=4) == 4


def test_kept_calls_that_begin_slow_are_told():
    cold = steadiness(workers([1.5], 6), 0.99)
    assert cold is not None
    assert not cold.steady
    warm = steadiness(workers([], 6), 0.99)
    assert warm is not None
    assert warm.steady


def test_too_few_workers_or_calls_tell_nothing():
    assert steadiness(workers([], 6, count=2), 0.99) is None
    assert steadiness([[1.0, 1.0]] * 9, 0.99) is None
