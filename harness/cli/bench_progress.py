"""What a bench says while it measures."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.bench.plan import BenchCell, BenchPlan
from harness.bench.samples import Samples
from harness.cli.common import say

_TOLD_EVERY_S = 10.0


def teller() -> Callable[[BenchCell, BenchPlan, Samples], None]:
    """A line every few seconds: a bench is to be watched, not stared at.

    It says how long the clock runs at most, since the budget counts what is measured alone.
    """
    began = last = time.monotonic()
    spent_before: float | None = None

    def told(cell: BenchCell, plan: BenchPlan, samples: Samples) -> None:
        nonlocal last, spent_before
        if spent_before is None:
            spent_before = samples.spent_s
        if time.monotonic() - last < _TOLD_EVERY_S:
            return
        last = time.monotonic()
        # Processes are started between measurements, which takes longer than they do.
        share = (samples.spent_s - spent_before) / (last - began)
        to_go = ""
        if share > 0:
            left_min = (plan.budget_s - samples.spent_s) / share / 60
            to_go = f", at most {left_min:.0f} min to go by the clock"
        blocks = sum(len(each.blocks) for each in samples.cells.values())
        decided = sum(each.stopped for each in samples.cells.values())
        say(
            f"{samples.spent_s:.0f} of {plan.budget_s:.0f} s measured{to_go}: {blocks} blocks, "
            f"{decided} of {len(plan.cells)} cells decided; now {cell.cell_id}"
        )

    return told
