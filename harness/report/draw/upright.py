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
HEADING: Final = 30
AT_MOST: Final = 2
BREADTH: Final = AT_MOST * (WIDTH + BESIDE) - BESIDE
"""What is as wide as two boxes is drawn at its own size on a phone."""

_MOST_SAID: Final = 26
_COLOURS: Final = (
    f"svg {{ font: 11px sans-serif; --ink: {style.INK}; --paper: #ffffff; --muted: {style.MUTED};"
    f" --engine: {style.BLUE}; --fallback: {style.ORANGE}; --right: {style.GREEN};"
    f" --wrong: {style.VERMILLION}; }}"
    """
@media (prefers-color-scheme: dark) { svg { --ink: #ecebe6; --paper: #0d1117; --muted: #a5a49d; } }
text { fill: var(--ink); }
.name { font-weight: 600; }
.heading { font-size: 13px; font-weight: 600; text-anchor: middle; }
.says { fill: var(--muted); font-size: 10px; }
rect { fill: var(--paper); stroke: var(--muted); }
.engine rect:not(.under) { fill: var(--engine); fill-opacity: 0.18; stroke: var(--engine); }
.fallback rect:not(.under) { fill: var(--fallback); fill-opacity: 0.2; stroke: var(--fallback); }
.bad rect:not(.under), .leaked rect:not(.under) { stroke: var(--wrong); stroke-width: 2.6; }
.gone rect { stroke-dasharray: 3 3; }
.wire { fill: none; stroke: var(--muted); stroke-width: 1.3; }
.wire.right { stroke: var(--right); stroke-width: 2.2; stroke-dasharray: 6 4; }
.wire.wrong { stroke: var(--wrong); stroke-width: 2.8; }
marker.plain { fill: var(--muted); }
marker.right { fill: var(--right); }
marker.wrong { fill: var(--wrong); }
"""
)


def upright(picture: Picture, heading: str) -> Markup:
    """The picture as a file, with a heading; what a box reads stands above it."""
    at = rows(picture)
    width = BREADTH + 2 * EDGE
    height = max(place.y for place in at.values()) + HEIGHT + EDGE
    return Markup("\n").join(
        Markup(part)
        for part in (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f"<title>{escape(sentence(picture))}</title>",
            f"<style>{_COLOURS}</style>",
            f'<text x="{width // 2}" y="16" class="heading">{escape(heading)}</text>',
            *map(_head, ("plain", "right", "wrong")),
            *_wires(picture, at),
            *_boxes(picture, at),
            "</svg>\n",
        )
    )


def rows(picture: Picture) -> dict[str, Place]:
    """The place of each box: below all that it reads or should read, and as near as can be."""
    row = _numbered(picture)
    members: dict[int, list[str]] = {}
    for box in picture.boxes:
        members.setdefault(row[box.name], []).append(box.name)
    lines = [
        names[first : first + AT_MOST]
        for _, names in sorted(members.items())
        for first in range(0, len(names), AT_MOST)
    ]
    return {
        name: Place(
            EDGE
            + (BREADTH - len(line) * (WIDTH + BESIDE) + BESIDE) // 2
            + place * (WIDTH + BESIDE),
            HEADING + down * (HEIGHT + BELOW),
        )
        for down, line in enumerate(lines)
        for place, name in enumerate(line)
    }


def _numbered(picture: Picture) -> dict[str, int]:
    pairs = [(wire.source, wire.target) for wire in picture.wires]
    pairs += [(wire.right, wire.target) for wire in picture.wrong]
    row: dict[str, int] = {}
    for box in picture.boxes:
        above = [row[source] for source, target in pairs if target == box.name and source in row]
        row[box.name] = max(above, default=-1) + 1
    for box in picture.boxes:
        below = [row[target] for source, target in pairs if source == box.name]
        if below and not any(target == box.name for _, target in pairs):
            row[box.name] = max(min(below) - 1, 0)
    return row


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
    edges = f'x="{place.x}" y="{place.y}" width="{WIDTH}" height="{HEIGHT}" rx="4"'
    said = textwrap.shorten(box.says, _MOST_SAID, placeholder=" …")
    return (
        f'<g class="box {escape(kind)}"><title>{escape(box.says)}</title>'
        f'<rect class="under" {edges}/><rect {edges}/>'
        f'<text x="{place.x + 9}" y="{place.y + 17}" class="name">{sign}{escape(box.name)}</text>'
        f'<text x="{place.x + 9}" y="{place.y + 31}" class="says">{escape(said)}</text></g>'
    )
