"""Bytes of a bench: larger, smaller, alike, or not to be said; with faults planted."""

import math

import pytest

from harness.bench.bytes import PAGE_BYTES, BytesVerdict, judge_bytes
from harness.bench.samples import Samples, read_samples
from harness.stats.intervals import Change
from harness.wire.bench_records import Size
from tests.bench.simulated import BYTES, plan_of

PLAN = plan_of("a")


def told(
    workers: int = 5,
    spread: float = 0.001,
    candidate: float = 1.0,
    again: float = 1.0,
    level: float = 1.0,
) -> Samples:
    """Peaks that differ from worker to worker, and by these factors from arm to arm."""
    factors = {"baseline": 1.0, "candidate": candidate, "again": again}
    lines = [
        {
            "kind": "sizes",
            "cell": "a~legacy",
            "arm": arm,
            "sizes": {
                name: value * level * factor * (1 + spread * ((7 * number + shift) % 5))
                for name, value in BYTES.items()
            },
        }
        for number in range(workers)
        for shift, (arm, factor) in enumerate(factors.items())
    ]
    return read_samples(PLAN, lines)


def only(samples: Samples, size: Size = Size.LOAD_PEAK) -> BytesVerdict:
    (verdict,) = judge_bytes(PLAN, samples, (size,))
    return verdict


@pytest.mark.parametrize(
    ("candidate", "change"),
    [(1.3, Change.REGRESSED), (0.7, Change.IMPROVED), (1.0, Change.EQUIVALENT)],
)
def test_a_peak_that_moved_is_told_from_one_that_did_not(candidate, change):
    verdict = only(told(candidate=candidate))
    assert (verdict.change, verdict.control_off) == (change, False)
    assert verdict.effect.low < math.log(candidate) < verdict.effect.high


def test_files_of_one_length_are_equivalent_without_a_doubt():
    verdict = only(told(spread=0), Size.FILE)
    assert (verdict.effect.low, verdict.effect.high) == (0, 0)
    assert verdict.change is Change.EQUIVALENT


def test_a_baseline_that_is_unlike_itself_turns_the_control_off():
    assert only(told(again=1.3)).control_off


def test_peaks_that_vary_much_are_inconclusive():
    assert only(told(spread=0.2)).change is Change.INCONCLUSIVE


def test_too_few_workers_say_nothing_of_memory():
    verdict = only(told(workers=2, candidate=1.3, again=1.3, spread=0))
    assert (verdict.change, verdict.control_off) == (Change.INCONCLUSIVE, False)


def test_workers_that_agree_on_a_page_more_are_no_other_memory():
    verdict = only(told(spread=0, again=1 + PAGE_BYTES / BYTES["load-peak"]))
    assert not verdict.control_off
    assert only(told(spread=0, again=1 + 3 * PAGE_BYTES / BYTES["load-peak"])).control_off


def test_a_peak_of_no_bytes_says_nothing():
    verdict = only(told(level=0))
    assert (verdict.change, verdict.control_off) == (Change.INCONCLUSIVE, False)


def test_intervals_that_hold_together_are_wider():
    alone, together = (
        judge_bytes(PLAN, told(), sizes)[0] for sizes in ((Size.LOAD_PEAK,), tuple(Size))
    )
    assert together.effect.low < alone.effect.low
    assert together.effect.high > alone.effect.high


def test_arms_that_were_not_all_asked_have_no_verdict():
    assert judge_bytes(PLAN, read_samples(PLAN, ()), tuple(Size)) == ()
