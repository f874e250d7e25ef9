"""The version matrix as a picture: each row has a bar of its cells by the harm that they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from harness.report import style
from harness.report.draw.plots import MOST_LINES, left_out, new_figure
from harness.report.sections.version_matrix import VersionBlock, VersionRow

_BAR: Final = 0.62  # of a row's height
_LEFT, _WIDTH = 0.36, 0.42  # of the figure's width
_PARTS: Final = (
    ("right", style.GREEN, 0.45),
    ("lesser: right numbers", style.TONES["interface"], 0.5),
    ("error", style.TONES["error"], 0.8),
    ("wrong, and announced", style.TONES["warned"], 0.8),
    ("silently wrong", style.TONES["silent"], 1.0),
)


def version_figure(blocks: Sequence[VersionBlock]) -> Figure:
    """The blocks one below the other; a bar joins rows of one inliner, changes are at the right."""
    shown = [(block, block.newest(MOST_LINES)) for block in blocks]
    lines = sum(2 + sum(map(len, groups)) for _, groups in shown)
    with mpl.rc_context(style.RC):
        figure = new_figure(11.6, 0.7 + 0.235 * max(lines, 2))
        height = figure.get_figheight()
        axes = figure.add_axes((_LEFT, 0.1 / height, _WIDTH, 1 - 0.55 / height))
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(max(lines, 2), 0)
        _draw_key(figure)
        top = 0.0
        for block, groups in shown:
            title = block.title + left_out(len(block.rows))
            _words(axes, -0.84, top + 1.3, title, fontweight="bold")
            _words(axes, 1.03, top + 1.3, "changed; cells fixed, worse, broken", color=style.MUTED)
            _draw_block(axes, groups, top + 2)
            top += 2 + sum(map(len, groups))
        if not blocks:
            _words(axes, -0.84, 1, "No release was planned.", color=style.MUTED)
    return figure


def _draw_key(figure: Figure) -> None:
    top = 1 - 0.2 / figure.get_figheight()
    figure.text(0.012, top, "Cells of each release", fontsize=11, fontweight="bold", va="center")
    figure.legend(
        handles=[Patch(color=colour, alpha=alpha, label=name) for name, colour, alpha in _PARTS],
        loc="center left",
        bbox_to_anchor=(_LEFT - 0.01, top),
        ncols=len(_PARTS),
        fontsize=8,
        handlelength=1.0,
        columnspacing=1.6,
        frameon=False,
    )


def _draw_block(axes: Axes, groups: Sequence[Sequence[VersionRow]], top: float) -> None:
    line = top
    for group in groups:
        if len(group) > 1:
            axes.plot(
                [-0.85, -0.85],
                [line + 0.15, line + len(group) - 0.15],
                color=style.MUTED,
                linewidth=2.5,
                clip_on=False,
            )
        for row in group:
            _draw_row(axes, row, line + 0.5)
            line += 1


def _draw_row(axes: Axes, row: VersionRow, centre: float) -> None:
    _words(axes, -0.83, centre, row.release, fontweight="bold")
    _words(axes, -0.67, centre, f"torch {row.torch}" if row.torch else "", color=style.MUTED)
    _words(axes, -0.40, centre, row.engines, color=style.MUTED)
    harms = row.harms
    counts = (row.whole.ok, harms.interface, harms.error, harms.announced, harms.silent)
    asked = sum(counts)
    start = 0.0
    for count, (_, colour, strength) in zip(counts, _PARTS, strict=True):
        if count:
            share = count / asked
            axes.barh(centre, share, _BAR, start, color=colour, alpha=strength, linewidth=0)
            if share > 0.04:
                axes.text(
                    start + share / 2, centre, f"{count}", ha="center", va="center", fontsize=7
                )
            start += share
    if not asked:
        _words(axes, 0.0, centre, "not asked", color=style.MUTED)
    if row.step:
        moved = f"; {row.step.fixed}, {row.step.worse}, {row.step.broken}"
        turned = moved if row.step.compared else ""
        plain = row.step.changed in ("nothing", "the package around the inliner")
        _words(
            axes, 1.03, centre, f"{row.step.changed}{turned}",
            color=style.MUTED if plain else style.INK,
        )  # fmt: skip


def _words(axes: Axes, x: float, y: float, words: str, **look: Any) -> None:
    axes.text(x, y, words, va="center", fontsize=8, clip_on=False, **look)
