"""What a campaign of drawn programs had over time, drawn."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from harness.campaigns.fuzz_report import Point
from harness.report.draw.plots import new_figure


def fuzz_figure(points: Sequence[Point]) -> Figure:
    """Pairs of the space, known defects and new failures by minutes, each in a panel of its own."""
    figure = new_figure(6.4, 5.4)
    minutes = [point.seconds / 60 for point in points]
    panels = {
        "pairs of the space": [point.pairs for point in points],
        "known defects met": [point.known for point in points],
        "new failures": [point.found for point in points],
    }
    for at, (title, counts) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(len(panels), 1, at)
        axes.step(minutes, counts, where="post")
        axes.set_ylim(bottom=0)
        axes.set_title(title, loc="left", fontsize=9)
    axes.set_xlabel("minutes")
    figure.tight_layout()
    return figure
