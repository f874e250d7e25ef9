"""Part of the structure oracle: a candidate's `export()` makes the program that its parts make.

The harness calls the parts one by one, to tell the stages apart; a user's save calls `export()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.rig.oracles.determinism import Lines, first_difference
from harness.rig.oracles.finding import Finding
from harness.wire.vocabulary import Stage


def check(parts: Lines, own: Lines) -> Iterator[Finding]:
    """A finding if the lines that identify the two programs differ."""
    difference = first_difference(parts, own)
    if difference:
        yield Finding(Stage.EXPORT, "export() makes another program than its parts", difference)
