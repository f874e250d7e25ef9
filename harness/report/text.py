"""Numbers and names as words, the same in every form of the report."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from harness.base import words
from harness.base.words import listed as listed
from harness.base.words import plural as plural
from harness.gate.plain_words import plain as plain
from harness.gate.plain_words import symptom as symptom
from harness.report import style
from harness.report.frames.tables import MatrixCell, Quartiles

NOT_MEASURED = "not measured"
# A word may break before a consonant and a vowel, with three letters on each side.
_SYLLABLE = re.compile(r"(?<=[a-z]{3})(?=(?:ch|sh|th|ph|[bcdfgklmnprstv])[aeiou][a-z])")
_UNITS = ("B", "kB", "MB", "GB")


# Control characters but for tab and line breaks, marks of direction, and halves of characters.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufffe\\uffff]"
)


def printable(words: str) -> str:
    """A text that any page can show as it is."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", words)


def number(value: float) -> str:
    """Three significant digits, never scientific: ``0.0123``, ``4.56``, ``1,230``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    # Rounding may carry into the next decade: 9.996 is 10.0, not 10.00.
    digits = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(digits, 0)}f}"


_DASH = " \u2013 "


def cells_by_lane(graph: int, package: int, engine: int) -> str:
    """``3 cells``, ``3 cells and 2 of the package lane``, ``2 cells of the engine lane``."""
    lanes = ((graph, ""), (package, " of the package lane"), (engine, " of the engine lane"))
    (first, where), *others = [told for told in lanes if told[0]] or lanes[:1]
    return joined([f"{plural(first, 'cell')}{where}", *(f"{n:,}{where}" for n, where in others)])


def joined(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def span(members: Sequence[str]) -> str:
    """Neighbours as a range, ``2.7.0 – 2.10.0``; a single one by its name."""
    return words.span(members, _DASH)


def breakable(name: str) -> str:
    """A name with soft hyphens in its long words, for the head of a narrow column."""
    return re.sub(
        r"[A-Za-z]{9,}", lambda word: _SYLLABLE.sub("\u00ad", word[0]), name.replace("_", " ")
    )


def reference(upstream: str) -> str:
    """A reference to upstream's own repository without its name: ``#4446``."""
    return upstream.replace("pytorch/TensorRT#", "#")


def cell_words(cell: MatrixCell) -> tuple[str, str]:
    """A cell's large line, right of asked, and its small one: ``✗ 9/12``, ``wrong values``."""
    rest = "the rest " if cell.ok + cell.failing else ""
    unasked = f"{rest}missing" if cell.missing else f"{rest}not asked" if cell.unsupported else ""
    return cell_right(cell), symptom(cell.worst) if cell.worst else unasked


def cell_right(cell: MatrixCell) -> str:
    """What is right of what was asked: ``✗ 9/12``."""
    sign, asked = style.SIGNS[cell.tone], cell.ok + cell.failing
    return f"{sign} {cell.ok}/{asked}" if asked else sign


def cell_sentence(cell: MatrixCell) -> str:
    """A matrix cell for a screen reader, and for a mouse that rests on it."""
    if not cell.total:
        return "no cell"
    parts = [f"{cell.ok} of {plural(cell.total, 'cell')} ok"]
    if cell.failing:
        parts.append(f"{cell.failing} failing, worst {cell.worst}")
    if cell.unsupported:
        parts.append(f"{cell.unsupported} not asked")
    if cell.missing:
        parts.append(f"{cell.missing} missing")
    if cell.unexpected:
        parts.append(f"{cell.unexpected} unexpected")
    return "; ".join(parts)


def size(value: float) -> str:
    """Bytes in decimal units."""
    power = 0
    while value >= 1000 and power < len(_UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.0f} B" if power == 0 else f"{number(value)} {_UNITS[power]}"


def milliseconds(quartiles: Quartiles | None) -> str:
    """Median seconds as milliseconds, without the unit."""
    return NOT_MEASURED if quartiles is None else number(quartiles.median * 1e3)


def milliseconds_spread(quartiles: Quartiles | None) -> str:
    """First and third quartile, as milliseconds."""
    if quartiles is None:
        return ""
    return f"{number(quartiles.q1 * 1e3)} to {number(quartiles.q3 * 1e3)}"


def bytes_median(quartiles: Quartiles | None) -> str:
    return NOT_MEASURED if quartiles is None else size(quartiles.median)


def bytes_spread(quartiles: Quartiles | None) -> str:
    if quartiles is None:
        return ""
    return f"{size(quartiles.q1)} to {size(quartiles.q3)}"
