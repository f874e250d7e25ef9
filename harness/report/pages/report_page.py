"""The report: one HTML page, and Markdown that fits a pull-request comment.

The page is self-contained: it makes no request, is whole without scripts, and fits a mail.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.draw import plots
from harness.report.draw.version_plot import version_figure
from harness.report.frames import limits
from harness.report.model import ReportModel
from harness.report.pages.rendering import picture, render
from harness.report.sections.latency import LATENCY
from harness.report.sections.version_matrix import VERSIONS

COMMENT_LIMIT = 60_000
"""Characters; what the usual forge takes, less a margin."""

_LENGTHS = (*((most, limits.MOST_ROWS) for most in (60, 25, 10, 4, 0)), (0, 12), (0, 4))
"""How long a list, and how long a table of releases: lists give way first."""


@dataclass(frozen=True)
class Drawn:
    """The pictures of the page, as SVG text."""

    latency: str
    versions: str


def draw(model: ReportModel) -> Drawn:
    """The pictures that stand in the page and beside it."""
    measures, blocks = model[LATENCY], model[VERSIONS]
    return Drawn(
        latency=plots.svg(plots.latency_figure(measures or (), model.emulated)),
        versions=plots.svg(version_figure(blocks)),
    )


def page(model: ReportModel, drawn: Drawn | None = None) -> str:
    """The whole page as text; ``drawn`` are its pictures, where they are drawn already."""
    drawn = drawn or draw(model)
    return render(
        "report.html",
        model=model,
        latency_picture=picture(
            drawn.latency,
            "latency",
            "Latency of inline, export, save and load; the table below has the same numbers",
        ),
        version_picture=picture(
            drawn.versions,
            "versions",
            "What the cells of each release do to their user; the tables have the counts",
        ),
    )


def markdown(model: ReportModel) -> str:
    """The report as Markdown. Lists and tables are cut, and say so, until it fits a comment."""
    rendered = ""
    for most, rows in _LENGTHS:
        rendered = render("report.md", model=model, most=most, rows=rows)
        if len(rendered) <= COMMENT_LIMIT:
            break
    return rendered
