"""A bench as one self-contained page, and as markdown for a pull request."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from harness.bench import words
from harness.bench.judging import BenchReport, Gate
from harness.bench.measures import measures_of
from harness.bench.plan import BenchPlan
from harness.report import style, text
from harness.report.draw import plots
from harness.report.draw.bench_plots import changes_figure, growth_figure
from harness.report.pages.markdown import code, escaped
from harness.report.pages.page import TEMPLATES
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
        html=True,
        changes_picture=_picture(
            changes_figure(plan, report), "changes", "Changes with intervals; numbers below"
        ),
        growth_pictures={
            sweep: _picture(
                growth_figure(report, sweep, plan.baseline, plan.candidate),
                f"growth-{sweep}",
                f"Time over {sweep}; the exponents stand below",
            )
            for sweep in sweeps
        },
    )


def bench_markdown(plan: BenchPlan, report: BenchReport, provenance: Provenance) -> str:
    """What fits a comment: the gate, every stage that gates, exponents, notes."""
    return _render("bench.md", plan, report, provenance, html=False)


def _render(
    template: str,
    plan: BenchPlan,
    report: BenchReport,
    provenance: Provenance,
    *,
    html: bool,
    **pictures: object,
) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=html,
        finalize=(lambda value: value) if html else escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(style=style, text=text, words=words)
    environment.filters.update(code=code)
    return environment.get_template(template).render(
        plan=plan,
        report=report,
        provenance=provenance,
        headline=_HEADLINES[report.gate] if plan.gates else _GROWTH_ALONE,
        about=measures_of(plan.lane).about,
        **pictures,
    )


def _picture(figure: Figure, name: str, description: str) -> Markup:
    # The SVG is this harness's own drawing; its text nodes were escaped when it was written.
    return Markup(plots.inlined(plots.svg(figure), name, escape(description)))
