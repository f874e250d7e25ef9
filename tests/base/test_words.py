"""Counts and names as words."""

import pytest

from harness.base.words import most_first, plural, spans

ORDER = ["2.3.0", "2.4.0", "2.5.0", "2.6.0"]


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells"), (1234, "1,234 cells")]
)
def test_a_count_stands_with_its_noun(count, told):
    assert plural(count, "cell") == told


def test_the_most_frequent_come_first_and_alike_ones_by_the_alphabet():
    counted = {"late": 2, "b": 1, "c": 1, "a": 1, "early": 2}
    assert most_first(counted) == ("early", "late", "a", "b", "c")


def test_a_noun_may_have_a_plural_of_its_own():
    assert [plural(count, "pass", "passes") for count in (1, 2)] == ["1 pass", "2 passes"]


def test_names_that_follow_each_other_are_told_by_their_ends():
    assert spans(["2.5.0", "2.3.0", "2.6.0"], ORDER) == ["2.3.0", "2.5.0 to 2.6.0"]
    assert spans(reversed(ORDER), ORDER, "-") == ["2.3.0-2.6.0"]
    assert spans([], ORDER) == []
