"""Compares two benches, and shows many as a trend.

The samples of two benches were not taken in turn, and the machine may have changed between them, so
their seconds cannot be compared directly. If both measured the same baseline, the changes of the
candidates against it are compared, and the difference in time cancels out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from harness.base.errors import UsageError
from harness.bench.bench import JudgedBench
from harness.bench.machine import unlike
from harness.bench.plan import CANDIDATE
from harness.gate.findings import Gate
from harness.stats.changes import ChangePoint, change_points
from harness.stats.intervals import Change, Estimate, judge, welch_interval
from harness.wire.routes import Lane


@dataclass(frozen=True)
class Compared:
    """One stage of one cell in both benches. ``effect`` is a log-ratio, above zero is slower."""

    cell_id: str
    stage: str
    effect: Estimate
    change: Change


@dataclass(frozen=True)
class Comparison:
    """The comparison of two benches. ``anchored`` says that both have the same baseline."""

    anchored: bool
    gate: Gate
    rows: tuple[Compared, ...]
    notes: tuple[str, ...] = ()


def compare(base: JudgedBench, cand: JudgedBench, *, allow_mismatch: bool = False) -> Comparison:
    """Compare the candidate of ``cand`` with that of ``base``, by the bands of ``cand``."""
    differs = _unlike(base, cand)
    if differs and not allow_mismatch:
        raise UsageError(
            f"{base.folder.run_id} and {cand.folder.run_id} are of unlike machines "
            f"({'; '.join(differs)}); --allow-mismatch compares them all the same"
        )
    anchored = _baseline_id(base) == _baseline_id(cand)
    common = [
        (cell, stage)
        for cell in cand.plan.cells
        if cell.gates and cell.cell_id in base.samples.cells
        for stage in cand.plan.gating
        if stage in cand.samples.cells[cell.cell_id].measured
        and stage in base.samples.cells[cell.cell_id].measured
    ]
    if not common:
        raise UsageError(
            f"{base.folder.run_id} and {cand.folder.run_id} have no stage of a case in common"
        )
    level = cand.plan.alpha / len(common)  # Bonferroni, because each interval is read by itself
    rows = []
    for cell, stage in common:
        effect = welch_interval(
            _values(base, cell.cell_id, stage, anchored=anchored),
            _values(cand, cell.cell_id, stage, anchored=anchored),
            1 - level,
        )
        change = judge(effect, cand.plan.bands.of(cell.family, stage))
        rows.append(Compared(cell.cell_id, stage, effect, change))
    notes = [f"unlike machines: {'; '.join(differs)}"] if differs else []
    if not anchored:
        notes.append(
            "the two have no baseline in common: seconds are compared, with all that the machine "
            "did between them"
        )
    return Comparison(anchored, _gate(base, cand, rows), tuple(rows), tuple(notes))


def _unlike(one: JudgedBench, other: JudgedBench) -> list[str]:
    builders = one.plan.builder, other.plan.builder
    engines = [f"builder: {' and '.join(builders)}"] if len(set(builders)) > 1 else []
    return [*unlike(one.provenance, other.provenance), *engines]


def _gate(base: JudgedBench, cand: JudgedBench, rows: Sequence[Compared]) -> Gate:
    off = any(v.control_off for bench in (base, cand) for v in bench.report.stages if v.gates)
    changes = {row.change for row in rows}
    if off:
        return Gate.INCONCLUSIVE
    if Change.REGRESSED in changes:
        return Gate.RED
    return Gate.INCONCLUSIVE if Change.INCONCLUSIVE in changes else Gate.GREEN


def _baseline_id(bench: JudgedBench) -> str | None:
    """What identifies the baseline's code."""
    for spec in bench.provenance.subjects:
        if spec.subject == bench.plan.baseline:
            whole = bench.plan.lane == Lane.PACKAGE
            return spec.subject if whole else spec.inliner_id or spec.subject
    return None


def _values(bench: JudgedBench, cell_id: str, stage: str, *, anchored: bool) -> list[float]:
    cell = bench.samples.cells[cell_id]
    if anchored:
        return [block.effect for block in cell.of(stage)]
    return [math.log(seconds) for seconds in cell.medians(stage, CANDIDATE)]


@dataclass(frozen=True)
class Trend:
    """One stage of one cell over many benches, oldest first; ``levels`` are log-ratios to the
    baseline, or of seconds where baselines differ."""

    cell_id: str
    stage: str
    runs: tuple[str, ...]
    levels: tuple[float, ...]
    changes: tuple[ChangePoint, ...]


def trend(benches: Sequence[JudgedBench], *, allow_mismatch: bool = False) -> tuple[Trend, ...]:
    """Every stage that at least two benches measured, with its change points."""
    if len(benches) < 2:
        raise UsageError("a trend needs at least two benches")
    ordered = sorted(benches, key=lambda bench: bench.provenance.started_at)
    for bench in ordered[1:]:
        differs = _unlike(ordered[0], bench)
        if differs and not allow_mismatch:
            raise UsageError(
                f"{ordered[0].folder.run_id} and {bench.folder.run_id} are of unlike machines "
                f"({'; '.join(differs)}); --allow-mismatch takes them all the same"
            )
    anchored = len({_baseline_id(bench) for bench in ordered}) == 1
    keys = dict.fromkeys(
        (cell.cell_id, stage)
        for bench in ordered
        for cell in bench.plan.cells
        for stage in bench.plan.gating
    )
    trends = []
    for cell_id, stage in keys:
        having = [
            bench
            for bench in ordered
            if cell_id in bench.samples.cells and stage in bench.samples.cells[cell_id].measured
        ]
        if len(having) < 2:
            continue
        levels = [mean(_values(bench, cell_id, stage, anchored=anchored)) for bench in having]
        runs = tuple(bench.folder.run_id for bench in having)
        trends.append(Trend(cell_id, stage, runs, tuple(levels), change_points(levels)))
    return tuple(trends)


def comparison_to_json(comparison: Comparison) -> dict[str, object]:
    return {
        "anchored": comparison.anchored,
        "gate": comparison.gate,
        "notes": list(comparison.notes),
        "rows": [
            {
                **dataclasses.asdict(row),
                "effect": {
                    name: value if math.isfinite(value) else None
                    for name, value in dataclasses.asdict(row.effect).items()
                },
            }
            for row in comparison.rows
        ],
    }
