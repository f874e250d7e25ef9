"""Of the structure oracle: a candidate's `export()` makes the program that its parts make.

The verdicts are on the parts, called one by one so that each stage is told apart; a user's save
calls `export()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.rig.oracles.determinism import Lines, first_difference
from harness.rig.oracles.finding import Finding
from harness.rig.vocabulary import Stage


def check(parts: Lines, own: Callable[[], Lines]) -> Iterator[Finding]:
    """Findings between the programs of the parts and of `export()`, by the lines of each."""
    try:
        program = own()
    except Exception as error:  # noqa: BLE001 - the candidate's own, and so its verdict
        kind = f"export() raises {type(error).__name__}"
        yield Finding(Stage.EXPORT, kind, str(error).partition("\n")[0])
        return
    difference = first_difference(parts, program)
    if difference:
        yield Finding(Stage.EXPORT, "export() makes another program than its parts", difference)
