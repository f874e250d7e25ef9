"""The picture of latency over the number of steps: a row a route, a panel a stage.

Both axes are logarithmic, so time that grows with the number of steps rises by one in one. The old
inliner has hollow rings and dashed medians, the new one full squares and solid ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.report import style, text
from harness.report.draw.plots import new_figure, ticks
from harness.report.frames.tables import LATENCY_STAGES
from harness.report.sections.over_steps import OverSteps, StepPanel


@dataclass(frozen=True)
class _Look:
    colour: str
    marker: str
    face: str
    line: Literal["-", "--"]


_OLD = _Look(style.VERMILLION, "o", "none", "--")
_NEW = _Look(style.BLUE, "s", style.BLUE, "-")
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def step_figure(over: OverSteps | None, emulated: bool) -> Figure:
    """One point a case and inliner, and the median of each doubling of steps."""
    panels = over.panels if over else ()
    routes = list(dict.fromkeys(panel.route for panel in panels))
    with mpl.rc_context({**style.RC, "axes.grid.axis": "both"}):
        figure = new_figure(9.4, 1.05 + 2.0 * max(len(routes), 1))
        height = figure.get_figheight()
        engines = "engines are emulated" if emulated else "engines run on the device"
        title = f"Milliseconds over the number of steps; {engines}"
        figure.text(0.012, 1 - 0.12 / height, title, va="top", fontsize=11, fontweight="bold")
        if over is None or not routes:
            figure.text(0.012, 0.4, text.NOT_MEASURED, color=style.MUTED)
            return figure
        grid = figure.subplots(len(routes), len(LATENCY_STAGES), sharex=True, squeeze=False)
        figure.subplots_adjust(
            left=0.085, right=0.995, wspace=0.24, hspace=0.14,
            top=1 - 0.7 / height, bottom=0.45 / height,
        )  # fmt: skip
        for panel in panels:
            row, column = routes.index(panel.route), LATENCY_STAGES.index(panel.stage)
            axes = grid[row][column]
            _draw(axes, panel)
            if not row:
                axes.set_title(panel.stage, pad=6)
            if not column:
                axes.set_ylabel(f"by {panel.route}", fontweight="bold", color=style.INK)
        for axes in grid[-1]:
            axes.set_xlabel("steps", fontsize=8)
        figure.legend(
            handles=[_key(f"{over.old}, by name", _OLD), _key(f"{over.new}, by position", _NEW)],
            loc="upper right", ncols=2, frameon=False, fontsize=8.5, borderaxespad=0.1,
        )  # fmt: skip
    return figure


def _draw(axes: Axes, panel: StepPanel) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not panel.points:
        axes.text(0.5, 0.5, text.NOT_MEASURED, transform=axes.transAxes, ha="center", fontsize=7)
        return
    steps = [point.steps for point in panel.points]
    _points(axes, steps, [point.old for point in panel.points], _OLD)
    _points(axes, steps, [point.new for point in panel.points], _NEW)
    at = [found.steps for found in panel.bins]
    _medians(axes, at, [found.old for found in panel.bins], _OLD)
    _medians(axes, at, [found.new for found in panel.bins], _NEW)
    axes.xaxis.set_major_locator(FixedLocator([2**power for power in range(16)]))
    axes.yaxis.set_major_locator(FixedLocator(ticks(*axes.get_ylim())))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_PLAIN)
        axis.set_minor_locator(NullLocator())


def _points(axes: Axes, steps: list[int], seconds: list[float], look: _Look) -> None:
    axes.plot(
        steps, [value * 1e3 for value in seconds], look.marker, color=look.colour, alpha=0.5,
        markerfacecolor=look.face, markersize=4.5 if look.face == "none" else 2.5,
        markeredgewidth=0.8,
    )  # fmt: skip


def _medians(axes: Axes, steps: list[float], seconds: list[float], look: _Look) -> None:
    axes.plot(
        steps, [value * 1e3 for value in seconds], look.line, color=look.colour, linewidth=1.8
    )


def _key(label: str, look: _Look) -> Line2D:
    return Line2D(
        [], [], color=look.colour, marker=look.marker, linestyle=look.line,
        markerfacecolor=look.face, label=label,
    )  # fmt: skip
