"""A split module drawn as SVG: boxes, their wires, and a wrong wire beside the right one.

Wires run from left to right here, and from top to bottom in `upright.py`. Nothing here knows a run:
a `Picture` goes in, text comes out.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 132, 44
"""The size of a box in pixels."""

ACROSS, DOWN = 180, 84
"""The distance from one column or row to the next, in pixels."""

MARGIN = 44
MOST_BOXES = 16
MOST_WRONG = 3


@dataclass(frozen=True)
class Box:
    """An input, engine, fallback, other node, or the outputs of a split module."""

    name: str
    kind: str
    says: str


@dataclass(frozen=True)
class Wire:
    """What goes from one box into another; ``output`` is None where the source has but one."""

    source: str
    output: int | None
    target: str


@dataclass(frozen=True)
class WrongWire:
    """``target`` reads ``source`` and should read ``right``; a source that is no box is empty."""

    target: str
    source: str
    output: int | None
    right: str
    right_output: int | None
    says: str


@dataclass(frozen=True)
class Picture:
    """A split module with its wires as they should be, and those that an inliner got wrong.

    ``lost`` are the boxes whose mutations or random draws are gone. ``raised`` is what the inliner
    or the export raised; ``unreadable`` why its wires were not read.
    """

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    wrong: tuple[WrongWire, ...] = ()
    lost: tuple[str, ...] = ()
    raised: str = ""
    unreadable: str = ""


@dataclass(frozen=True)
class Place:
    """The upper left corner of a box."""

    x: int
    y: int


def drawing(picture: Picture, name: str) -> Markup:
    """The picture as an SVG element; in a large one, the boxes around the wrong wires.

    Args:
        name: unique in a page: arrowheads are found by it.
    """
    wrong = [wire for wire in picture.wrong if _drawable(wire, picture)][:MOST_WRONG]
    shown = _shown(picture, wrong)
    at = places(picture, shown)
    width = max(place.x for place in at.values()) + WIDTH + MARGIN
    height = max(place.y for place in at.values()) + HEIGHT + MARGIN
    parts = [
        f'<svg role="img" aria-label="{escape(sentence(picture))}" class="split" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        *(_head(name, which) for which in ("plain", "right", "wrong")),
        *_plain_wires(picture, wrong, at, name),
        *_boxes(picture, at),
        *_marked_wires(wrong, at, name),
        "</svg>",
    ]
    return Markup("").join(Markup(part) for part in parts)


def sentence(picture: Picture) -> str:
    """What the picture shows, for a reader who cannot see it."""
    return f"Split graph of {len(picture.boxes)} boxes: {caption(picture)}"


def caption(picture: Picture) -> str:
    """One sentence that says what is wrong."""
    told = [wire.says for wire in picture.wrong[:MOST_WRONG]]
    if len(picture.wrong) > MOST_WRONG:
        told.append(f"{len(picture.wrong) - MOST_WRONG} more")
    told += [f"what {name} writes or draws is lost" for name in picture.lost]
    if picture.unreadable:
        told.append(f"its wires could not be read ({picture.unreadable})")
    elif not told:
        told.append(f"no wire is wrong{' as far as it came' if picture.raised else ''}")
    if picture.raised:
        told.append(f"it raised {picture.raised}")
    return f"{'; '.join(told)}."


def places(picture: Picture, shown: frozenset[str]) -> dict[str, Place]:
    """The place of each box: right of everything that it reads, in the order of the graph."""
    column: dict[str, int] = {}
    filled: dict[int, int] = {}
    at = {}
    for box in picture.boxes:
        before = [column[w.source] for w in picture.wires if w.target == box.name]
        column[box.name] = max(before, default=-1) + 1
    kept = sorted({column[name] for name in shown})
    for box in picture.boxes:
        if box.name in shown:
            across = kept.index(column[box.name])
            down = filled.get(across, 0)
            filled[across] = down + 1
            # Columns stand a little lower in turns, so that a long wire passes above the next box.
            y = MARGIN + down * DOWN + (across % 2) * 14
            at[box.name] = Place(MARGIN // 2 + across * ACROSS, y)
    return at


def _drawable(wire: WrongWire, picture: Picture) -> bool:
    names = {box.name for box in picture.boxes}
    return {wire.right, wire.target} <= names and wire.right != wire.target


def _shown(picture: Picture, wrong: list[WrongWire]) -> frozenset[str]:
    names = [box.name for box in picture.boxes]
    if len(names) <= MOST_BOXES:
        return frozenset(names)
    if not wrong and not picture.lost:
        return frozenset(names[:MOST_BOXES])
    ends = (name for wire in wrong for name in (wire.source, wire.right, wire.target))
    core = dict.fromkeys(name for name in (*ends, *picture.lost) if name in names)
    near = [w for w in picture.wires if w.source in core or w.target in core]
    around = dict.fromkeys(name for w in near for name in (w.source, w.target))
    return frozenset([*core, *(name for name in around if name not in core)][:MOST_BOXES])


def _head(name: str, which: str) -> str:
    return (
        f'<marker id="{escape(name)}-{which}" class="{which}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker>'
    )


def _plain_wires(
    picture: Picture, wrong: list[WrongWire], at: Mapping[str, Place], name: str
) -> Iterator[str]:
    marked = {(wire.right, wire.target) for wire in wrong}
    pairs = dict.fromkeys((w.source, w.target) for w in picture.wires)
    for source, target in pairs:
        if source in at and target in at and (source, target) not in marked:
            outputs = [w for w in picture.wires if (w.source, w.target) == (source, target)]
            yield _wire(at[source], at[target], "plain", name, _outputs(outputs))


def _common(names: Sequence[str]) -> int:
    """How many letters all of these begin with."""
    columns = enumerate(zip(*names, strict=False))
    return next((at for at, letters in columns if len({*letters}) > 1), min(map(len, names)))


def _cut(names: Sequence[str], most: int) -> dict[str, str]:
    """Names that fit a box. Those that begin alike are told by where they begin to differ."""
    cut = {name: name if len(name) <= most else f"{name[: most - 1]}…" for name in names}
    for shown, count in Counter(cut.values()).items():
        alike = [name for name in cut if cut[name] == shown]
        if count > 1:
            start = _common(alike)
            end = _common([name[:start:-1] for name in alike])
            for number, name in enumerate(alike, start=1):
                core, half = name[start : len(name) - end], (most - 2) // 2
                part = core if len(core) < most else f"{core[:half]}…{core[-half:]}"
                cut[name] = f"…{part}" if f"…{part}" not in cut.values() else f"…{number} {part}"
    return cut


def _outputs(wires: list[Wire]) -> str:
    """The numbers of the engine's outputs that these wires carry."""
    return ", ".join(dict.fromkeys(str(w.output) for w in wires if w.output is not None))


def _marked_wires(wrong: list[WrongWire], at: Mapping[str, Place], name: str) -> Iterator[str]:
    for number, wire in enumerate(wrong):
        target = at[wire.target]
        right, bad = f"should be{_named(wire.right_output)}", f"✗ wired{_named(wire.output)}"
        if number:  # labels of several would hide each other; colours say the same again
            right = bad = ""
        yield _wire(at[wire.right], target, "right", name, right, bow=-26)
        if wire.source in at:
            yield _wire(at[wire.source], target, "wrong", name, bad, bow=30)


def _named(output: int | None) -> str:
    return "" if output is None else f", output {output}"


def _wire(source: Place, target: Place, which: str, name: str, label: str, bow: int = 0) -> str:
    x1, y1 = source.x + WIDTH, source.y + HEIGHT // 2
    x2, y2 = target.x, target.y + HEIGHT // 2 + bow // 4
    columns = max(round((x2 - x1) / ACROSS), 0)
    # A plain wire passes over the boxes in between, and stays inside of the picture.
    over = -min(34 * columns, (min(y1, y2) - 14) * 4 // 3)
    bent = bow * (1 + columns) if bow else over
    reach = max((x2 - x1) // 2, 24)
    middle = (x1 + x2) / 2, (y1 + y2) / 2 + bent * 0.75
    told = (
        f'<text class="{which}" x="{middle[0]:.0f}" y="{middle[1] - 4:.0f}">{escape(label)}</text>'
        if label
        else ""
    )
    path = f"M{x1} {y1}C{x1 + reach} {y1 + bent} {x2 - reach} {y2 + bent} {x2} {y2}"
    return (
        f'<path class="wire {which}" d="{path}" marker-end="url(#{escape(name)}-{which})"/>{told}'
    )


def _boxes(picture: Picture, at: Mapping[str, Place]) -> Iterator[str]:
    # What reads something that is no box, such as a parameter, has no wire to be red.
    bad = {wire.target for wire in picture.wrong if wire.source not in at} | set(picture.lost)
    names = _cut([box.name for box in picture.boxes if box.name in at], 17)
    for box in picture.boxes:
        if box.name in at:
            place = at[box.name]
            kind, sign = (f"{box.kind} bad", "✗ ") if box.name in bad else (box.kind, "")
            words = box.says.replace("aten.", "")
            says = textwrap.shorten(words, 21, placeholder=" …") if " " in words else words
            says = f"…{says[-20:]}" if len(says) > 21 else says
            yield (
                f'<g class="box {escape(kind)}">'
                f"<title>{escape(box.name)}: {escape(box.says)}</title>"
                f'<rect x="{place.x}" y="{place.y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
                f'<text x="{place.x + 9}" y="{place.y + 19}"><tspan class="name">'
                f"{sign}{escape(names[box.name])}</tspan>"
                f'<tspan class="says" x="{place.x + 9}" dy="16">{escape(says)}</tspan></text></g>'
            )
