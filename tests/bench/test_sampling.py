"""Which block comes next, and when it is enough; held against a simulated zygote."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.bench.judging import judge_bench
from harness.bench.plan import ARMS, IMPORT_CELL, BenchCell, BenchPlan
from harness.bench.samples import Samples, read_samples
from harness.bench.sampling import SWEEP_BLOCKS, Sampling, chosen_calls
from harness.gate.findings import Gate
from harness.stats.intervals import Change
from harness.stats.sequential import INTERIM_LOOKS
from harness.wire.bench_records import BenchCase
from tests.bench.simulated import Simulated, plan_of

PLENTY = 10**12
SIZES = (10, 30, 100, 1000)


class Clock:
    """Time that passes by what a simulated job says it took."""

    def __init__(self, zygote: Simulated, block_s: float = 1.0) -> None:
        self.now = 0.0
        self._ask = zygote.ask
        self._block_s = block_s

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        self.now += self._block_s if do in ("block", "alone") else 0.01
        return self._ask(do, case, **fields)


def sampled(
    plan: BenchPlan,
    zygote: Simulated,
    monkeypatch: pytest.MonkeyPatch,
    *,
    lines: list[dict[str, Any]] | None = None,
    most_jobs: int = 10**9,
    free_bytes: int = PLENTY,
) -> tuple[Samples, list[dict[str, Any]]]:
    """Run a plan, over what there is of it already; a line a job."""
    written = list(lines or [])
    samples = read_samples(plan, written)
    clock = Clock(zygote)
    monkeypatch.setattr("harness.bench.sampling.time.perf_counter", lambda: clock.now)

    def write(line: Mapping[str, Any]) -> None:
        written.append(dict(line))

    sampling = Sampling(plan, samples, clock, write, lambda: free_bytes)
    for number, _ in enumerate(sampling.run(), start=1):
        if number == most_jobs:
            break
    return samples, written


def test_clear_cells_stop_at_the_first_look_and_doubtful_ones_get_the_rest(monkeypatch):
    class OneIsNoisy(Simulated):
        def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
            self.noise = 0.3 if case.name == "noisy" else 0.003
            return super().ask(do, case, **fields)

    samples, _ = sampled(plan_of("quiet", "noisy"), OneIsNoisy(), monkeypatch)
    quiet, noisy = samples.cells["quiet~legacy"], samples.cells["noisy~legacy"]
    assert (quiet.stopped, len(quiet.blocks)) == (True, INTERIM_LOOKS[0])
    assert not noisy.stopped
    assert len(noisy.blocks) > 3 * len(quiet.blocks)
    assert samples.spent_s == pytest.approx(60, abs=2)


def test_a_regression_is_red_an_equal_candidate_green(monkeypatch):
    for factor, gate in ((1.2, Gate.RED), (1.0, Gate.GREEN)):
        plan = plan_of("a", "b")
        samples, _ = sampled(plan, Simulated({"candidate": factor}), monkeypatch)
        report = judge_bench(plan, samples)
        assert report.gate is gate, report.reasons
        changes = {verdict.effect.change for verdict in report.stages}
        assert changes == {Change.REGRESSED if factor > 1 else Change.EQUIVALENT}


def test_too_little_time_is_inconclusive_and_never_no_change(monkeypatch):
    plan = plan_of("a", budget_s=6)
    samples, _ = sampled(plan, Simulated(noise=0.2), monkeypatch)
    report = judge_bench(plan, samples)
    assert report.gate is Gate.INCONCLUSIVE
    assert {verdict.word for verdict in report.stages} == {"inconclusive"}


def test_a_control_that_is_off_gates_nothing(monkeypatch):
    """The planted fault: whoever comes third in a block is slower, whatever it is."""
    plan = plan_of("a")
    slower = {"candidate": 1.3, "again": 1.3}
    samples, _ = sampled(plan, Simulated(slower), monkeypatch)
    report = judge_bench(plan, samples)
    assert report.gate is Gate.INCONCLUSIVE
    assert "differs from itself" in report.reasons[0]
    assert {verdict.word for verdict in report.stages} == {"control off"}


def test_a_bench_that_was_cut_off_goes_on_where_it_was(monkeypatch):
    plan = plan_of("a", "b", budget_s=30)
    zygote = Simulated(noise=0.2)
    whole, _ = sampled(plan, zygote, monkeypatch)
    _, first = sampled(plan, Simulated(noise=0.2), monkeypatch, most_jobs=9)
    resumed, lines = sampled(plan, Simulated(noise=0.2), monkeypatch, lines=first)
    assert lines[: len(first)] == first
    for cell_id, cell in whole.cells.items():
        seconds = [block["arms"] for block in cell.blocks]
        again = [block["arms"] for block in resumed.cells[cell_id].blocks]
        both = min(len(seconds), len(again))  # rounds are drawn anew: one cell may be a block ahead
        assert both >= 10
        assert seconds[:both] == again[:both]


def test_a_cell_that_fails_is_not_measured_and_the_others_are(monkeypatch):
    plan = plan_of("a", "broken")
    samples, _ = sampled(plan, Simulated(fails="broken"), monkeypatch)
    report = judge_bench(plan, samples)
    assert report.not_measured == {"broken~legacy": "KeyError: (relu, relu_1)"}
    assert report.gate is Gate.INCONCLUSIVE
    assert samples.cells["a~legacy"].stopped


def test_what_does_not_fit_into_memory_is_not_tried(monkeypatch):
    cell = BenchCell(BenchCase("ballast@1000000000", "ballast", 10**9), "legacy", "sweep")
    zygote = Simulated()
    samples, _ = sampled(plan_of(cells=(cell,)), zygote, monkeypatch, free_bytes=2 * 10**9)
    assert "needs 12.0 GB of memory" in samples.cells[cell.cell_id].failed
    assert zygote.asked == []


def test_a_sweep_ends_after_a_few_blocks_and_has_an_exponent(monkeypatch):
    cells = tuple(
        BenchCell(BenchCase(f"steps@{size}", "steps", size), "legacy", "sweep")
        for size in (10, 20, 50, 100)
    )
    plan = plan_of(cells=cells, budget_s=200)
    samples, _ = sampled(plan, Simulated(seconds=1e-3), monkeypatch)
    assert {len(cell.blocks) for cell in samples.cells.values()} == {SWEEP_BLOCKS}
    fits = {
        (fit.stage, fit.subject): fit.fit.exponent for fit in judge_bench(plan, samples).growths
    }
    assert len(fits) == 4
    for exponent in fits.values():
        assert exponent.value == pytest.approx(1.0, abs=0.1)


def test_a_size_that_would_take_what_all_others_need_is_left_out_and_they_are_measured(monkeypatch):
    class Quadratic(Clock):
        def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
            self._block_s = case.size**2 / 1000  # seconds: 0.1, 0.9, 10 and 1000
            return super().ask(do, case, **fields)

    monkeypatch.setattr("tests.bench.test_sampling.Clock", Quadratic)
    cells = [BenchCell(BenchCase(f"s@{size}", "steps", size), "legacy") for size in SIZES]
    plan = dataclasses.replace(plan_of(budget_s=60), cells=tuple(cells))
    samples, written = sampled(plan, Simulated(), monkeypatch)
    blocks = {name: len(known.blocks) for name, known in samples.cells.items()}
    assert blocks == {f"s@{size}~legacy": SWEEP_BLOCKS if size < 1000 else 0 for size in SIZES}
    assert samples.spent_s < 60
    jobs = [(line["kind"], line["cell"]) for line in written if line["kind"] in ("pilot", "block")]
    assert jobs[:6] == [
        (kind, f"s@{size}~legacy") for size in SIZES[:3] for kind in ("pilot", "block")
    ]


def test_what_a_small_size_takes_is_not_held_against_one_a_thousand_times_as_large(monkeypatch):
    sizes = (1_000, 1_000_000, 2_000_000)
    cells = [BenchCell(BenchCase(f"s@{size}", "ballast", size), "legacy") for size in sizes]
    plan = dataclasses.replace(plan_of(budget_s=30), cells=tuple(cells))
    samples, _ = sampled(plan, Simulated(), monkeypatch)  # every job takes a second
    assert {len(known.blocks) for known in samples.cells.values()} == {SWEEP_BLOCKS}


def test_sizes_are_told_of_both_subjects(monkeypatch):
    plan = plan_of("a")
    samples, _ = sampled(plan, Simulated(), monkeypatch)
    assert [row.subject for row in judge_bench(plan, samples).sizes] == ["2.13.0", "2.14.0"]
    arms = [line["arm"] for line in samples.cells["a~legacy"].sizes]
    assert arms == [*ARMS] * plan.sizes_of_each


def test_a_sweep_that_is_judged_is_measured_until_it_is_decided(monkeypatch):
    cell = BenchCell(BenchCase("steps@2", "steps", 2), "legacy", "sweep", judged=True)
    plan = plan_of(cells=(cell,))
    samples, _ = sampled(plan, Simulated(noise=0.005), monkeypatch)
    assert samples.cells[cell.cell_id].stopped
    assert len(samples.cells[cell.cell_id].blocks) > SWEEP_BLOCKS
    assert [stage.gates for stage in judge_bench(plan, samples).stages] == [True, True]


def test_a_fresh_process_is_asked_for_each_arm_where_forking_is_off(monkeypatch):
    zygote = Simulated()
    samples, _ = sampled(plan_of("a", budget_s=20, spawn=True), zygote, monkeypatch)
    assert set(zygote.asked) <= {"alone", "sizes"}
    assert set(samples.cells["a~legacy"].blocks[0]["arms"]) == {"baseline", "candidate", "again"}


def test_an_import_needs_no_pilot_and_each_arm_makes_one_a_block(monkeypatch):
    samples, _ = sampled(plan_of(cells=(IMPORT_CELL,)), Simulated(), monkeypatch)
    known = samples.cells[IMPORT_CELL.cell_id]
    assert known.pilot is None
    assert len(known.blocks) >= INTERIM_LOOKS[0]
    for arm in known.blocks[0]["arms"].values():
        assert {name: len(calls) for name, calls in arm["seconds"].items()} == {
            "save": 1, "load-warm": 1,
        }  # fmt: skip
        assert not any(arm["warm_up"].values())


@pytest.mark.parametrize(
    ("first", "call_s", "expected"),
    [
        ([0.03] * 5, 0.05, {"warm_up": 1, "calls": 6}),
        ([0.3, 0.06, 0.03, 0.03, 0.03], 0.05, {"warm_up": 2, "calls": 6}),
        ([0.03] * 5, 0.5, {"warm_up": 1, "calls": 3}),
        ([0.03] * 5, 0.001, {"warm_up": 1, "calls": 15}),
        ([5.0, 5.0], 5.0, {"warm_up": 0, "calls": 1}),
    ],
)
def test_the_pilot_says_how_many_calls(first, call_s, expected):
    arm = {"seconds": {"save": first}, "call_s": call_s * len(first)}
    assert chosen_calls({"baseline": arm, "candidate": arm, "again": arm}, ("save",)) == expected


def test_a_line_of_another_bench_is_refused():
    plan = plan_of("a")
    for line in (
        {"kind": "failed", "cell": "b~legacy", "reason": "x"},
        {"kind": "guess", "cell": "a~legacy"},
        {"kind": "block"},
    ):
        with pytest.raises(UsageError, match="journal"):
            read_samples(plan, [line])
