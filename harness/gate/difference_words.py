"""How a candidate differs from a release, in words: what it mends, breaks and shows otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from harness.base.words import plural
from harness.gate.attribution import Difference
from harness.gate.signs import NOT_SEEN_NOW, SEEN_FIRST_NOW

#: How many defects of each kind of difference are named.
MOST_NAMED: Final = 6


def difference_parts(
    told: Difference, like: str, titles: Mapping[str, str], most: int = MOST_NAMED
) -> list[str]:
    """The difference in words: ``mends: "A"``, ``breaks: "C" in 3 cells``, ``all else as 2.14.0``.

    Each defect is a part of its own, since a failure without a known sign may itself say ``;``.

    Args:
        titles: of defects, by their ids.
        most: how many defects of each kind of difference are named.
    """
    if not told.compared:
        return [f"nothing to compare with: {like} was not asked"]
    parts = []
    for what, of in (
        ("mends", told.mended),
        ("mends in part", told.partly),
        ("brings back", told.brought_back),
        ("breaks", told.broken),
        ("shows otherwise", told.otherwise),
        (SEEN_FIRST_NOW, told.uncovered),
        (f"{NOT_SEEN_NOW}, since its cells end earlier", told.hidden),
    ):
        parts += [f"{what}: {each}" for each in _listed(of, titles, most, what != "mends")]
    return [*parts, f"all else as {like}" if parts else f"all as {like}"]


def by_kind(parts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """What `difference_parts` tells, by what it says of defects: ``mends``, and each title.

    The last kind is ``else``: as what all the rest is.
    """
    if not parts:
        return []
    *told, rest = (part.partition(": ") for part in parts)
    kinds = itertools.groupby(told, key=lambda part: part[0])
    return [*((kind, [name for _, _, name in of]) for kind, of in kinds), ("else", [rest[0]])]


def _listed(
    cells: Mapping[str, int], titles: Mapping[str, str], most: int, counted: bool
) -> list[str]:
    """The defects with the most cells, and how many more there are."""
    named = []
    for name in sorted(cells, key=lambda name: -cells[name])[:most]:
        first, space, rest = name.partition(" ")  # an id, and where the defect was fixed
        title = f'"{titles[first]}"{space}{rest}' if first in titles else name
        named.append(f"{title}{_in_cells(cells[name]) if counted else ''}")
    return named + ([f"{len(cells) - most} more"] if len(cells) > most else [])


def _in_cells(count: int) -> str:
    return f" in {plural(count, 'cell')}"
