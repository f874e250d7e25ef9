"""The report as one self-contained HTML page: no network, whole without scripts, fit for a mail."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from harness.report import style, text
from harness.report.draw import plots
from harness.report.draw.drawing import caption, drawing
from harness.report.draw.version_plot import version_figure
from harness.report.frames import limits
from harness.report.frames.matrix_views import MatrixGroup
from harness.report.model import ReportModel
from harness.report.run_frames import file_of
from harness.report.sections.cause_views import FindingView
from harness.report.sections.neighbours import FATES, Moved
from harness.wire.oracles import Harm
from harness.wire.vocabulary import SubjectKind

_KINDS = {
    SubjectKind.FILE.value: "a file",
    SubjectKind.BUILTIN.value: "built in",
    SubjectKind.TORCH.value: "control, no inliner",
}
Row = TypeVar("Row")
TEMPLATES = Path(__file__).parent / "templates"


def page(model: ReportModel, drawn: Drawn | None = None) -> str:
    """The whole page as text; ``drawn`` are its pictures, where they are drawn already."""
    drawn = drawn or draw(model)
    return (
        environment()
        .get_template("report.html")
        .render(
            model=model,
            most_moves=limits.most_of_each([len(of.moves) for of in _moved(model)]),
            latency_picture=_picture(
                drawn.latency,
                "latency",
                "Latency of inline, export, save and load; the table below has the same numbers",
            ),
            version_picture=_picture(
                drawn.versions,
                "versions",
                "What the cells of each release do to their user; the tables have the counts",
            ),
        )
    )


def _moved(model: ReportModel) -> list[Moved]:
    pairs = model.neighbours[-limits.MOST_ROWS :]
    return [getattr(pair, fate) for pair in pairs for fate in FATES]


@dataclass(frozen=True)
class Drawn:
    """The pictures of the page, as SVG text."""

    latency: str
    versions: str


def draw(model: ReportModel) -> Drawn:
    """The pictures of a run."""
    return Drawn(
        latency=plots.svg(plots.latency_figure(model.measures, model.emulated)),
        versions=plots.svg(version_figure(model.versions)),
    )


def _picture(svg: str, name: str, description: str) -> Markup:
    # The SVG is this harness's own drawing; its text nodes were escaped when it was written.
    return Markup(plots.inlined(svg, name, escape(description)))


def anchor(*parts: str) -> str:
    """An id fit for a link."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def beneath(group: MatrixGroup) -> str:
    """What a row of the matrix says under its name."""
    if len(group.members) > 2:
        return ", ".join(group.members)
    if group.unlike:
        return f"inliner of {text.listed(group.unlike, 2)}"
    if len(group.members) == 2:
        return "one inliner"
    kind = group.first.kind
    return "" if kind == SubjectKind.RELEASE else _KINDS.get(kind, kind)


def pinned(group: MatrixGroup, what: str) -> str:
    """The versions of ``torch`` or ``tensorrt`` that a row's members pin, by their ends."""
    versions = dict.fromkeys(getattr(row, what) for row in group.rows)
    ends = text.span([version for version in versions if version] or [""])
    return ends.replace(".post", "\u200b.post")  # where a narrow column may break it


def breakable_call(call: str) -> str:
    """A call with places where the head of a narrow column may break it."""
    return re.sub(r"([(_=])", "\\1\u200b", call)


def groupby_kept(rows: Sequence[Row], name: str) -> list[tuple[str, list[Row]]]:
    """Neighbours with one value of ``name``, in the order that they have; jinja's own sorts."""
    return [(value, list(group)) for value, group in groupby(rows, attrgetter(name))]


def together(findings: Sequence[FindingView]) -> list[tuple[tuple[str, ...], FindingView]]:
    """Neighbours that differ in nothing but the subject, with their subjects."""
    found: list[tuple[tuple[str, ...], FindingView]] = []
    for finding in findings:
        same = found and _but_for_subject(found[-1][1]) == _but_for_subject(finding)
        if same:
            subjects, first = found.pop()
            found.append(((*subjects, finding.subject), first))
        else:
            found.append(((finding.subject,), finding))
    return found


def _but_for_subject(finding: FindingView) -> FindingView:
    return replace(finding, subject="", command="")


@functools.cache
def environment() -> Environment:
    """The templates and what they may call; compiled once a process."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        style=style,
        text=text,
        limits=limits,
        file_of=file_of,
        harms=[harm.value for harm in Harm if harm is not Harm.COSMETIC],
        anchor=anchor,
        caption=caption,
        drawing=drawing,
        beneath=beneath,
        pinned=pinned,
    )
    environment.filters.update(
        breakable_call=breakable_call, groupby_kept=groupby_kept, together=together
    )
    return environment
