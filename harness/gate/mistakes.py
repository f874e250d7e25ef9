"""What is wrong with a case of a user's own that cannot be asked, and what to write instead."""

from __future__ import annotations

import re
from typing import Final

from harness.wire.vocabulary import ENDS_AT, Stage

_AT: Final = re.compile(rf"{ENDS_AT}(?P<stage>[\w-]+): (?P<error>\w+)")
_INSTEAD: Final = {
    Stage.CAPTURE: "mend what it raises, so that torch.export.export takes the model",
    Stage.SPLIT: "name in `fallback` none but ops that the graph has",
    Stage.COMPILE: "mend what it says, so that the split model runs as the model does",
}
_INSTEAD_OF: Final = {
    "UnsupportedSegment": (
        "name that op in `fallback`, which leaves it in PyTorch, or ask whole packages alone, by "
        '`lanes=["package"]` and --lane package'
    ),
    "WrongSplit": (
        "give `eager_tolerance` if rounding is all that differs, and else a model that computes "
        "the same whenever it is run and exported"
    ),
}


def told(case: str, reason: str, declared_at: str) -> str:
    """A mistake in one line: the case's place, what happened, and what to write instead.

    Empty where the case is as it should be, and what is asked of it lacks something.

    Args:
        reason: why its cells could not be asked, which begins with the stage that it ended at.
        declared_at: its file and line.
    """
    found = _AT.match(reason)
    if found is None:
        return ""
    instead = _INSTEAD_OF.get(found["error"]) or _INSTEAD[Stage(found["stage"])]
    return f"{declared_at}: {case} cannot be asked, {reason}; instead, {instead}"
