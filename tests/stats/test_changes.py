"""Change points of a trend."""

import numpy as np
import pytest

from harness.stats.changes import change_points


def test_one_change_of_level_is_found_where_it_is():
    generator = np.random.default_rng(1)
    series = [*generator.normal(0, 0.01, 12), *generator.normal(0.08, 0.01, 9)]
    (found,) = change_points(series)
    assert found.at == 12
    assert (found.before, found.after) == pytest.approx((0, 0.08), abs=0.01)


def test_two_changes_are_both_found():
    generator = np.random.default_rng(2)
    series = np.concatenate([generator.normal(level, 0.01, 10) for level in (0, 0.1, 0.03)])
    assert [found.at for found in change_points(list(series))] == [10, 20]


def test_a_level_trend_has_no_change_point():
    generator = np.random.default_rng(3)
    wrong = sum(bool(change_points(list(generator.normal(0, 1, 20)))) for _ in range(60))
    assert wrong <= 3
    assert change_points([1.0] * 20) == ()


def test_one_outlier_is_no_change_of_level():
    generator = np.random.default_rng(4)
    series = list(generator.normal(0, 0.01, 20))
    series[9] = 1.0
    assert change_points(series) == ()


@pytest.mark.parametrize("count", [0, 1, 5])
def test_a_short_history_says_nothing(count):
    assert change_points([0.0, 0.0, 0.0, 5.0, 5.0][:count]) == ()
