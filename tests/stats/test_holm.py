"""Holm's correction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.holm import adjusted, divisors

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_a_worked_example() -> None:
    assert adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(p_values)
def test_a_correction_never_helps_and_keeps_the_order(found: list[float]) -> None:
    corrected = adjusted(found)
    for raw, fixed in zip(found, corrected, strict=True):
        assert raw <= fixed <= 1
    order = sorted(range(len(found)), key=lambda at: found[at])
    assert [corrected[at] for at in order] == sorted(corrected)


@given(p_values, st.floats(0.001, 0.2))
def test_an_interval_of_the_divided_alpha_excludes_zero_exactly_if_holm_rejects(
    found: list[float], alpha: float
) -> None:
    for raw, fixed, divisor in zip(found, adjusted(found), divisors(found, alpha), strict=True):
        if abs(fixed - alpha) > 1e-12 and abs(raw - alpha / divisor) > 1e-12:
            assert (raw <= alpha / divisor) == (fixed <= alpha)


def test_one_hypothesis_is_not_corrected() -> None:
    assert adjusted([0.03]) == [0.03]
    assert divisors([0.03], 0.05) == [1]
