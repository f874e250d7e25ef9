"""The determinism oracle: doing the same twice gives the same result.

Two transforms of one split module give the same graph, with the same names and metadata, and two
saves of one program reload to equal programs. In the same way a part of the structure oracle sees
that a candidate's `export()` makes the program that its parts make: the harness calls the parts one
by one, to tell the stages apart, and a user's save calls `export()`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from harness.rig.oracles.finding import Finding
from harness.wire.vocabulary import Stage

Lines = Sequence[str]


def check_transform(first: Lines, transform_again: Callable[[], Lines]) -> Iterator[Finding]:
    """Findings between an inlined module and a second one, each as the lines that identify it."""
    try:
        second = transform_again()
    except Exception as error:  # noqa: BLE001 - the subject's own, and so its verdict
        kind = f"a second transform raises {type(error).__name__}"
        yield Finding(Stage.INLINE_FALLBACKS, kind, str(error).partition("\n")[0])
        return
    difference = first_difference(first, second)
    if difference:
        yield Finding(Stage.INLINE_FALLBACKS, "two transforms give other graphs", difference)


def check_saves(first: Lines, second: Lines) -> Iterator[Finding]:
    """Findings between the programs that two saves of one program reload to."""
    difference = first_difference(first, second)
    if difference:
        yield Finding(Stage.SAVE, "two saves reload to other programs", difference)


def check_own_export(parts: Lines, own: Lines) -> Iterator[Finding]:
    """A finding if the lines that identify the two programs differ."""
    difference = first_difference(parts, own)
    if difference:
        yield Finding(Stage.EXPORT, "export() makes another program than its parts", difference)


def first_difference(first: Lines, second: Lines) -> str:
    """The first line in which the two differ, or ""."""
    for number, (one, two) in enumerate(itertools.zip_longest(first, second, fillvalue="no more")):
        if one != two:
            return f"line {number}: {two}, before {one}"
    return ""
