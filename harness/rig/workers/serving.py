"""One job of a worker, of either lane: a case prepared once, and its cells run one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from harness.rig.cell.pipeline import ended_before_routes, is_full_disk
from harness.rig.cell.prepare import NotPrepared, PreparedCase
from harness.rig.channel import Reporter
from harness.rig.clock import StageClock
from harness.wire.records import CellKey, CellRecord

Prepare = Callable[[StageClock], PreparedCase]
RunCell = Callable[[PreparedCase, CellKey, StageClock], CellRecord]


def serve_cells(
    cells: Iterable[CellKey], report: Reporter, prepare: Prepare, run_cell: RunCell
) -> float:
    """Run the cells of one case; each ends in a record or in `broken`.

    Returns the seconds that were spent inside of stages.

    Args:
        prepare: captures, splits and compiles the case; called again when a cell has damaged it.
    """
    cells = list(cells)
    clock = StageClock(lambda stage: report.at(None, stage))
    try:
        prepared = prepare(clock)
    except NotPrepared as error:
        if is_full_disk(error.cause):  # as in a cell, it is no fact about the case
            for key in cells:
                report.broken(key)
            return clock.spent_seconds
        report.ended(ended_before_routes(key, error.cause, error.stage) for key in cells)
        return clock.spent_seconds
    except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
        for key in cells:
            report.broken(key)
        return clock.spent_seconds
    spent = clock.spent_seconds
    in_common = clock.seconds
    for key in cells:
        clock = StageClock(lambda stage, key=key: report.at(key, stage))  # type: ignore[misc]
        clock.credit(in_common)
        in_common = {}  # what the cells of a case share is told once, in the first record
        try:
            record = run_cell(prepared, key, clock)
        except Exception:  # noqa: BLE001 - as above
            report.broken(key)
        else:
            report.ended([record])
        if prepared.damaged:  # that cell's verdict says so; the next ones get a sound case
            prepared = prepare(clock)
        spent += clock.spent_seconds
    return spent
