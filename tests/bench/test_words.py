"""A bench's verdicts in words."""

import dataclasses
import math

import pytest

from harness.bench.words import change, first_screen, interval
from harness.stats.intervals import Estimate
from tests.bench.simulated import plan_of, record


@pytest.mark.parametrize(
    ("log_ratio", "told"),
    [
        (math.log(1.05), "+5.0 %"),
        (math.log(0.5), "-50.0 %"),
        (0.0, "+0.0 %"),
        (math.inf, "unlimited"),
        (-math.inf, "unlimited"),
        (30.0, "unlimited"),
    ],
)
def test_a_change_is_told_in_per_cent(log_ratio, told):
    assert change(log_ratio) == told


def test_one_block_has_no_interval():
    assert interval(Estimate(0.0, -math.inf, math.inf, 0.99)) == "+0.0 % (no interval)"


def test_too_few_blocks_could_have_seen_no_change(tmp_path):
    judged = record(tmp_path, plan_of("a"), blocks=1)
    lines = list(first_screen(judged.plan, judged.report))
    assert "inconclusive a~legacy save" in lines[0]
    assert "could have seen no change in 1 blocks" in lines[0]
    assert "gate: inconclusive: 2 of 2 stages are inconclusive" in lines[-1]


def test_how_many_of_the_cases_were_measured_is_told_where_not_all_were(tmp_path):
    judged = record(tmp_path, plan_of("a", "b"), blocks=1)
    lines = list(first_screen(judged.plan, judged.report))
    assert not any(line.startswith("measured: ") for line in lines)
    left_out = dataclasses.replace(
        judged.report, not_measured={"b~legacy": "the budget had no room for it"}
    )
    lines = list(first_screen(judged.plan, left_out))
    assert lines[-2] == f"measured: 1 of 2 cases, in a budget of {judged.plan.budget_s:g} s"
