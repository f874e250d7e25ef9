"""The pictures of a bench: changes with their intervals, and time over size.

Every title says that engines are emulated: what these pictures show of saving and loading is the
program and the bytes, and of running it nothing that a device would do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.bench.judging import BenchReport, GrowthFit, StageVerdict
from harness.bench.plan import BenchPlan
from harness.bench.words import change
from harness.report import style, text
from harness.report.draw.plots import new_figure, ticks
from harness.stats.blocks import percent
from harness.stats.intervals import Change

EMULATED = "engines are emulated"
GROWTH_STAGES = ("inline", "export", "save", "load-warm")
_LEAST_WIDTH = 9.4  # inches; the legend's
_LETTER = 0.0625  # inches; of a cell's name
_SHOWN_PERCENT = 60.0  # an interval that reaches beyond is cut, and its number stands beside it

_COLOURS = {
    Change.REGRESSED: style.VERMILLION,
    Change.IMPROVED: style.BLUE,
    Change.EQUIVALENT: style.GREEN,
    Change.INCONCLUSIVE: style.MUTED,
}
_MARKERS = {
    Change.REGRESSED: ">",
    Change.IMPROVED: "<",
    Change.EQUIVALENT: "s",
    Change.INCONCLUSIVE: "o",
}


def changes_figure(plan: BenchPlan, report: BenchReport) -> Figure:
    """One panel for each gating stage, and one line for each cell: its change and the control's."""
    shown = [verdict for verdict in report.stages if verdict.gates]
    stages = [stage for stage in plan.metrics if any(v.stage == stage for v in shown)]
    cells = list(dict.fromkeys(verdict.cell.cell_id for verdict in shown))
    with mpl.rc_context(style.RC):
        left = max(2.2, 0.1 + _LETTER * max(map(len, cells), default=0))
        figure = new_figure(
            max(left + 2.1 * len(stages), _LEAST_WIDTH), 1.35 + 0.3 * max(len(cells), 2)
        )
        height = figure.get_figheight()
        title = f"{plan.candidate} against {plan.baseline}, change in per cent; {EMULATED}"
        figure.text(0.012, 1 - 0.1 / height, title, va="top", fontsize=11, fontweight="bold")
        if not shown:
            figure.text(0.012, 0.4, text.NOT_MEASURED, color=style.MUTED)
            return figure
        panels = figure.subplots(1, len(stages), sharey=True, squeeze=False)[0]
        figure.subplots_adjust(
            left=left / figure.get_figwidth(), right=0.99, wspace=0.08,
            top=1 - 0.66 / height, bottom=0.5 / height,
        )  # fmt: skip
        for axes, stage in zip(panels, stages, strict=True):
            _draw_changes(axes, stage, cells, [v for v in shown if v.stage == stage])
        figure.legend(
            handles=[
                *(
                    Line2D([], [], color=_COLOURS[c], marker=_MARKERS[c], label=c.value)
                    for c in Change
                ),
                Patch(color=style.RULE, label=f"A/A: {plan.baseline} against itself"),
                Line2D([], [], color=style.INK, linestyle=":", label="allowed"),
            ],
            loc="lower center", ncols=6, frameon=False, fontsize=8, borderaxespad=0.0,
        )  # fmt: skip
    return figure


def _draw_changes(
    axes: Axes, stage: str, cells: Sequence[str], verdicts: Sequence[StageVerdict]
) -> None:
    axes.set_title(stage, pad=6)
    axes.set_yticks(range(len(cells)), cells, fontsize=7.5)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    reach = min(_SHOWN_PERCENT, max(8.0, *(_reach(verdict) for verdict in verdicts)) * 1.15)
    axes.set_xlim(-reach, reach)
    axes.axvline(0, color=style.MUTED, linewidth=0.7)
    for verdict in verdicts:
        line = cells.index(verdict.cell.cell_id)
        low, high = (percent(end) for end in (verdict.control.low, verdict.control.high))
        axes.fill_betweenx(
            [line - 0.32, line + 0.32], max(low, -reach), min(high, reach), color=style.RULE,
            linewidth=0,
        )  # fmt: skip
        for end in (-verdict.band, verdict.band):
            axes.plot([percent(end)] * 2, [line - 0.4, line + 0.4], ":", color=style.INK, lw=0.9)
        estimate = verdict.effect.estimate
        colour, marker = _COLOURS[verdict.effect.change], _MARKERS[verdict.effect.change]
        ends = [max(percent(estimate.low), -reach), min(percent(estimate.high), reach)]
        axes.plot(ends, [line, line], color=colour, linewidth=2, solid_capstyle="butt")
        middle = percent(estimate.value)
        axes.plot([min(max(middle, -reach), reach)], [line], marker, color=colour, markersize=5)
        if abs(middle) > reach:
            side = math.copysign(reach * 0.97, middle)
            axes.text(
                side, line - 0.42, change(estimate.value), fontsize=6.5,
                ha="right" if middle > 0 else "left",
            )  # fmt: skip


def _reach(verdict: StageVerdict) -> float:
    estimate = verdict.effect.estimate
    ends = [estimate.low, estimate.high, verdict.control.low, verdict.control.high]
    return max(min(abs(percent(end)), _SHOWN_PERCENT) for end in (*ends, verdict.band))


def growth_figure(report: BenchReport, sweep: str, baseline: str, candidate: str) -> Figure:
    """Time over size on logarithmic axes: one row for each route, one panel for each stage."""
    found = [fit for fit in report.growths if fit.sweep == sweep and fit.stage in GROWTH_STAGES]
    routes = list(dict.fromkeys(fit.route for fit in found))
    stages = [stage for stage in GROWTH_STAGES if any(fit.stage == stage for fit in found)]
    with mpl.rc_context({**style.RC, "axes.grid.axis": "both"}):
        figure = new_figure(
            max(0.8 + 2.5 * len(stages), _LEAST_WIDTH), 1.3 + 2.0 * max(len(routes), 1)
        )
        height = figure.get_figheight()
        title = f"Milliseconds over {_size_word(sweep)}; {EMULATED}"
        figure.text(0.012, 1 - 0.1 / height, title, va="top", fontsize=11, fontweight="bold")
        if not found:
            figure.text(0.012, 0.4, text.NOT_MEASURED, color=style.MUTED)
            return figure
        grid = figure.subplots(len(routes), len(stages), squeeze=False, sharex=True)
        figure.subplots_adjust(
            left=0.8 / figure.get_figwidth(), right=0.99, wspace=0.26, hspace=0.2,
            top=1 - 0.88 / height, bottom=0.48 / height,
        )  # fmt: skip
        for fit in found:
            axes = grid[routes.index(fit.route)][stages.index(fit.stage)]
            _draw_growth(axes, fit, old=fit.subject == baseline)
            if fit.route == routes[0]:
                axes.set_title(fit.stage, pad=6)
            if fit.stage == stages[0]:
                axes.set_ylabel(f"by {fit.route}", fontweight="bold", color=style.INK)
        for axes in grid[-1]:
            axes.set_xlabel(_size_word(sweep), fontsize=8)
        figure.legend(
            handles=[
                Line2D([], [], color=style.VERMILLION, marker="o", markerfacecolor="none",
                       linestyle="--", label=baseline),
                Line2D([], [], color=style.BLUE, marker="s", label=candidate),
            ],
            loc="upper left", bbox_to_anchor=(0.005, 1 - 0.3 / height), ncols=2,
            frameon=False, fontsize=8.5, borderaxespad=0.0,
        )  # fmt: skip
    return figure


def _draw_growth(axes: Axes, fit: GrowthFit, *, old: bool) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    milliseconds = [seconds * 1e3 for seconds in fit.seconds]
    colour = style.VERMILLION if old else style.BLUE
    axes.plot(
        fit.sizes, milliseconds, "o--" if old else "s-", color=colour, markersize=4,
        markerfacecolor="none" if old else colour, linewidth=1.4,
    )  # fmt: skip
    exponent = (fit.fit.upper or fit.fit.exponent).value
    axes.annotate(
        f"{exponent:.2f}", (fit.sizes[-1], milliseconds[-1]), xytext=(-4, 6 if old else -11),
        textcoords="offset points", ha="right", fontsize=7.5, color=colour,
    )  # fmt: skip
    axes.yaxis.set_major_locator(FixedLocator(ticks(*axes.get_ylim())))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def _size_word(sweep: str) -> str:
    return {
        "steps": "steps (engines and fallbacks)",
        "fan-out": "engines that read one value",
        "ballast": "bytes of engines",
        "parameters": "parameters in a fallback",
    }.get(sweep, sweep)
