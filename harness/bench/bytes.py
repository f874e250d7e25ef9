"""Verdicts on bytes: files and peaks of memory, with intervals and the A/A control."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from harness.bench.plan import AGAIN, BASELINE, CANDIDATE, BenchCell, BenchPlan
from harness.bench.samples import CellSamples, Samples
from harness.stats.blocks import Block
from harness.stats.intervals import Change, Estimate, judge, t_interval
from harness.wire.bench_records import Size

# Memory comes in whole pages, so a few workers that agree to the byte can still be a page off.
PAGE_BYTES = 4096
LEAST_OF_MEMORY = 3  # workers, an arm
PEAKS = (Size.SAVE_PEAK, Size.LOAD_PEAK, Size.AFTER_LOAD)


@dataclass(frozen=True)
class BytesVerdict:
    """One size of one cell: medians of the workers, and the effect as a log-ratio (above 0: more).

    ``control`` compares the baseline with itself. ``control_off`` says that the baseline differs
    from itself, so that the effect means nothing.
    """

    cell: BenchCell
    size: Size
    baseline: float
    candidate: float
    effect: Estimate
    control: Estimate
    control_off: bool
    change: Change


def judge_bytes(
    plan: BenchPlan, samples: Samples, sizes: Sequence[Size]
) -> tuple[BytesVerdict, ...]:
    """The verdicts on some sizes of every cell that all three arms measured.

    The intervals hold together with a probability of 1 - ``plan.alpha`` (Bonferroni).
    """
    measured = [
        (cell, size, of_arm)
        for cell in plan.cells
        for size in sizes
        if all(of_arm := _by_arm(samples.cells[cell.cell_id], size))
    ]
    return tuple(
        _verdict(plan, cell, size, *of_arm, 1 / len(measured)) for cell, size, of_arm in measured
    )


def _by_arm(known: CellSamples, size: Size) -> tuple[list[float], list[float], list[float]]:
    """Recorded sizes of the three arms."""
    baseline, candidate, again = (
        [line["sizes"][size] for line in known.sizes if line["arm"] == arm]
        for arm in (BASELINE, CANDIDATE, AGAIN)
    )
    return baseline, candidate, again


def _verdict(
    plan: BenchPlan,
    cell: BenchCell,
    size: Size,
    baseline: Sequence[float],
    candidate: Sequence[float],
    again: Sequence[float],
    share: float,
) -> BytesVerdict:
    blocks = [Block(*arms) for arms in zip(baseline, candidate, again, strict=False) if all(arms)]
    if size in PEAKS:
        resolution = math.log1p(PAGE_BYTES / max(median(baseline), PAGE_BYTES))
        blocks = blocks if len(blocks) >= LEAST_OF_MEMORY else []
    else:
        resolution = 0.0
    effects = [block.effect for block in blocks]
    controls = [block.control for block in blocks]
    effect = _interval(effects, 1 - plan.alpha * share, resolution)
    control = _interval(controls, 1 - plan.control_alpha * share, resolution)
    return BytesVerdict(
        cell=cell,
        size=size,
        baseline=median([*baseline, *again]),
        candidate=median(candidate),
        effect=effect,
        control=control,
        control_off=control.low > 0 or control.high < 0,
        change=judge(effect, plan.bands.of(cell.family, size)),
    )


def _interval(log_ratios: Sequence[float], confidence: float, resolution: float) -> Estimate:
    """An interval without limits if there are no log-ratios, as for a peak of no bytes."""
    if not log_ratios:
        return Estimate(0.0, -math.inf, math.inf, confidence)
    plain = t_interval(log_ratios, confidence)
    return dataclasses.replace(plain, low=plain.low - resolution, high=plain.high + resolution)
