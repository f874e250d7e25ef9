"""A bench's verdicts as lines for a person."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.bench.compare import Comparison
from harness.bench.judging import BenchReport, StageVerdict
from harness.bench.plan import BenchPlan
from harness.stats.blocks import percent
from harness.stats.intervals import Estimate

_LIMIT = math.log(100)


def change(log_ratio: float) -> str:
    """A log-ratio as `+1.3 %`, or `unlimited` from a hundredfold change on."""
    return f"{percent(log_ratio):+.1f} %" if abs(log_ratio) < _LIMIT else "unlimited"


def interval(estimate: Estimate) -> str:
    """`+1.3 % (-0.2 % to +2.9 %)`."""
    if math.isinf(estimate.low):
        return f"{change(estimate.value)} (no interval)"
    return f"{change(estimate.value)} ({change(estimate.low)} to {change(estimate.high)})"


def seen(verdict: StageVerdict) -> str:
    """The smallest visible change, or `no change` if not even a hundredfold one was visible."""
    smallest = verdict.effect.smallest_detectable
    return "no change" if smallest >= _LIMIT else change(smallest)


def milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def verdict_line(verdict: StageVerdict) -> str:
    times = f"{milliseconds(verdict.baseline_s)} → {milliseconds(verdict.candidate_s)} ms"
    return (
        f"{verdict.word:<12} {verdict.cell.cell_id} {verdict.stage}: {times}, "
        f"{interval(verdict.effect.estimate)}; A/A {interval(verdict.control)}; "
        f"could have seen {seen(verdict)} in {verdict.effect.blocks} blocks"
        + ("" if verdict.steady else "; not steady")
    )


def first_screen(plan: BenchPlan, report: BenchReport) -> Iterator[str]:
    """What is printed at the end."""
    for verdict in report.stages:
        if verdict.gates:
            yield verdict_line(verdict)
    for cell_id, why in report.not_measured.items():
        yield f"not measured  {cell_id}: {why}"
    for growth in report.growths:
        exponent = growth.fit.exponent
        yield (
            f"growth        {growth.sweep} {growth.route} {growth.stage} {growth.subject}: "
            f"exponent {exponent.value:.2f} ({exponent.low:.2f} to {exponent.high:.2f})"
        )
    for note in report.notes:
        yield f"note: {note}"
    cases = {cell.case.name for cell in plan.cells}
    measured = {each.case.name for each in plan.cells if each.cell_id not in report.not_measured}
    if len(measured) < len(cases):
        yield f"measured: {len(measured)} of {len(cases)} cases, in a budget of {plan.budget_s:g} s"
    reasons = f": {'; '.join(report.reasons)}" if report.reasons else ""
    yield (
        f"gate: {report.gate}{reasons} "
        f"({plan.candidate} against {plan.baseline}, engines are emulated)"
    )


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """What `compare` prints."""
    for row in comparison.rows:
        yield f"{row.change:<12} {row.cell_id} {row.stage}: {interval(row.effect)}"
    for note in comparison.notes:
        yield f"note: {note}"
    how = "by the change against their common baseline" if comparison.anchored else "by seconds"
    yield f"gate: {comparison.gate}, compared {how}; engines are emulated"
