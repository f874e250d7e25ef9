"""A bench as one self-contained page, and as markdown for a pull request."""

from __future__ import annotations

from harness.bench.judging import BenchReport
from harness.bench.measures import measures_of
from harness.bench.plan import BenchPlan
from harness.gate.findings import Gate
from harness.report.draw.bench_plots import changes_figure, growth_figure
from harness.report.pages.rendering import picture, render
from harness.runs.provenance import Provenance

_HEADLINES = {
    Gate.GREEN: "No slowdown beyond what is allowed",
    Gate.RED: "Slower",
    Gate.INCONCLUSIVE: "Inconclusive: this does not say that nothing changed",
}

_GROWTH_ALONE = "How time grows with size"


def bench_page(plan: BenchPlan, report: BenchReport, provenance: Provenance) -> str:
    """The page; opens from a mail, without a network."""
    sweeps = dict.fromkeys(fit.sweep for fit in report.growths)
    return _render(
        "bench.html",
        plan,
        report,
        provenance,
        changes_picture=picture(
            changes_figure(plan, report), "changes", "Changes with intervals; numbers below"
        ),
        growth_pictures={
            sweep: picture(
                growth_figure(report, sweep, plan.baseline, plan.candidate),
                f"growth-{sweep}",
                f"Time over {sweep}; the exponents stand below",
            )
            for sweep in sweeps
        },
    )


def bench_markdown(plan: BenchPlan, report: BenchReport, provenance: Provenance) -> str:
    """What fits a comment: the gate, every stage that gates, exponents, notes."""
    return _render("bench.md", plan, report, provenance)


def _render(
    template: str,
    plan: BenchPlan,
    report: BenchReport,
    provenance: Provenance,
    **pictures: object,
) -> str:
    return render(
        template,
        plan=plan,
        report=report,
        provenance=provenance,
        headline=_HEADLINES[report.gate] if plan.gates else _GROWTH_ALONE,
        about=measures_of(plan.lane).about,
        **pictures,
    )
