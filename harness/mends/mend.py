"""What a mend is, and a release's file with mends in it. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from harness.mends.edits import DoesNotFit, Edit, edited


@dataclass(frozen=True)
class Mend:
    """A change that mends ``defects``, which are ids of the register.

    ``idea`` says what is changed, why there, and what it costs; ``uncovered`` what it does not
    reach; ``test`` which test upstream should add. ``added`` are functions that the edits call.
    """

    defects: tuple[str, ...]
    idea: str
    test: str
    edits: tuple[Edit, ...]
    added: tuple[str, ...] = ()
    uncovered: str = ""
    file: str = "torch_tensorrt/dynamo/_exporter.py"

    @property
    def name(self) -> str:
        return self.defects[0]


def mended(source: str, mends: Iterable[Mend]) -> str:
    """The text of a file with all of ``mends`` in it. Raises DoesNotFit, naming all that do not."""
    chosen = list(mends)
    misfits = []
    for mend in chosen:
        try:
            edited(source, mend.edits, mend.added)
        except DoesNotFit as error:
            misfits.append(f"the mend of {mend.name} does not fit: {error}")
    if misfits:
        fitting = len(chosen) - len(misfits)
        raise DoesNotFit("; ".join(misfits) + f"; name the other {fitting} with --only")
    added = tuple(dict.fromkeys(text for mend in chosen for text in mend.added))
    return edited(source, [edit for mend in chosen for edit in mend.edits], added)


def difference(file: str, before: str, after: str) -> str:
    """A unified diff, as `git apply` takes it."""
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{file}",
            f"b/{file}",
        )
    )
