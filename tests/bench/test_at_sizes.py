"""File size, peak memory and load time at three sizes: what is said of them, and what is not."""

from collections.abc import Mapping
from pathlib import Path

from harness.bench.at_sizes import (
    NAMES,
    STEPS,
    AtSizes,
    at_sizes,
    common_route,
    plan_at_sizes,
    unmeasured,
)
from harness.report.pages.qualify_page import sizes_sentence
from harness.stats.intervals import Change
from tests.bench.simulated import record
from tests.record_builders import subject


def found(
    out: Path, *, slower: Mapping[str, float] | None = None, noise: float = 0.003, blocks: int = 12
) -> AtSizes:
    plan = plan_at_sizes("2.13.0", "2.14.0", "legacy", 1e9, seed=0)
    return at_sizes(record(out, plan, slower=slower, noise=noise, blocks=blocks))


def test_every_measure_is_told_at_every_size(tmp_path):
    sizes = found(tmp_path)
    assert [(row.what, row.steps) for row in sizes.rows] == [
        (what, steps) for what in NAMES.values() for steps in STEPS
    ]
    assert {row.change for row in sizes.rows} == {Change.EQUIVALENT}
    assert sizes.missing == ()
    assert "0 larger or slower" in sizes_sentence(sizes)
    assert "12 at most 5 % apart, 0 inconclusive" in sizes_sentence(sizes)


def test_a_candidate_that_loads_slower_is_told_so(tmp_path):
    sizes = found(tmp_path, slower={"candidate": 1.3})
    assert [row.what for row in sizes.rows if row.worse] == ["load time"] * len(STEPS)
    assert "3 larger or slower (load time at 4 steps" in sizes_sentence(sizes)


def test_a_control_that_is_off_says_nothing(tmp_path):
    sizes = found(tmp_path, slower={"again": 1.5})
    assert [row.what for row in sizes.rows if row.control_off] == ["load time"] * len(STEPS)
    assert not [row for row in sizes.rows if row.worse]
    assert "0 larger or slower" in sizes_sentence(sizes)
    assert "3 inconclusive" in sizes_sentence(sizes)


def test_what_varies_too_much_is_inconclusive_and_not_unchanged(tmp_path):
    sizes = found(tmp_path, noise=0.3, blocks=5)
    assert "3 inconclusive" in sizes_sentence(sizes)


def test_what_the_budget_did_not_reach_is_missing(tmp_path):
    sizes = found(tmp_path, blocks=0)
    assert len(sizes.missing) == len(STEPS)
    assert "load time at 36 engines and fallbacks: the budget had no room" in "".join(sizes.missing)


def test_without_figures_the_sentence_says_that_there_are_none():
    for sizes in (None, unmeasured("legacy", "no wheel")):
        assert "were not measured" in sizes_sentence(sizes)


def test_the_route_is_one_that_both_have():
    both = subject("2.14.0", "legacy", "export")
    assert common_route(both, both) == "legacy"
    assert common_route(both, subject("mine", "export")) == "export"
    assert common_route(both, subject("mine", "plain")) is None
