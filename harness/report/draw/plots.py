"""The picture of latency by subject and route, and what every picture is drawn with.

Figures are plain objects drawn with Agg; pyplot and its global state are not used. What a picture
shows comes from the model, so it agrees with the tables beside it.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from itertools import groupby

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from harness.report import style, text
from harness.report.frames.tables import Quartiles
from harness.report.sections.latency import MeasureRow

MOST_LINES = 30
"""Lines of a picture: beyond that no eye follows, and the tables have all."""

PLOTTED_STAGES = ("inline", "export", "save", "load")
_MARKERS = re.compile(
    r'<use [^>]*? style="(?P<look>[^"]*)"/>(?:\s*<use [^>]*? style="(?P=look)"/>)+'
)


def left_out(lines: int) -> str:
    """The end of a picture's title where it shows only the last of its lines."""
    return f"; the last {MOST_LINES} of {lines:,}" if lines > MOST_LINES else ""


def latency_figure(rows: Sequence[MeasureRow], emulated: bool) -> Figure:
    """Median and quartiles: a panel for a stage, a block for a route, a line for a subject.

    Only what stands in one block is of the same cases, so blocks are set apart.
    """
    known = [row for row in rows if any(row.stages.get(stage) for stage in PLOTTED_STAGES)]
    of_routes = [list(of) for _, of in groupby(known, lambda row: row.route)]
    shown = [row for of in of_routes for row in of[-MOST_LINES:]]
    most = max(map(len, of_routes), default=0)
    lines = _lines(shown)
    with mpl.rc_context(style.RC):
        figure = new_figure(11.6, 1.25 + 0.235 * max(lines[-1] + 1 if lines else 0, 3))
        engines = "engines are emulated" if emulated else "engines run on the device"
        height = figure.get_figheight()
        figure.text(
            0.012,
            1 - 0.12 / height,
            f"Latency in milliseconds; {engines}{left_out(most)}",
            va="top",
            fontsize=11,
            fontweight="bold",
        )
        if not shown:
            figure.text(0.012, 0.4, text.NOT_MEASURED, color=style.MUTED)
            return figure
        panels = figure.subplots(1, len(PLOTTED_STAGES), sharey=True)
        figure.subplots_adjust(
            left=0.125, right=0.995, wspace=0.07, top=1 - 0.62 / height, bottom=0.3 / height
        )
        for axes, stage in zip(panels, PLOTTED_STAGES, strict=True):
            _draw_panel(axes, stage, shown, lines)
        for line, row, before in zip(lines, shown, [None, *shown], strict=False):
            if before is None or before.route != row.route:
                label = f"by {row.route}"
                panels[0].text(
                    -0.02, line - 0.95, label, transform=panels[0].get_yaxis_transform(),
                    ha="right", va="center", fontweight="bold", fontsize=8.5,
                )  # fmt: skip
    return figure


def _lines(rows: Sequence[MeasureRow]) -> list[float]:
    """Where each row stands: below the one before, and further below at a new route."""
    lines: list[float] = []
    for row, before in zip(rows, [None, *rows], strict=False):
        step = 1.0 if before and before.route == row.route else 2.2
        lines.append(lines[-1] + step if lines else 1.0)
    return lines


def _draw_panel(axes: Axes, stage: str, rows: Sequence[MeasureRow], lines: Sequence[float]) -> None:
    axes.set_title(stage, pad=6)
    axes.set_xscale("log")
    axes.set_ylim(lines[-1] + 0.7, -0.4)
    axes.set_yticks(lines, [text.span(row.members) for row in rows])
    known = [quartiles for row in rows if (quartiles := row.stages.get(stage))]
    low, high = _limits(known)
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(ticks(low, high)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for line, row in zip(lines, rows, strict=True):
        quartiles = row.stages.get(stage)
        colour, marker = style.ROUTES.get(row.route, (style.INK, "o"))
        if quartiles is None:
            word = text.NOT_MEASURED if row.inlines or stage != "inline" else "no inliner"
            axes.text(low * 1.08, line, word, fontsize=7, color=style.MUTED, va="center")
            continue
        bounds = [quartiles.q1 * 1e3, quartiles.q3 * 1e3]
        axes.plot(bounds, [line, line], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.plot([quartiles.median * 1e3], [line], marker, color=colour, markersize=5)
        axes.annotate(
            text.milliseconds(quartiles),
            (bounds[1], line),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            color=style.INK,
        )


def ticks(low: float, high: float) -> list[float]:
    """Every decade, and 2 and 5 between where there are few of them."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 50 else (1,)
    ticks = [step * 10.0**power for power in decades for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def _limits(known: Sequence[Quartiles]) -> tuple[float, float]:
    """Whole decades around the data, and room for the labels at the right."""
    values = [value * 1e3 for item in known for value in (item.q1, item.q3) if value > 0]
    if not values:
        return 0.1, 10.0
    low = 10.0 ** math.floor(math.log10(min(values)))
    high = 10.0 ** math.ceil(math.log10(max(values)))
    high = max(high, low * 10)
    return low * (high / low) ** -0.04, high * (high / low) ** 0.16


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def svg(figure: Figure) -> str:
    """The figure as SVG text, the same text on every run."""
    buffer = io.StringIO()
    with mpl.rc_context(style.RC):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _MARKERS.sub(_styled_once, text.printable(buffer.getvalue()))


def _styled_once(markers: re.Match[str]) -> str:
    """Markers of one look with their style on the group: two thirds of a scatter plot is style."""
    look = f' style="{markers["look"]}"'
    return f"<g{look}>{markers[0].replace(look, '')}</g>"


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with mpl.rc_context(style.RC):
        figure.savefig(buffer, format="png", dpi=144, metadata={"Software": None})
    return buffer.getvalue()


def inlined(picture: str, name: str, description: str) -> str:
    """An SVG made ready to stand in an HTML page.

    Its prolog and metadata go (they name hosts), ids get a prefix (two pictures would share
    them), and ink, rule and paper become the page's own, so the picture follows its light and
    dark.
    """
    body = picture[picture.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r' xmlns(:\w+)?="[^"]*"', "", body)
    body = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\1{name}-", body)
    for variable, colour in (
        ("ink", style.INK),
        ("muted", style.MUTED),
        ("rule", style.RULE),
        ("paper", style.PAPER),
    ):
        body = body.replace(colour, f"var(--{variable})")
    return body.replace("<svg ", f'<svg role="img" aria-label="{description}" ', 1)
