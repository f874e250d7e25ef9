"""Holm's correction."""

from hypothesis import given
from hypothesis import strategies as st

from harness.stats.sequential import divisors

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_a_worked_example():
    assert divisors([0.01, 0.04, 0.03, 0.005], 0.05) == [3, 2, 2, 4]


@given(p_values, st.floats(0.001, 0.2))
def test_an_interval_of_the_divided_alpha_excludes_zero_exactly_if_holm_rejects(values, alpha):
    rejected = set()
    for rank, at in enumerate(sorted(range(len(values)), key=lambda at: values[at])):
        if values[at] > alpha / (len(values) - rank):
            break
        rejected.add(at)
    divided = divisors(values, alpha)
    assert rejected == {at for at in range(len(values)) if values[at] <= alpha / divided[at]}


def test_one_hypothesis_is_not_corrected():
    assert divisors([0.03], 0.05) == [1]
