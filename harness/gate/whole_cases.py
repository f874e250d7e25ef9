"""Cases that nobody could be asked about: one fact about each, and not one about every cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from harness.base.words import plural
from harness.gate.findings import CellClass, Finding
from harness.runs.plan import PlannedCell
from harness.wire.records import CellRecord, SubjectSpec
from harness.wire.vocabulary import NOT_COMPILED, CellState


def whole_cases(
    plan: Iterable[PlannedCell],
    records: Mapping[str, CellRecord],
    unlisted: Collection[str],
    subjects: Iterable[SubjectSpec],
) -> dict[str, Finding | None]:
    """The findings about cases that nobody could be asked about, by the ids of their cells.

    The first cell of such a case has the finding, and the others have None.

    Args:
        unlisted: the ids of the cells that the table does not expect to be unsupported.
        subjects: what one of them lacks on this machine is no fault of a case.
    """
    lacking_here = {reason for spec in subjects for reason in _reasons_here(spec)}
    of_case: dict[tuple[str, str], list[PlannedCell]] = defaultdict(list)
    for cell in plan:
        if _reason(records.get(cell.key.cell_id)) not in lacking_here:
            of_case[cell.key.lane, cell.key.case].append(cell)
    findings: dict[str, Finding | None] = {}
    for cells in of_case.values():
        reasons = {_reason(records.get(cell.key.cell_id)) for cell in cells}
        new = [cell for cell in cells if cell.key.cell_id in unlisted]
        reason = reasons.pop() if len(reasons) == 1 else ""
        if not reason or not new or reason.startswith(NOT_COMPILED):
            continue
        findings |= dict.fromkeys([cell.key.cell_id for cell in new])
        key = new[0].key
        count = plural(len(new), "cell")
        said_of = f"the case cannot be asked ({count}): {reason}"
        findings[key.cell_id] = Finding(key, CellClass.UNSUPPORTED, said_of, of_case=reason)
    return findings


def _reason(record: CellRecord | None) -> str:
    """Why a cell could not be asked; empty if it was, or left no record."""
    return record.reason if record and record.state is CellState.UNSUPPORTED else ""


def _reasons_here(spec: SubjectSpec) -> list[str]:
    lacking = [spec.unavailable, *(package.unavailable for package in spec.packages)]
    return [reason for reason in lacking if reason]
