"""Harm: what a person who calls the product sees of a failure.

Each verdict has a harm, which follows from what its oracle found and from how far the program got.
A fault that shows in memory only, and not in the program that came back from disk, harms nobody who
saves and loads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from harness.rig.oracles.finding import Finding
from harness.wire.oracles import PACKING, Harm, Oracle
from harness.wire.vocabulary import Stage

#: The stages whose findings concern objects that nobody keeps after the program was saved.
IN_MEMORY: Final = frozenset(
    {Stage.INLINE_ENGINES, Stage.INLINE_FALLBACKS, Stage.CLEAN, Stage.EXPORT}
)
#: The metadata that consumers of a program in memory read: `run_decompositions` and AOTInductor
#: trace with the metadata of its inputs. A slow test asks each of them, and shows that they
#: read no other metadata.
_READ_IN_MEMORY: Final = "model input: "
#: A finding that lasts although it is made in memory: the caller goes on with his own module.
DAMAGED: Final = "the inliner changed the module it was given"


@dataclass(frozen=True)
class Announcement:
    """A warning in which a release says how its program will differ from the model.

    Attributes:
        says: a regular expression that finds the announcement in a recorded warning.
        source: the place in upstream's code that warns.
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
    """Whether one of a cell's warnings says that its program differs from the model."""
    texts = list(warnings)
    return any(re.search(each.says, text) for each in ANNOUNCEMENTS for text in texts)


def harm_of(
    oracle: Oracle, findings: Collection[Finding], *, reloaded: bool, warned: bool = False
) -> Harm | None:
    """The harm of what one oracle found in one cell; None if it found nothing.

    Args:
        reloaded: whether the program came back from disk and ran. If it did not, its user sees the
            error, whatever else is wrong.
        warned: whether the release announced the difference.
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
    kind = finding.kind.rpartition(": ")[2]  # without the module that it was found in
    packing = oracle is Oracle.VALUES and kind in PACKING
    return Harm.INTERFACE if packing else oracle.row.usual_harm
