"""The table of defects by releases as a picture: rows are defects, columns are releases."""

from __future__ import annotations

from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from harness.gate.defect_table import ABSENT, HIDDEN, NOT_ASKED, DefectRow, DefectTable, Part
from harness.report import style, text
from harness.report.sections.defects import BRIEF_CALLS, PartView, mark_note, mark_sign, parts_of

ROW_INCHES: Final = 0.235
_LEFT, _MARK, _CALL, _WHEN = 6.6, 1.0, 0.62, 1.5  # widths, in columns of a mark
_HEAD: Final = 3.2  # rows
_ERROR_STRENGTH: Final = 0.55  # errors are many, and what is silent has to stand out


def defects_figure(table: DefectTable) -> Figure:
    """Every part of the table but those that no run can see; a part has a line for its title."""
    parts = [part for part in parts_of(table) if part.name != Part.UNSEEN]
    rows = sum(len(part.rows) + 1.6 for part in parts) + _HEAD
    width = _LEFT + _MARK * len(table.columns) + _CALL * len(BRIEF_CALLS) + 2 * _WHEN
    with mpl.rc_context(style.RC):
        figure = Figure(figsize=(width * 0.72, rows * ROW_INCHES), layout=None)
        axes = figure.add_axes((0.01, 0.005, 0.98, 0.99))
        axes.set_xlim(0, width)
        axes.set_ylim(rows, 0)
        axes.axis("off")
        _draw_head(axes, table)
        at = _HEAD
        for part in parts:
            at = _draw_part(axes, table, part, at)
    return figure


def _draw_head(axes: Axes, table: DefectTable) -> None:
    title = f"Known defects of Torch-TensorRT up to {table.newest}"
    axes.text(0, 0.5, title, fontsize=12, weight="bold")
    signs = "   ".join(f"{sign} {words}" for sign, words in style.LEGEND[:-1])
    others = "✓ not there   ? cannot be seen, as other defects stop its cases   blank: not asked"
    axes.text(0, 1.25, f"{signs}   {others}", color=style.MUTED, fontsize=7.5)
    small: dict[str, Any] = {"va": "bottom", "color": style.MUTED, "fontsize": 6.2}
    for number, column in enumerate(table.columns):
        ends = dict.fromkeys((column.releases[0], column.releases[-1]))
        place = _LEFT + _MARK * (number + 0.45)
        axes.text(place, _HEAD, " to\n".join(ends), ha="center", **small)
    left = _LEFT + _MARK * len(table.columns)
    for number, brief in enumerate(BRIEF_CALLS.values()):
        place = left + _CALL * (number + 0.6)
        axes.text(place, _HEAD, brief.replace(" ", "\n"), ha="center", **small)
    left += _CALL * len(BRIEF_CALLS) + 0.3
    for number, words in enumerate(("since", "fixed")):
        axes.text(left + _WHEN * number, _HEAD, words, **small)


def _draw_part(axes: Axes, table: DefectTable, part: PartView, at: float) -> float:
    """Draw a part from a row on; the row below it."""
    axes.text(0, at + 1.1, part.title, fontsize=8.5, weight="bold")
    at += 1.5
    for row in part.rows:
        _draw_row(axes, table, row, at)
        at += 1
    return at + 0.1


def _draw_row(axes: Axes, table: DefectTable, row: DefectRow, at: float) -> None:
    axes.text(0, at + 0.62, row.defect.title, fontsize=7.2)
    for number, mark in enumerate(row.marks):
        if mark.tone == NOT_ASKED:
            continue
        left = _LEFT + _MARK * number
        strength = _ERROR_STRENGTH if mark.tone == "error" else style.STRENGTH.get(mark.tone, 1.0)
        colour = style.TONES[mark.tone]
        box = Rectangle((left, at + 0.06), 0.9, 0.88, color=colour, alpha=strength, lw=0)
        axes.add_patch(box)
        note = mark_note(mark)
        sign = mark_sign(mark)
        words = f"{sign} {note}" if note else sign
        axes.text(left + 0.45, at + 0.64, words, ha="center", fontsize=4.8 if note else 6.8)
    left = _LEFT + _MARK * len(row.marks)
    small: dict[str, Any] = {"color": style.MUTED, "fontsize": 6.2}
    for number, tone in enumerate(row.by_call.values()):
        if tone != NOT_ASKED:
            sign, ink = style.SIGNS[tone], style.MUTED if tone in (ABSENT, HIDDEN) else style.INK
            axes.text(
                left + _CALL * (number + 0.6), at + 0.62, sign, ha="center", fontsize=6.8, color=ink
            )
    left += _CALL * len(BRIEF_CALLS) + 0.3
    axes.text(left, at + 0.62, row.defect.since, **small)
    fixed = f"{row.defect.fixed_in} {text.reference(row.defect.fixed_by)}".strip()
    axes.text(left + _WHEN, at + 0.62, fixed, **small)
