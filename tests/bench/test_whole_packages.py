"""Whole packages, each in a process of its own, whose workers take the turns of a block."""

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from harness.bench import process
from harness.bench.options import BenchOptions
from harness.bench.process import JobFailed
from harness.bench.workers import Running, workers_for
from harness.wire.bench_records import IMPORTED, Arm, BenchCase, UserMetric
from harness.wire.bench_turns import take_turns
from tests.bench.simulated import plan_of, provenance_of

CASE = BenchCase("relu_once@full-compilation")
OTHER = BenchCase("relu_four_steps")
NOT_SAVED = BenchCase("two_mutated_buffers")  # by no release
PER_CASE = {UserMetric.SAVE.value, UserMetric.LOAD_COLD.value, UserMetric.LOAD_WARM.value}


def arms_of(baseline: str, candidate: str, route: str = "no-retrace") -> tuple[Arm, ...]:
    return (
        Arm("baseline", baseline, route),
        Arm("candidate", candidate, route),
        Arm("again", baseline, route),
    )


SAME = arms_of("2.14.0", "2.14.0")


def block(
    running: Running, case: BenchCase = CASE, arms: tuple[Arm, ...] = SAME, **fields: Any
) -> Any:
    asked: dict[str, Any] = {"passes": ["user-save", "user-load"], "warm_up": 1, "calls": 3}
    asked |= {"seed": 1, "together": True, "arms": [dataclasses.asdict(arm) for arm in arms]}
    if case != IMPORTED:
        running.ask("prepare", case)
    return running.ask("block", case, **(asked | fields))["arms"]


@pytest.fixture(scope="module")
def opened(toolchain, catalogue, tmp_path_factory, started_anew):
    """Opens two releases as a bench does; with the Python that is named, if one is."""

    @contextmanager
    def open_two(baseline: str, candidate: str, python: str = sys.executable) -> Iterator[Running]:
        options = BenchOptions(
            baseline=baseline,
            candidate=candidate,
            lane="package",
            pythons=(f"{baseline}={python}",) if python != sys.executable else (),
        )
        workers = workers_for(options, toolchain, catalogue)
        folder = tmp_path_factory.mktemp("workers")
        with workers.start(provenance_of(plan_of("a")), folder) as running:
            yield running

    return open_two


@pytest.fixture(scope="module")
def newest(opened):
    """2.14.0 against itself; it takes seconds to start."""
    with opened("2.14.0", "2.14.0") as running:
        yield running


def test_a_planted_delay_is_found_in_the_save_of_a_user_alone(newest):
    baseline, candidate, again = SAME
    delayed = dataclasses.replace(candidate, delayed=UserMetric.SAVE.value, delay_s=0.2)
    arms = block(newest, arms=(baseline, delayed, again))
    quickest = {name: {m: min(v) for m, v in arm["seconds"].items()} for name, arm in arms.items()}
    assert all(set(metrics) == PER_CASE for metrics in quickest.values())
    slowed = {m: quickest["candidate"][m] - quickest["baseline"][m] for m in PER_CASE}
    assert slowed.pop(UserMetric.SAVE.value) > 0.15
    assert all(seconds < 0.15 for seconds in slowed.values())


def test_each_arm_is_a_process_of_its_own_and_all_end_with_their_block(newest, monkeypatch):
    before: set[int] = set()
    born: dict[str, set[int]] = {}

    def watched(arms: Any, start: Any, drawn: Any, **counts: int) -> Any:
        before.update(descendants())  # once all are started and have prepared the case

        def start_one(arm: Arm) -> Any:
            there = descendants()
            call = start(arm)
            born[arm.name] = descendants() - there
            return call

        return take_turns(arms, start_one, drawn, **counts)

    monkeypatch.setattr(process, "take_turns", watched)
    block(newest, calls=1)
    assert [len(pids) for pids in born.values()] == [1, 1, 1]
    assert len(set.union(*born.values())) == 3
    assert descendants() == before


def test_each_block_of_a_cell_is_made_by_new_processes_one_for_each_arm(newest):
    """So neither caches that two arms share nor the luck of one process is taken for the code's."""
    block(newest, calls=1)
    first = children()
    block(newest, OTHER, calls=1)
    assert children() == first
    block(newest, calls=1)
    assert len(children() - first) == len(first - children()) == len(SAME)


def test_a_case_that_a_release_does_not_save_is_told_and_the_next_job_is_done(newest):
    with pytest.raises(JobFailed, match="Error") as caught:
        block(newest, NOT_SAVED)
    assert "torch_tensorrt" in caught.value.traceback
    assert len(block(newest, calls=2)["again"]["seconds"]["user-save"]) == 2


def test_a_case_that_cannot_be_prepared_is_told_once_and_the_next_job_is_done(newest):
    with pytest.raises(JobFailed):
        newest.ask("prepare", BenchCase("no_case_of_this_corpus"))
    assert newest.ask("prepare", OTHER)["steps"] > 2


@pytest.mark.slow
def test_an_import_is_measured_in_a_fresh_python_each_time(opened, tmp_path):
    """The Python of the baseline is a script that writes its process down and becomes Python."""
    python, started = tmp_path / "python", tmp_path / "started"
    python.write_text(f'#!/bin/sh\necho "$$ $3" >> {started}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    arms = (
        Arm("baseline", "2.14.0", "import"),
        Arm("again", "2.14.0", "import", UserMetric.IMPORT.value, 3.0),
    )
    with opened("2.14.0", "2.14.0", str(python)) as running:
        found = block(running, IMPORTED, arms, warm_up=0, calls=1)
    lines = [line.split() for line in started.read_text().splitlines()]
    importing = {pid for pid, module in lines if module == process.IMPORTING}
    assert len(importing) == 2
    seconds = {name: arm["seconds"] for name, arm in found.items()}
    assert all(set(each) == {"import-torch", "import"} for each in seconds.values())
    assert all(calls[0] > 0.1 for each in seconds.values() for calls in each.values())
    assert seconds["again"]["import"][0] > seconds["baseline"]["import"][0] + 1


@pytest.mark.slow
def test_two_releases_take_turns_and_fresh_processes_agree_with_forked_ones(opened):
    arms = arms_of("2.13.0", "2.14.0")
    with opened("2.13.0", "2.14.0") as running:
        assert set(running.ready["stations"]) == {"baseline", "candidate", "again"}
        forked = block(running, arms=arms, calls=8)
        asked = {"passes": ["user-save"], "warm_up": 2, "calls": 8, "seed": 1, "together": False}
        alone = running.ask("alone", CASE, arms=[dataclasses.asdict(arms[1])], **asked)["arms"]
    assert set(forked) == {"baseline", "candidate", "again"}
    both = (min(each["candidate"]["seconds"]["user-save"]) for each in (forked, alone))
    assert 0.5 < next(both) / next(both) < 2


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children()}


def descendants() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}
