"""Verdicts on the samples of a bench. Pure, and computed anew for every report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from harness.bench.plan import AGAIN, ARMS, BASELINE, CANDIDATE, BenchCell, BenchPlan
from harness.bench.samples import CellSamples, Samples
from harness.gate.findings import Gate
from harness.stats.growth import Growth, growth
from harness.stats.intervals import Change, Estimate
from harness.stats.sequential import Effect, effects
from harness.stats.steady import steadiness
from harness.wire.bench_records import Size

GROWTH_CONFIDENCE = 0.95
STEADY_CONFIDENCE = 0.999


@dataclass(frozen=True)
class StageVerdict:
    """One stage of one cell. Medians of the workers' medians, in seconds.

    ``control`` compares the baseline with itself. ``control_off`` says that the baseline differs
    from itself, so that the effect means nothing.
    """

    cell: BenchCell
    stage: str
    gates: bool
    baseline_s: float
    candidate_s: float
    effect: Effect
    control: Estimate
    control_off: bool
    band: float
    steady: bool
    stopped_early: bool

    @property
    def word(self) -> str:
        return "control off" if self.control_off else self.effect.change.value


@dataclass(frozen=True)
class GrowthFit:
    """How a stage's time grows over one sweep, for one arm."""

    sweep: str
    route: str
    stage: str
    subject: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    fit: Growth


@dataclass(frozen=True)
class SizeRow:
    """Bytes of one cell and arm: the median of its workers."""

    cell: BenchCell
    subject: str
    bytes: Mapping[str, float]


@dataclass(frozen=True)
class BenchReport:
    """The results of a bench. A reader has to know the ``notes`` before the numbers."""

    gate: Gate
    reasons: tuple[str, ...]
    stages: tuple[StageVerdict, ...]
    growths: tuple[GrowthFit, ...]
    sizes: tuple[SizeRow, ...]
    not_measured: Mapping[str, str] = field(default_factory=dict)  # cell id -> why
    notes: tuple[str, ...] = ()

    def of(self, change: Change) -> tuple[StageVerdict, ...]:
        """The gating stages with this verdict, whose control is sound."""
        return tuple(
            stage
            for stage in self.stages
            if stage.gates and not stage.control_off and stage.effect.change is change
        )


def judge_bench(plan: BenchPlan, samples: Samples, notes: Sequence[str] = ()) -> BenchReport:
    """Judge everything that was measured."""
    gating = _judged(plan, samples, gates=True)
    others = _judged(plan, samples, gates=False)
    order = {cell.cell_id: number for number, cell in enumerate(plan.cells)}
    stages = sorted(
        [*gating, *others],
        key=lambda v: (order[v.cell.cell_id], plan.metrics.index(v.stage)),
    )
    not_measured = {
        cell.cell_id: samples.cells[cell.cell_id].failed or "the budget had no room for it"
        for cell in plan.cells
        if samples.cells[cell.cell_id].failed or not samples.cells[cell.cell_id].blocks
    }
    gate, reasons = _gate(plan, gating, not_measured)
    return BenchReport(
        gate=gate,
        reasons=reasons,
        stages=tuple(stages),
        growths=_growths(plan, samples),
        sizes=_sizes(plan, samples),
        not_measured=not_measured,
        notes=tuple(notes),
    )


def _judged(plan: BenchPlan, samples: Samples, *, gates: bool) -> list[StageVerdict]:
    """One family of hypotheses: the gating stages of the cells that gate, or all others."""
    asked = [
        (cell, samples.cells[cell.cell_id], stage)
        for cell in plan.cells
        for stage in samples.cells[cell.cell_id].measured
        if stage in plan.metrics and (cell.gates and stage in plan.gating) is gates
    ]
    blocks = [known.of(stage) for _, known, stage in asked]
    bands = [plan.bands.of(cell.family, stage) for cell, _, stage in asked]
    stopped = [known.stopped for _, known, _ in asked]
    judged = effects([[b.effect for b in each] for each in blocks], bands, plan.alpha, stopped)
    # With an unlimited band the control is off exactly if its interval excludes zero.
    controls = effects(
        [[b.control for b in each] for each in blocks],
        [math.inf] * len(asked),
        2 * plan.control_alpha,
        [False] * len(asked),
    )
    return [
        _verdict(cell, known, stage, gates, effect, control.estimate, band)
        for (cell, known, stage), effect, control, band in zip(
            asked, judged, controls, bands, strict=True
        )
    ]


def _verdict(
    cell: BenchCell,
    known: CellSamples,
    stage: str,
    gates: bool,
    effect: Effect,
    control: Estimate,
    band: float,
) -> StageVerdict:
    workers = [calls for arm in ARMS for calls in known.workers(stage, arm)]
    warm = steadiness(workers, STEADY_CONFIDENCE)
    return StageVerdict(
        cell=cell,
        stage=stage,
        gates=gates,
        baseline_s=median([*known.medians(stage, BASELINE), *known.medians(stage, AGAIN)]),
        candidate_s=median(known.medians(stage, CANDIDATE)),
        effect=effect,
        control=control,
        control_off=control.low > 0 or control.high < 0,
        band=band,
        steady=warm is None or warm.steady,
        stopped_early=known.stopped,
    )


def _gate(
    plan: BenchPlan, gating: Sequence[StageVerdict], not_measured: Mapping[str, str]
) -> tuple[Gate, tuple[str, ...]]:
    """Red only if every control is sound: a run whose A/A control differs does not gate."""
    off = [verdict for verdict in gating if verdict.control_off]
    if off:
        names = ", ".join(f"{v.cell.cell_id} {v.stage}" for v in off)
        return Gate.INCONCLUSIVE, (
            f"the A/A control is off: {plan.baseline} differs from itself in {names}; "
            "this run does not gate",
        )
    slower = [verdict for verdict in gating if verdict.effect.change is Change.REGRESSED]
    if slower:
        return Gate.RED, tuple(f"{v.cell.cell_id} {v.stage} regressed" for v in slower)
    reasons = [
        f"{cell_id} was not measured: {why}"
        for cell_id, why in not_measured.items()
        if plan.cell(cell_id).gates
    ]
    doubtful = [v for v in gating if v.effect.change is Change.INCONCLUSIVE]
    if doubtful:
        reasons.append(f"{len(doubtful)} of {len(gating)} stages are inconclusive")
    if not plan.gates:
        reasons.append("sweeps tell how time grows and do not gate; name --cases for a verdict")
    elif not gating:
        reasons.append("nothing that gates was measured")
    return (Gate.INCONCLUSIVE, tuple(reasons)) if reasons else (Gate.GREEN, ())


def _growths(plan: BenchPlan, samples: Samples) -> tuple[GrowthFit, ...]:
    """A fit for each sweep, route, stage and subject, over all blocks of all sizes."""
    fits = []
    for sweep in dict.fromkeys(cell.case.sweep for cell in plan.cells if cell.case.sweep):
        for route in dict.fromkeys(cell.route for cell in plan.cells):
            cells = [
                cell for cell in plan.cells if cell.case.sweep == sweep and cell.route == route
            ]
            for stage in plan.metrics:
                for subject, arms in (
                    (plan.baseline, (BASELINE, AGAIN)),
                    (plan.candidate, (CANDIDATE,)),
                ):
                    fit = _fit(cells, samples, stage, arms)
                    if fit is not None:
                        fits.append(GrowthFit(sweep, route, stage, subject, *fit))
    return tuple(fits)


def _fit(
    cells: Sequence[BenchCell], samples: Samples, stage: str, arms: Sequence[str]
) -> tuple[tuple[int, ...], tuple[float, ...], Growth] | None:
    """A fit through one median for each size, as points of one size share more than noise."""
    points = []
    for cell in cells:
        known = samples.cells[cell.cell_id]
        if stage in known.measured:
            seconds = median(value for arm in arms for value in known.medians(stage, arm))
            points.append((cell.case.size, seconds))
    if len(points) < 3:
        return None
    sizes, times = zip(*points, strict=True)
    return sizes, times, growth(sizes, times, GROWTH_CONFIDENCE)


def _sizes(plan: BenchPlan, samples: Samples) -> tuple[SizeRow, ...]:
    rows = []
    for cell in plan.cells:
        for arm, subject in ((BASELINE, plan.baseline), (CANDIDATE, plan.candidate)):
            lines = [
                line["sizes"] for line in samples.cells[cell.cell_id].sizes if line["arm"] == arm
            ]
            if lines:
                medians = {str(size): median(line[size] for line in lines) for size in Size}
                rows.append(SizeRow(cell, subject, medians))
    return tuple(rows)
