"""The templates of every page, and what they may call.

A template whose name ends in ``.html`` is escaped as HTML. One that ends in ``.md`` is escaped as
Markdown: every value becomes plain words unless the template marks it as code, and code is fenced
so that nothing in it can end it. Messages come from exceptions, and hold anything: characters that
no page shows, or that turn what stands around them, become a sign that one was there.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from harness.base.program import PROGRAM, as_called_here
from harness.bench import words
from harness.catalogue.releases import SAVE_RETRACES_SINCE
from harness.mends.all import WRITTEN_FOR, mend_of
from harness.mends.judged import mend_costs, read_judged, read_work
from harness.report import style, text
from harness.report.draw import plots
from harness.report.draw.drawing import caption, drawing
from harness.report.frames import limits
from harness.report.run_frames import file_of
from harness.report.sections.defects import (
    BRIEF_CALLS,
    MADE_OTHERWISE,
    REACHES,
    SEEN,
    by_call,
    call_of,
    call_words,
    changed_in,
    compile_alone,
    found_by,
    hidden_in,
    life,
    mark_note,
    mark_sign,
    mark_words,
    models_of,
    new_in,
    shows_as,
    stretches,
    tones_in,
)
from harness.report.sections.findings import together
from harness.report.sections.matrix import MatrixGroup
from harness.runs.gpu_evidence import CONTRIBUTED, GpuEvidence, contributed, seen_on_gpus
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Harm
from harness.wire.vocabulary import SubjectKind

UPSTREAM = "https://github.com/pytorch/TensorRT"
TEMPLATES = Path(__file__).parent / "templates"
_KINDS = {
    SubjectKind.BASE.value: "what the candidate is held against",
    SubjectKind.FILE.value: "a candidate",
    SubjectKind.BUILTIN.value: "built in",
    SubjectKind.TORCH.value: "control, no inliner",
}
Row = TypeVar("Row")


def render(template: str, **values: Any) -> str:
    """A template of this package with its values, escaped as its name's ending says.

    A page's commands are those of the shell that called this program: whoever reads it stands
    beside it. Markdown is read where it is sent to, and keeps them as they are everywhere.
    """
    rendered = _environment().get_template(template).render(**values)
    return as_called_here(rendered, html.escape) if template.endswith(".html") else rendered


def picture(figure: Figure | str, name: str, description: str) -> Markup:
    """A figure, or its SVG text, made ready to stand in a page under a name of its own."""
    svg = figure if isinstance(figure, str) else plots.svg(figure)
    # The SVG is this harness's own drawing; its text nodes were escaped when it was written.
    return Markup(plots.inlined(svg, name, escape(description)))


def escaped(value: Any) -> str:
    """A value as plain words inside markdown: on one line, with no meaning of its own."""
    if isinstance(value, Markup):
        return str(value)
    line = text.printable(" ".join(str(value).split()))
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(line, quote=False))


def code(value: Any) -> Markup:
    """A value as a code span, fenced by more backticks than it holds."""
    line = text.printable(" ".join(str(value).split()))
    if not line:
        return Markup()
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    room = " " if "`" in line else ""
    return Markup(f"{ticks}{room}{line}{room}{ticks}")


def cell_code(value: Any) -> Markup:
    """A code span inside a table, which is cut at its bars before code is looked at."""
    return Markup(code(value).replace("|", r"\|"))


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


def breakable_call(call: str) -> Markup:
    """A call with places where a narrow column may break it, and nothing that is copied with it."""
    return Markup(re.sub(r"([(_=])", r"\1<wbr>", str(escape(call))))


@dataclass(frozen=True)
class Linked:
    """Some words, and where they lead; nowhere where ``url`` is empty."""

    words: str
    url: str = ""


def upstream_links(words: str, titles: Mapping[str, str]) -> list[Linked]:
    """Words with each ``#1234`` made a link to upstream's issue or pull request.

    Args:
        titles: of defects, by their ids. An id becomes its title, and a link to the defect.
    """
    parts = re.split(
        r"((?<![\w/])#\d+|(?<![\w-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-]))", text.reference(words)
    )
    return [_linked(part, titles) for part in parts]


def _linked(part: str, titles: Mapping[str, str]) -> Linked:
    if re.fullmatch(r"#\d+", part):
        return Linked(part, f"{UPSTREAM}/issues/{part[1:]}")
    return (
        Linked(f"\u201c{titles[part]}\u201d", f"#defect-{part}") if part in titles else Linked(part)
    )


def groupby_kept(rows: Sequence[Row], name: str) -> list[tuple[str, list[Row]]]:
    """Neighbours with one value of ``name``, in the order that they have; jinja's own sorts."""
    return [(value, list(group)) for value, group in groupby(rows, attrgetter(name))]


def gpu_evidence() -> tuple[GpuEvidence, ...]:
    """What users have contributed of their GPUs."""
    return contributed(PROJECT_ROOT / CONTRIBUTED)


def has_part(name: str) -> bool:
    """Whether there is a template of this name."""
    return (TEMPLATES / name).is_file()


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        style=style,
        text=text,
        words=words,
        limits=limits,
        file_of=file_of,
        program=PROGRAM,
        harms=[harm.value for harm in Harm if harm is not Harm.COSMETIC],
        anchor=anchor,
        caption=caption,
        drawing=drawing,
        beneath=beneath,
        pinned=pinned,
        has_part=has_part,
        calls=BRIEF_CALLS,
        mark_sign=mark_sign,
        mark_note=mark_note,
        mark_words=mark_words,
        call_words=call_words,
        changed_in=changed_in,
        found_by=found_by,
        life=life,
        models_of=models_of,
        new_in=new_in,
        by_call=by_call,
        compile_alone=compile_alone,
        mend_of=mend_of,
        mends_written_for=WRITTEN_FOR,
        mends_judged=read_judged(),
        mends_work=read_work(),
        mend_costs=mend_costs,
        gpu_evidence=gpu_evidence,
        seen_on_gpus=seen_on_gpus,
        shows_as=shows_as,
        made_otherwise=MADE_OTHERWISE,
        reaches=REACHES,
        retraces_since=SAVE_RETRACES_SINCE,
        seen=SEEN,
        hidden_in=hidden_in,
        stretches=stretches,
        tones_in=tones_in,
    )
    environment.filters.update(
        breakable_call=breakable_call,
        groupby_kept=groupby_kept,
        plain=text.plain,
        together=together,
        upstream_links=upstream_links,
        call_of=call_of,
        code=code,
        cell_code=cell_code,
    )
    return environment


@pass_context
def _finalized(context: Context, value: Any) -> Any:
    if context.name and context.name.endswith(".md"):
        return escaped(value)
    return text.printable(value) if type(value) is str else value
