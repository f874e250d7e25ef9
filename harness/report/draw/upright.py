"""A graph drawn from top to bottom, two boxes wide as a phone is: an SVG file of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from markupsafe import Markup, escape

from harness.report import style
from harness.report.draw.drawing import Box, Picture, Place, WrongWire, sentence

WIDTH: Final = 164
HEIGHT: Final = 40
BESIDE: Final = 12
BELOW: Final = 26
EDGE: Final = 8
ROW: Final = 340
"""What is as wide as two boxes is drawn at its own size on a phone."""

_MOST_SAID: Final = 26
_COLOURS: Final = """
svg { font: 11px sans-serif; --ink: %(ink)s; --paper: #fff; --muted: #62625d; }
@media (prefers-color-scheme: dark) { svg { --ink: #ecebe6; --paper: #0d1117; --muted: #a5a49d; } }
text { fill: var(--ink); } .says { fill: var(--muted); font-size: 10px; } .name { font-weight: 600; }
rect { fill: var(--paper); stroke: var(--muted); }
.engine rect { fill: %(engine)s33; stroke: %(engine)s; }
.fallback rect { fill: %(fallback)s33; stroke: %(fallback)s; }
.bad rect, .leaked rect { stroke: %(wrong)s; stroke-width: 2.6; }
.wire { fill: none; stroke: var(--muted); stroke-width: 1.3; }
.wire.right { stroke: %(right)s; stroke-width: 2.2; stroke-dasharray: 6 4; }
.wire.wrong { stroke: %(wrong)s; stroke-width: 2.8; }
marker.plain { fill: var(--muted); } marker.right { fill: %(right)s; }
marker.wrong { fill: %(wrong)s; }
""" % {
    "ink": style.INK,
    "engine": style.BLUE,
    "fallback": style.ORANGE,
    "right": style.GREEN,
    "wrong": style.VERMILLION,
}


def upright(picture: Picture) -> Markup:
    """The picture as a file: what a box reads stands above it, and a wrong wire beside the right."""
    at = rows(picture)
    width = max(max(place.x for place in at.values()) + WIDTH + EDGE, ROW + 2 * EDGE)
    height = max(place.y for place in at.values()) + HEIGHT + EDGE
    return Markup("\n").join(
        Markup(part)
        for part in (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f"<title>{escape(sentence(picture))}</title>",
            f"<style>{_COLOURS}</style>",
            *map(_head, ("plain", "right", "wrong")),
            *_wires(picture, at),
            *_boxes(picture, at),
            "</svg>\n",
        )
    )


def rows(picture: Picture) -> dict[str, Place]:
    """The place of each box: below everything that it reads, and what reads nothing first."""
    row: dict[str, int] = {}
    members: dict[int, list[str]] = {}
    for box in picture.boxes:
        above = [row[wire.source] for wire in picture.wires if wire.target == box.name]
        row[box.name] = max(above, default=-1) + 1
        members.setdefault(row[box.name], []).append(box.name)
    widest = max(ROW, max(map(_breadth, members.values())))
    return {
        name: Place(
            EDGE + (widest - _breadth(names)) // 2 + number * (WIDTH + BESIDE),
            EDGE + down * (HEIGHT + BELOW),
        )
        for down, names in members.items()
        for number, name in enumerate(names)
    }


def _breadth(names: list[str]) -> int:
    return len(names) * (WIDTH + BESIDE) - BESIDE


def _head(which: str) -> str:
    return (
        f'<marker id="{which}" class="{which}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker>'
    )


def _wires(picture: Picture, at: Mapping[str, Place]) -> Iterator[str]:
    wrong = {(wire.source, wire.target) for wire in picture.wrong}
    for source, target in dict.fromkeys((wire.source, wire.target) for wire in picture.wires):
        if (source, target) not in wrong:
            yield _wire(at[source], at[target], "plain")
    for each in picture.wrong:
        yield from _both(each, at)


def _both(wire: WrongWire, at: Mapping[str, Place]) -> Iterator[str]:
    for source, which in ((wire.right, "right"), (wire.source, "wrong")):
        if source in at:
            yield _wire(at[source], at[wire.target], which)


def _wire(source: Place, target: Place, which: str) -> str:
    """A wire from the lower edge of a box to the upper edge of another, around what is between."""
    x1, y1 = source.x + WIDTH // 2, source.y + HEIGHT
    x2, y2 = target.x + WIDTH // 2, target.y
    if which == "wrong":
        x2 -= 22
    elif which == "right":
        x2 += 22
    far = abs(y2 - y1) > BELOW
    bent = (WIDTH * 5 // 8) * (-1 if which == "wrong" or x2 < x1 else 1) if far else 0
    reach = max(abs(y2 - y1) // 3, 14)
    path = f"M{x1} {y1}C{x1 + bent} {y1 + reach} {x2 + bent} {y2 - reach} {x2} {y2}"
    return f'<path class="wire {which}" d="{path}" marker-end="url(#{which})"/>'


def _boxes(picture: Picture, at: Mapping[str, Place]) -> Iterator[str]:
    bad = {wire.target for wire in picture.wrong} | set(picture.lost)
    for box in picture.boxes:
        yield _box(box, at[box.name], bad=box.name in bad)


def _box(box: Box, place: Place, *, bad: bool) -> str:
    kind, sign = (f"{box.kind} bad", "✗ ") if bad else (box.kind, "")
    said = textwrap.shorten(box.says, _MOST_SAID, placeholder=" …")
    return (
        f'<g class="box {escape(kind)}"><title>{escape(box.says)}</title>'
        f'<rect x="{place.x}" y="{place.y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
        f'<text x="{place.x + 9}" y="{place.y + 17}" class="name">{sign}{escape(box.name)}</text>'
        f'<text x="{place.x + 9}" y="{place.y + 31}" class="says">{escape(said)}</text></g>'
    )
