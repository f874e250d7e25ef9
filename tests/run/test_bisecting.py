"""The first of several that shows a defect, in the least number of runs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.run.bisecting import first_showing


@given(st.integers(2, 200), st.data())
def test_the_first_is_found_in_as_few_runs_as_halving_takes(count, data):
    first = data.draw(st.integers(1, count - 1))
    asked = []

    def shows(item: int) -> bool:
        asked.append(item)
        return item >= first

    found = first_showing(range(count), shows)
    assert (found.last_good, found.first, found.between) == (first - 1, first, ())
    assert found.runs == len(asked) == len(set(asked))
    assert found.runs <= 2 + math.ceil(math.log2(max(1, count - 1)))


@given(st.integers(2, 40), st.data())
def test_what_cannot_be_asked_is_gone_around_and_told_where_it_leaves_a_doubt(count, data):
    first = data.draw(st.integers(1, count - 1))
    mute = data.draw(st.sets(st.integers(1, count - 2))) if count > 2 else set()
    found = first_showing(range(count), lambda item: None if item in mute else item >= first)
    assert found.last_good < first <= found.first
    assert set(found.between) <= mute
    assert {found.last_good, found.first}.isdisjoint(mute)


def test_a_good_one_that_shows_it_and_a_bad_one_that_does_not_are_refused():
    with pytest.raises(UsageError, match="--good 0: shows it, too"):
        first_showing([0, 1], lambda _: True)
    with pytest.raises(UsageError, match="--bad 1: does not show it"):
        first_showing([0, 1], lambda _: False)
    with pytest.raises(UsageError, match="--bad 1: could not be asked"):
        first_showing([0, 1], lambda _: None)
