"""A run's verdict in one line: the same on the console, in report.md and in report.html.

Green means that all is as the ledger expects. It does not mean that nothing is broken: what the
newest release is known to get wrong is told in the same breath.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from harness.rig.records import (
    CellRecord,
    CellState,
    Oracle,
    SubjectKind,
    SubjectSpec,
)

#: Oracles whose failure no exception tells: the program runs, and computes something else.
SILENT: Final = (Oracle.VALUES, Oracle.WIRING)


@dataclass(frozen=True)
class Remaining:
    """How the newest release fails on the routes that a user can reach. In cells, each once.

    ``silent``: the program runs and computes something else. ``loud``: there is an error in place
    of a program. ``lesser``: its numbers are right, and something else is not.
    """

    release: str
    asked: int
    unasked: int
    silent: int
    loud: int
    lesser: int

    @property
    def failing(self) -> int:
        return self.silent + self.loud + self.lesser


def remaining(records: Iterable[CellRecord], subjects: Iterable[SubjectSpec]) -> Remaining | None:
    """Of the newest release that was asked anything; None where there is none."""
    releases = {spec.subject for spec in subjects if spec.kind is SubjectKind.RELEASE}
    gated = [r for r in records if r.key.subject in releases and not r.hypothetical]
    asked = [record for record in gated if record.state is CellState.ENDED]
    if not asked:
        return None
    newest = max((record.key.subject for record in asked), key=Version)
    met = [record.met.oracle for record in asked if record.key.subject == newest and record.met]
    silent, loud = sum(oracle in SILENT for oracle in met), met.count(Oracle.COMPLETION)
    return Remaining(
        release=newest,
        asked=sum(record.key.subject == newest for record in asked),
        unasked=sum(r.key.subject == newest and r.state is not CellState.ENDED for r in gated),
        silent=silent,
        loud=loud,
        lesser=len(met) - silent - loud,
    )


def verdict_words(
    gate: str, counts: Mapping[str, int], ledger_faults: int, left: Remaining | None
) -> str:
    """The gate in one line.

    Args:
        gate: green, red, inconclusive or failed.
        counts: ``cells`` of summary.json: ``planned``, and a count for each class of cell.
        ledger_faults: how many faults the ledger itself has.
    """
    if gate == "green":
        return f"Green: nothing unexpected{_known(left) if left else ''}"
    if gate == "inconclusive":
        return _inconclusive(counts)
    if gate == "failed":
        lost = f", {_plural(counts['missing'], 'cell')} missing" if counts["missing"] else ""
        return f"Failed: the harness broke{lost}"
    failures, passes = counts["unexpected_failure"], counts["unexpected_pass"]
    parts = []
    if failures:
        parts.append(_plural(failures, "unexpected failure"))
    if passes:
        parts.append(_plural(passes, "unexpected pass", "unexpected passes"))
    if ledger_faults:
        parts.append(f"{_plural(ledger_faults, 'fault')} in the ledger")
    return f"Red: {' and '.join(parts)}"


def _known(left: Remaining) -> str:
    unasked = f", {left.unasked:,} not asked" if left.unasked else ""
    cells = f"{_plural(left.asked, 'cell')}{unasked}"
    if not left.failing:
        return f"; {left.release} has no known failure in {cells}"
    kinds = f"{left.silent:,} silent, {left.loud:,} loud and {left.lesser:,} lesser known failures"
    return f"; {left.release} still has {kinds} in {cells}"


def _inconclusive(counts: Mapping[str, int]) -> str:
    planned, unasked = counts["planned"], counts["unsupported"]
    if not planned:
        return "Inconclusive: nothing was asked"
    if planned == unasked:
        return f"Inconclusive: none of {_plural(planned, 'cell')} could be asked"
    return f"Inconclusive: {unasked:,} of {planned:,} cells not asked"


def _plural(count: int, noun: str, several: str = "") -> str:
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
