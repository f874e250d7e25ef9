"""The report as markdown that fits a pull-request comment.

Every value is escaped unless a template marks it as code, and code is fenced so that nothing
in it can end it: messages come from exceptions, and hold anything.
"""

from __future__ import annotations

import functools
import html
import re
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.report import style, text
from harness.report.frames.limits import MOST_ROWS
from harness.report.model import ReportModel
from harness.report.pages.page import TEMPLATES, groupby_kept

COMMENT_LIMIT = 60_000
"""Characters; what the usual forge takes, less a margin."""

_LENGTHS = (*((most, MOST_ROWS) for most in (60, 25, 10, 4, 0)), (0, 12), (0, 4))
"""How long a list, and how long a table of releases: lists give way first."""


def markdown(model: ReportModel) -> str:
    """The report as markdown. Lists and tables are cut, and say so, until it fits a comment."""
    template = environment().get_template("report.md")
    rendered = ""
    for most, rows in _LENGTHS:
        rendered = template.render(model=model, most=most, rows=rows)
        if len(rendered) <= COMMENT_LIMIT:
            break
    return rendered


def escaped(value: Any) -> str:
    """A value as plain words inside markdown: on one line, with no meaning of its own."""
    if isinstance(value, Markup):
        return str(value)
    line = " ".join(str(value).split())
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(line, quote=False))


def code(value: Any) -> Markup:
    """A value as a code span, fenced by more backticks than it holds."""
    line = " ".join(str(value).split())
    if not line:
        return Markup()
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    room = " " if "`" in line else ""
    return Markup(f"{ticks}{room}{line}{room}{ticks}")


def cell_code(value: Any) -> Markup:
    """A code span inside a table, which is cut at its bars before code is looked at."""
    return Markup(code(value).replace("|", r"\|"))


@functools.cache
def environment() -> Environment:
    """The templates and what they may call; compiled once a process."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,  # not HTML; `finalize` escapes every value for markdown
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(style=style, text=text)
    environment.filters.update(code=code, cell_code=cell_code, groupby_kept=groupby_kept)
    return environment
