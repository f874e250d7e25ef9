"""Harm: what a person who calls the product sees of a failure.

It is told of each verdict, from what its oracle found and how far the program got. What is seen in
memory alone, and not on the program that came back from disk, harms nobody who saves and loads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from harness.rig.oracles.finding import Finding
from harness.rig.oracles.values import STRUCTURE_DIFFERS
from harness.wire.oracles import Harm, Oracle
from harness.wire.vocabulary import Stage

#: Stages whose findings are about objects that nobody keeps once the program was saved.
IN_MEMORY: Final = frozenset(
    {Stage.INLINE_ENGINES, Stage.INLINE_FALLBACKS, Stage.CLEAN, Stage.EXPORT}
)
#: Metadata that consumers of a program in memory read: `run_decompositions` and AOTInductor trace
#: with those of its inputs. No others are read otherwise (`oracles/consumers`, by a slow test).
_READ_IN_MEMORY: Final = "model input: "
#: What the caller's own module is left as, though: it is his to go on with.
DAMAGED: Final = "the inliner changed the module it was given"
#: What the values oracle finds where every number is right and only their packing is not.
_PACKING: Final = frozenset({STRUCTURE_DIFFERS, "type differs", "device differs"})


@dataclass(frozen=True)
class Announcement:
    """A warning of a release that says what its program will do otherwise.

    Attributes:
        says: a regular expression that finds it in a recorded warning.
        source: where upstream warns.
    """

    says: str
    source: str


ANNOUNCEMENTS: Final = (
    Announcement(
        r"non-KV mutable buffer\(s\) needing copy-back, but .* does not declare them",
        "save (torch_tensorrt/_compile.py:1189 of 2.14.0)",
    ),
)


def announced(warnings: Iterable[str]) -> bool:
    """Whether one of a cell's warnings says that its program does something else."""
    told = list(warnings)
    return any(re.search(each.says, text) for each in ANNOUNCEMENTS for text in told)


def harm_of(
    oracle: Oracle, findings: Collection[Finding], *, reloaded: bool, warned: bool = False
) -> Harm | None:
    """The harm of what one oracle found in one cell; None if it found nothing.

    Args:
        reloaded: whether the program came back from disk and ran. Where it did not, the error is
            what its user sees, whatever else is wrong.
        warned: whether the release announced it.
    """
    if not findings:
        return None
    if oracle is Oracle.COMPLETION or not reloaded:
        return Harm.ERROR
    kept = [_harm_of_finding(oracle, each) for each in findings if _lasts(oracle, each)]
    worst = min(kept, key=lambda harm: harm.severity, default=Harm.COSMETIC)
    return Harm.WARNED if warned and worst is Harm.SILENT else worst


def _lasts(oracle: Oracle, finding: Finding) -> bool:
    if finding.stage not in IN_MEMORY or finding.kind == DAMAGED:
        return True
    return oracle is Oracle.METADATA and finding.kind.startswith(_READ_IN_MEMORY)


def _harm_of_finding(oracle: Oracle, finding: Finding) -> Harm:
    found = finding.kind.rpartition(": ")[2]  # behind whose it is
    packing = oracle is Oracle.VALUES and found in _PACKING
    return Harm.INTERFACE if packing else oracle.row.usual_harm
