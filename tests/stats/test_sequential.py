"""Looking several times spends no more error than was given."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.intervals import Change
from harness.stats.sequential import (
    INTERIM_LOOKS,
    decided_early,
    divisors,
    effects,
    looks,
    p_over_looks,
    smallest_detectable,
)

BAND = math.log(1.05)


def campaign(draws: list[list[float]], alpha: float, most: int) -> list[Change]:
    """Sample hypothesis by hypothesis until a look ends it or the budget of blocks is spent."""
    kept: list[list[float]] = []
    stopped: list[bool] = []
    for draw in draws:
        early = False
        for blocks in range(1, most + 1):
            early = decided_early(draw[:blocks], BAND, alpha, len(draws))
            if early:
                break
        kept.append(draw[:blocks])
        stopped.append(early)
    found = effects(kept, [BAND] * len(draws), alpha, stopped)
    return [effect.change for effect in found]


@pytest.mark.parametrize("spread", ["normal", "outliers"])
@pytest.mark.parametrize("cells", [1, 4])
def test_equal_code_is_seldom_called_different_over_all_looks_and_cells(spread, cells):
    generator = np.random.default_rng(cells)
    wrong = 0
    for _ in range(500):
        draws = generator.normal(0, 0.08, (cells, 30))
        if spread == "outliers":
            draws += generator.normal(0, 0.5, draws.shape) * (generator.random(draws.shape) < 0.05)
        words = campaign([list(draw) for draw in draws], alpha=0.05, most=30)
        wrong += any(word in (Change.REGRESSED, Change.IMPROVED) for word in words)
    assert wrong / 500 <= 0.05


def test_to_test_after_every_block_would_be_wrong_far_more_often():
    """The planted fault: a rule that looks whenever it likes, at the whole of alpha."""
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        draw = list(generator.normal(0, 0.08, 30))
        wrong += any(p_over_looks(draw[:n], True) * 0.5 < 0.05 for n in range(3, 31))
    assert wrong / 200 > 0.15


def test_a_real_slowdown_is_called_and_sooner_when_it_is_large():
    generator = np.random.default_rng(4)
    called = 0
    for _ in range(200):
        words = campaign([list(generator.normal(BAND, 0.03, 40))], alpha=0.002, most=40)
        called += words == [Change.REGRESSED]
    assert called / 200 >= 0.95
    large = list(generator.normal(math.log(1.5), 0.03, INTERIM_LOOKS[0]))
    assert decided_early(large, BAND, 0.002, hypotheses=20)


def test_what_lies_in_the_band_ends_early_and_what_is_doubtful_does_not():
    generator = np.random.default_rng(7)
    quiet = list(generator.normal(0, 0.005, INTERIM_LOOKS[0]))
    assert decided_early(quiet, BAND, 0.002, hypotheses=10)
    assert not decided_early(quiet[:-1], BAND, 0.002, hypotheses=10)  # no look here
    assert not decided_early(list(generator.normal(0, 0.2, 12)), BAND, 0.002, hypotheses=10)


def test_the_shares_of_all_looks_are_at_most_one():
    assert sum(look.share for look in looks(10_000, True)) == pytest.approx(1.0)
    assert sum(look.share for look in looks(20, True)) < 1
    assert looks(0, True) == ()


def test_a_change_of_the_smallest_detectable_size_is_detected_as_often_as_it_says():
    generator = np.random.default_rng(9)
    size = smallest_detectable(list(generator.normal(0, 0.05, 2000)), 0.01) * math.sqrt(2000 / 25)
    seen = sum(
        p_over_looks(list(generator.normal(size, 0.05, 25)), True) * 0.5 < 0.01 for _ in range(400)
    )
    assert 0.90 <= seen / 400 <= 0.99


def test_too_few_blocks_are_inconclusive_and_could_have_seen_nothing():
    for values in ([], [0.4], [0.4, 0.4001]):
        (found,) = effects([values], [BAND], 0.002, [False])
        assert found.change is Change.INCONCLUSIVE or len(values) > 1
        assert found.smallest_detectable == math.inf or len(values) > 1


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
