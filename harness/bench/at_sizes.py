"""File size, peak memory and load time at three sizes of a model: what a qualification measures.

The bench measures them, with its blocks, its A/A control and its intervals. The figures are shown
and decide nothing, because a person has to say whether a few per cent are worth a fix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.bench.bench import JudgedBench
from harness.bench.bytes import judge_bytes
from harness.bench.measures import GRAPH
from harness.bench.plan import Bands, BenchCell, BenchPlan
from harness.stats.intervals import Change, Estimate
from harness.wire.bench_records import BenchCase, Metric, Size
from harness.wire.records import SubjectSpec

SWEEP = "steps"
STEPS = (4, 12, 36)  # engines and fallbacks in turn
BUDGET_S = 60.0
SIZES = (Size.FILE, Size.SAVE_PEAK, Size.LOAD_PEAK)
SIZES_OF_EACH = 5  # workers: peaks of memory vary by some per cent
# For all figures together. Nothing gates on them, so errors may be less rare than in a bench.
ALPHA, CONTROL_ALPHA = 0.05, 0.01
NAMES: Mapping[str, str] = {
    Size.FILE: "file",
    Size.SAVE_PEAK: "peak memory of save",
    Size.LOAD_PEAK: "peak memory of load",
    Metric.LOAD_WARM: "load time",
}


@dataclass(frozen=True)
class AtSize:
    """One measure at one size: medians in ``unit``, and log-ratios, above zero is more.

    ``control`` compares the baseline with itself; if it is off, the effect means nothing.
    """

    steps: int
    what: str
    unit: str  # bytes or s
    baseline: float
    candidate: float
    effect: Estimate
    control: Estimate
    control_off: bool
    change: Change

    @property
    def conclusive(self) -> bool:
        return not self.control_off and self.change.decided

    @property
    def worse(self) -> bool:
        return self.conclusive and self.change is Change.REGRESSED


@dataclass(frozen=True)
class AtSizes:
    """All measurements by one route. ``missing`` says what was not measured, and why."""

    route: str
    band_percent: float
    rows: tuple[AtSize, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # of the machine


def common_route(baseline: SubjectSpec, candidate: SubjectSpec) -> str | None:
    """The route to measure: the first of the bench's routes that both subjects have."""
    for route in GRAPH.routes:
        if route in baseline.routes and route in candidate.routes:
            return route
    return None


def plan_at_sizes(
    baseline: str, candidate: str, route: str, budget_s: float, seed: int
) -> BenchPlan:
    """The bench to run."""
    cells = (
        BenchCell(BenchCase(f"{SWEEP}@{steps}", SWEEP, steps), route, "sweep", judged=True)
        for steps in STEPS
    )
    return BenchPlan(
        baseline=baseline,
        candidate=candidate,
        cells=tuple(cells),
        metrics=(Metric.LOAD_WARM,),
        gating=(Metric.LOAD_WARM,),
        bands=Bands(),
        budget_s=budget_s,
        seed=seed,
        alpha=ALPHA,
        control_alpha=CONTROL_ALPHA,
        sizes_of_each=SIZES_OF_EACH,
    )


def at_sizes(judged: JudgedBench) -> AtSizes:
    """The results of such a bench."""
    plan, report = judged.plan, judged.report
    rows = [
        AtSize(
            steps=v.cell.case.size,
            what=NAMES[v.size],
            unit="bytes",
            baseline=v.baseline,
            candidate=v.candidate,
            effect=v.effect,
            control=v.control,
            control_off=v.control_off,
            change=v.change,
        )
        for v in judge_bytes(plan, judged.samples, SIZES)
    ]
    rows += [
        AtSize(
            steps=stage.cell.case.size,
            what=NAMES[stage.stage],
            unit="s",
            baseline=stage.baseline_s,
            candidate=stage.candidate_s,
            effect=stage.effect.estimate,
            control=stage.control,
            control_off=stage.control_off,
            change=stage.effect.change,
        )
        for stage in report.stages
    ]
    return AtSizes(
        route=plan.cells[0].route,
        band_percent=plan.bands.default,
        rows=tuple(sorted(rows, key=lambda row: (list(NAMES.values()).index(row.what), row.steps))),
        missing=tuple(_missing(rows, report.not_measured, plan)),
        notes=report.notes,
    )


def unmeasured(route: str, why: str) -> AtSizes:
    """A result without figures, with the reason."""
    return AtSizes(route, Bands.default, (), (f"{', '.join(NAMES.values())}: {why}",))


def _missing(
    rows: Sequence[AtSize], not_measured: Mapping[str, str], plan: BenchPlan
) -> Iterator[str]:
    had = {(row.what, row.steps) for row in rows}
    for cell in plan.cells:
        steps = cell.case.size
        lacks = [what for what in NAMES.values() if (what, steps) not in had]
        if lacks:
            why = not_measured.get(cell.cell_id, "the budget had no room for it")
            yield f"{', '.join(lacks)} at {steps} engines and fallbacks: {why}"
