"""Exponents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.growth import growth

SIZES = [10, 20, 50, 100, 200, 400]


@given(st.floats(0.0, 3.0), st.floats(1e-6, 10))
def test_a_power_law_has_its_exponent_whatever_the_unit(exponent, unit):
    found = growth(SIZES, [unit * size**exponent for size in SIZES], 0.95)
    assert found.exponent.value == pytest.approx(exponent, abs=1e-6)
    assert found.robust == pytest.approx(exponent, abs=1e-6)


def test_quadratic_time_behind_a_constant_shows_in_the_upper_half():
    sizes = [1, 2, 4, 8, 16, 32, 64, 128]
    found = growth(sizes, [100 + size**2 for size in sizes], 0.95)
    assert found.exponent.value < 1.2
    assert found.upper is not None
    assert found.upper.value > found.exponent.value + 0.3


def test_one_bad_size_moves_the_robust_exponent_little():
    times = [float(size) for size in SIZES]
    times[-1] *= 10
    found = growth(SIZES, times, 0.95)
    assert abs(found.robust - 1) < abs(found.exponent.value - 1)


@pytest.mark.parametrize(
    ("sizes", "times"),
    [([1, 2], [1.0, 2.0]), ([2, 2, 2], [1.0, 2.0, 3.0]), ([1, 2, 3], [0.0, 1.0, 2.0])],
)
def test_what_has_no_exponent_is_refused(sizes, times):
    with pytest.raises(ValueError, match=r"exponent|logarithm"):
        growth(sizes, times, 0.95)
