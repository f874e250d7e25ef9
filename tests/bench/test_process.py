"""Real workers, forked and fresh ones."""

import dataclasses
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from harness.base.errors import SurroundingsError
from harness.bench.process import FreshZygotes, JobFailed, Zygote
from harness.wire.bench_records import PASSES, Arm, BenchCase, Metric, Size
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind

CASE = BenchCase("relu_four_steps")
ARMS = (
    Arm("baseline", "2.13.0", "legacy"),
    Arm("candidate", "2.14.0", "legacy"),
    Arm("again", "2.13.0", "legacy"),
)


def block(zygote: Zygote, do: str = "block", case: BenchCase = CASE, **fields: Any) -> Any:
    asked: dict[str, Any] = {"passes": ["save"], "warm_up": 1, "calls": 4, "seed": 1}
    asked |= {"together": True, "arms": ARMS, **fields}
    asked["arms"] = [dataclasses.asdict(arm) for arm in asked["arms"]]
    zygote.ask("prepare", case)
    return zygote.ask(do, case, **asked)["arms"]


@pytest.mark.parametrize("together", [True, False])
def test_every_worker_of_a_block_measures_every_metric(zygote, together):
    arms = block(zygote, passes=list(PASSES), together=together)
    assert set(arms) == {"baseline", "candidate", "again"}
    for arm in arms.values():
        assert set(arm["seconds"]) == {metric.value for metric in Metric}
        assert {len(calls) for calls in arm["seconds"].values()} == {4}
        assert {len(calls) for calls in arm["warm_up"].values()} == {1}
        assert all(seconds > 0 for calls in arm["seconds"].values() for seconds in calls)


def test_only_what_is_asked_for_is_measured(zygote):
    arms = block(zygote, passes=["load"])
    assert set(arms["candidate"]["seconds"]) == {"load-cold", "load-warm"}


def test_a_delay_is_waited_inside_of_the_timed_region_of_its_metric_alone(zygote):
    delayed = dataclasses.replace(ARMS[0], name="candidate", delayed="save", delay_s=0.05)
    arms = block(zygote, arms=(ARMS[0], delayed), passes=["save", "load"])
    quickest = {name: {m: min(v) for m, v in arm["seconds"].items()} for name, arm in arms.items()}
    assert quickest["candidate"]["save"] >= 0.05  # a sleep is never shorter
    assert quickest["candidate"]["load-warm"] < quickest["baseline"]["load-warm"] + 0.045


def test_forked_and_fresh_workers_agree(zygote, setup):
    """The quickest of many calls, and within what a busy machine does to those all the same."""
    asked: dict[str, Any] = {"passes": ["save", "load"], "warm_up": 2, "calls": 12}
    forked = block(zygote, arms=ARMS[:1], **asked)["baseline"]["seconds"]
    with Zygote(setup) as fresh:
        alone = block(fresh, "alone", arms=ARMS[:1], **asked)["baseline"]["seconds"]
    for metric in ("save", "load-warm"):
        assert 0.4 < min(forked[metric]) / min(alone[metric]) < 2.5, metric


def test_the_temporary_files_of_a_zygote_go_with_it(setup):
    with Zygote(setup) as zygote:
        folder = Path(zygote.ready["temporary_folder"])
        (folder / "left").touch()
    assert not folder.exists()


@pytest.mark.slow
def test_fresh_processes_do_every_job_that_forks_do(setup):
    fresh = FreshZygotes(setup)
    sizes = fresh.ask("sizes", CASE, arm=dataclasses.asdict(ARMS[0]))["sizes"]
    assert set(sizes) == {size.value for size in Size}
    asked: dict[str, Any] = {"passes": ["save"], "warm_up": 0, "calls": 2, "seed": 1}
    arm = dataclasses.asdict(ARMS[1])
    for _ in range(2):
        answer = fresh.ask("alone", CASE, arms=[arm], together=False, **asked)
        assert len(answer["arms"]["candidate"]["seconds"]["save"]) == 2


def test_workers_spend_their_time_inside_of_timed_regions(zygote):
    arms = block(zygote, passes=["save", "load"], case=BenchCase("chain_of_thirteen"), calls=6)
    shares = [arm["timed_s"] / arm["call_s"] for arm in arms.values()]
    assert median(shares) >= 0.85


def test_what_a_timed_region_costs_by_itself_is_measured(zygote):
    # How much it may cost is told by the bench, on the machine that it is on (test_machine.py).
    assert 0 < zygote.ready["overhead_s"] < 1e-3


def test_a_case_that_an_inliner_fails_on_is_told_and_the_next_job_is_done(zygote):
    broken = BenchCase("residual_over_a_fallback")
    with pytest.raises(JobFailed, match="AssertionError") as caught:
        block(zygote, case=broken)
    assert "inline_torch_modules" in caught.value.traceback
    assert block(zygote)["again"]["seconds"]["save"]


def test_bytes_are_those_of_the_engines_that_were_asked_for(zygote):
    heavy = BenchCase("ballast@16000000", "ballast", 16 * 10**6)
    light = BenchCase("ballast@1000", "ballast", 1000)
    found = {}
    for case in (heavy, light):
        zygote.ask("prepare", case)
        found[case.name] = zygote.ask("sizes", case, arm=dataclasses.asdict(ARMS[1]))["sizes"]
        zygote.ask("forget", case)
    large, small = found[heavy.name], found[light.name]
    assert large[Size.ENGINES] - small[Size.ENGINES] == pytest.approx(16 * 10**6, rel=0.01)
    assert large[Size.FILE] > 16 * 10**6
    for size in (Size.SAVE_PEAK, Size.LOAD_PEAK, Size.AFTER_LOAD):
        assert large[size] - small[size] > 15 * 10**6, size


@pytest.mark.parametrize("route", ["legacy", "export"])
def test_sizes_are_measured_by_every_route(zygote, route):
    zygote.ask("prepare", CASE)
    sizes = zygote.ask("sizes", CASE, arm=dataclasses.asdict(Arm("candidate", "2.14.0", route)))
    assert set(sizes["sizes"]) == {size.value for size in Size}


@pytest.mark.parametrize(
    ("sweep", "size", "steps"),
    [("steps", 10, 10), ("fan-out", 4, 9), ("ballast", 1000, 8), ("parameters", 1000, 3)],
)
def test_a_sweeps_case_has_its_size(zygote, sweep, size, steps):
    case = BenchCase(f"{sweep}@{size}", sweep, size)
    assert zygote.ask("prepare", case)["steps"] == steps
    assert block(zygote, case=case, passes=["inline", "save"])["baseline"]["seconds"]["inline"]
    zygote.ask("forget", case)


def test_a_subject_that_cannot_be_loaded_ends_the_bench(setup):
    broken = SubjectSpec("9.9.9", SubjectKind.RELEASE, (Route.LEGACY,), wheel_path="/nowhere.whl")
    started = Zygote(dataclasses.replace(setup, subjects=[broken]))
    with (
        pytest.raises(SurroundingsError, match=r"not every subject can be loaded: .*9\.9\.9"),
        started,
    ):
        pytest.fail("it says that it is ready")


def test_a_zygote_that_dies_says_what_it_wrote_last(setup):
    started = Zygote(dataclasses.replace(setup, library="/nowhere.so"))  # type: ignore[arg-type]
    with pytest.raises(SurroundingsError, match=r"zygote exited with code 1: .*nowhere"), started:
        pytest.fail("it says that it is ready")
