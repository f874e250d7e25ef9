"""The report as one self-contained HTML page: no network, no script, fit for an attachment."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.report import plots, style, text
from harness.report.model import ReportModel

TEMPLATES = Path(__file__).parent / "templates"


def page(model: ReportModel) -> str:
    """The whole page as text."""
    return (
        _environment()
        .get_template("report.html")
        .render(model=model, latency_picture=_latency_picture(model))
    )


def _latency_picture(model: ReportModel) -> Markup:
    picture = plots.svg(plots.latency_figure(model.measures, model.emulated))
    description = escape("Latency of inline, save and load; the table below has the same numbers")
    # The SVG is this harness's own drawing; its text nodes were escaped when it was written.
    return Markup(plots.inlined(picture, "latency", description))


def anchor(*parts: str) -> str:
    """An id fit for a link."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(style=style, text=text, anchor=anchor)
    return environment
