"""The table of defects by releases, as the page, the Markdown and the picture show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.base.words import plural
from harness.gate.defect_table import (
    ABSENT,
    BROKEN,
    HIDDEN,
    NOT_ASKED,
    Column,
    DefectRow,
    DefectTable,
    Mark,
    Part,
)
from harness.report import style, text
from harness.report.reported_run import ReportedRun, Section
from harness.report.sections.causes import CAUSES, LiveCause

TITLES: Final[Mapping[Part, str]] = {
    Part.PRODUCT: "In {newest}, and met by models as the product splits them",
    Part.EXPORTED: "In {newest}, and met by models as torch.export splits them",
    Part.HANDMADE: "In {newest}, but in handmade splits alone",
    Part.HIDDEN: "Not to be seen in {newest}: another defect stops its cases first",
    Part.GONE: "Not in {newest} any more, the latest fix first",
    Part.ELSEWHERE: "Not Torch-TensorRT's alone: torch's own, or by design",
    Part.UNSEEN: "Known, and not visible to any run",
}
#: The heads of the columns for `harness.wire.routes.USER_CALLS`.
BRIEF_CALLS: Final[Mapping[str, str]] = {
    "compile": "compile",
    "save": "save()",
    "save(dynamic_shapes)": "dynamic shapes",
    "save(retrace=False)": "retrace =False",
    "save(retrace=False, use_legacy_exporter=False)": "+legacy =False",
    "cross_compile": "cross",
}
_FOLDED: Final = (Part.HANDMADE, Part.HIDDEN, Part.UNSEEN)


@dataclass(frozen=True)
class PartView:
    """One part of the table. ``folded``: a reader opens it by hand."""

    name: str
    title: str
    rows: tuple[DefectRow, ...]
    folded: bool


@dataclass(frozen=True)
class DefectsView:
    """The table, and of each defect that this run shows how to see it."""

    table: DefectTable
    parts: tuple[PartView, ...]
    causes: Mapping[str, LiveCause]


def build_defects(run: ReportedRun) -> DefectsView | None:
    """The table of a run; None where no table speaks of its cases."""
    if run.defect_table is None:
        return None
    shown = run.view(CAUSES)
    return DefectsView(
        table=run.defect_table,
        parts=parts_of(run.defect_table, folded=run.has_candidate),
        causes={cause.id: cause for cause in (*shown.live, *shown.gone)},
    )


def parts_of(table: DefectTable, *, folded: bool = False) -> tuple[PartView, ...]:
    """The parts that have a row, in their order.

    Args:
        folded: whether all of them are, and not only those that few readers need.
    """
    return tuple(
        PartView(
            part.value,
            title.format(newest=table.newest),
            table.of(part),
            folded or part in _FOLDED,
        )
        for part, title in TITLES.items()
        if table.of(part)
    )


def mark_sign(mark: Mark, *, last: bool) -> str:
    """What stands in a cell: a sign, and how many cells of the newest release show it."""
    count = f" {mark.cells}" if last and mark.cells else ""
    return f"{style.SIGNS.get(mark.tone, '')}{count}"


def mark_note(mark: Mark) -> str:
    """The releases of a column for which its mark holds, where it does not hold for all."""
    return text.span(mark.only) if mark.only else ""


def mark_words(mark: Mark, column: Column) -> str:
    """A mark for a screen reader, and for a mouse that rests on it."""
    names = text.span(mark.only or column.releases)
    words = {
        ABSENT: "asked, and not there",
        HIDDEN: f"hidden behind {', '.join(mark.behind)}",
        BROKEN: f"not there, and its cases fail otherwise: {', '.join(mark.behind)}",
        NOT_ASKED: "not asked, or no way there",
    }
    told = words.get(mark.tone, f"{mark.tone}, in {plural(mark.cells, 'cell')}")
    return f"{names}: {told}"


DEFECTS: Final = Section("defects", build_defects, template="defects", link="Defects")
