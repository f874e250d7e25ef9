"""Which block comes next, and when it is enough.

All cells are sampled in turn, in an order that is drawn anew for each round, so that no cell has
the quiet half of the time to itself. A cell is finished once an interim look has decided all of its
gating stages. The remaining time goes to the doubtful cells, until the budget is spent. In a sweep,
each round takes small sizes first, one block each, and skips a size that would take more time than
is left, because a gigabyte can take longer than all other sizes together.

Apart from the time that blocks took, decisions depend on the plan's seed alone, so a resumed bench
goes on where it was.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any, Final, Protocol

from harness.bench.machine import look
from harness.bench.plan import ARMS, BASELINE, BenchCell, BenchPlan
from harness.bench.process import JobFailed
from harness.bench.samples import CellSamples, Samples
from harness.stats.sequential import decided_early
from harness.stats.steady import warm_up_needed
from harness.wire.bench_records import BenchCase
from harness.wire.record_json import SCHEMA

PILOT_CALLS, SWEEP_PILOT_CALLS = 5, 2
MOST_WARM_UP = 2
WORKER_S = 0.3  # aimed at for the kept calls of one worker
LEAST_CALLS, MOST_CALLS = 3, 15
LARGE_CALL_S = 2.0  # from here on a worker makes one call after one for warm-up
SWEEP_BLOCKS = 3
# If each call is a process of its own, no pilot is needed, and one more block says more than one
# more call.
FRESH_CALLS: Final[Mapping[str, int]] = {"warm_up": 0, "calls": 1}

Write = Callable[[Mapping[str, Any]], None]


class Asked(Protocol):
    """Whatever does jobs: a zygote, or the processes of whole packages."""

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]: ...


class Sampling:
    """Runs jobs of a plan and writes a line for each; knows from ``samples`` what there is."""

    def __init__(
        self,
        plan: BenchPlan,
        samples: Samples,
        zygote: Asked,
        write: Write,
        free_bytes: Callable[[], int],
    ) -> None:
        self._plan = plan
        self._samples = samples
        self._zygote = zygote
        self._write_line = write
        self._free_bytes = free_bytes
        self._prepared: set[BenchCase] = set()

    def run(self) -> Iterator[BenchCell]:
        """Sample until nothing is doubtful or the budget is spent; yields after each job."""
        for number in range(_FOREVER):
            cells = [cell for cell in self._plan.cells if self._is_open(cell)]
            if not any(map(self._has_time, cells)):
                return
            drawn = random.Random(self._plan.draw("round", number)).sample(cells, len(cells))
            drawn.sort(key=lambda cell: cell.case.size)  # those of no sweep have none
            for cell in drawn:
                yield from self._turn(cell)

    def _turn(self, cell: BenchCell) -> Iterator[BenchCell]:
        """Do one job; for a sweep as many as one more block takes."""
        known = self._samples.cells[cell.cell_id]
        blocks = len(known.blocks)
        while self._has_time(cell):
            self._next_job(cell)
            yield cell
            if not cell.case.sweep or len(known.blocks) > blocks or known.failed:
                return

    def _is_open(self, cell: BenchCell) -> bool:
        known = self._samples.cells[cell.cell_id]
        if known.failed or known.stopped:
            return False
        return cell.gates or len(known.blocks) < SWEEP_BLOCKS

    def _has_time(self, cell: BenchCell) -> bool:
        return self._samples.spent_s + self._expected_s(cell) / 2 < self._plan.budget_s

    def _expected_s(self, cell: BenchCell) -> float:
        """The seconds of its next job, estimated by its last one.

        A new size of a sweep is estimated by a line through the two sizes below it, because much of
        a small size's time does not depend on the size.
        """
        took_s = self._samples.cells[cell.cell_id].last_job_s
        if took_s is not None or not cell.case.sweep:
            return took_s or 0.0
        below = sorted(
            (other.case.size, known_s)
            for other in self._plan.cells
            if (other.case.sweep, other.route) == (cell.case.sweep, cell.route)
            and other.case.size < cell.case.size
            and (known_s := self._samples.cells[other.cell_id].last_job_s) is not None
        )
        if len(below) < 2:
            return below[-1][1] if below else 0.0
        (size, first_s), (next_size, next_s) = below[-2:]
        slope = max(next_s - first_s, 0.0) / (next_size - size)
        return next_s + slope * (cell.case.size - next_size)

    def _next_job(self, cell: BenchCell) -> None:
        known = self._samples.cells[cell.cell_id]
        needed = cell.bytes_needed
        if needed and needed > self._free_bytes():
            self._fail(cell, f"needs {needed / 1e9:.1f} GB of memory, there is less")
            return
        try:
            self._prepare(cell)
            if known.pilot is None and not cell.fresh:
                self._pilot(cell)
            elif self._plan.sizes and self._wants_sizes(known):
                self._sizes(cell, ARMS[len(known.sizes) % len(ARMS)])
            else:
                self._block(cell, known)
        except JobFailed as error:
            self._fail(cell, str(error), error.traceback)
        if cell.together is False:
            self._zygote.ask("forget", cell.case)
            self._prepared.discard(cell.case)

    def _wants_sizes(self, known: CellSamples) -> bool:
        """Whether bytes are due: those of all arms follow each of the first blocks."""
        rounds = len(known.sizes) / len(ARMS)
        return rounds < self._plan.sizes_of_each and len(known.blocks) >= rounds

    def _prepare(self, cell: BenchCell) -> None:
        if cell.case in self._prepared or self._plan.spawn or cell.fresh:
            return
        began = time.perf_counter()
        answer = self._zygote.ask("prepare", cell.case)
        self._prepared.add(cell.case)
        # Not `wall_s`, because set-up is no part of the budget.
        self._write(
            "prepared",
            case=cell.case.name,
            setup_s=time.perf_counter() - began,
            steps=answer["steps"],
            engine_bytes=answer["engine_bytes"],
            seconds=answer["seconds"],
        )

    def _pilot(self, cell: BenchCell) -> None:
        """Calls without warm-up, from which it is read how many to leave out and to keep."""
        began = time.perf_counter()
        calls = PILOT_CALLS if cell.gates else SWEEP_PILOT_CALLS
        answer = self._samples_of(cell, warm_up=0, calls=calls, seed=self._plan.draw("pilot", cell))
        self._write(
            "pilot",
            cell=cell.cell_id,
            wall_s=_measured_s(began, answer),
            **chosen_calls(answer["arms"], self._plan.gating),
            arms=answer["arms"],
        )

    def _sizes(self, cell: BenchCell, arm: str) -> None:
        began = time.perf_counter()
        (chosen,) = (one for one in self._plan.arms(cell.route) if one.name == arm)
        answer = self._zygote.ask("sizes", cell.case, arm=asdict(chosen))
        self._write(
            "sizes",
            cell=cell.cell_id,
            arm=arm,
            sizes=answer["sizes"],
            wall_s=time.perf_counter() - began,
        )

    def _block(self, cell: BenchCell, known: CellSamples) -> None:
        counts = FRESH_CALLS if cell.fresh else known.pilot
        assert counts is not None
        number = len(known.blocks)
        began = time.perf_counter()
        answer = self._samples_of(
            cell,
            warm_up=counts["warm_up"],
            calls=counts["calls"],
            seed=self._plan.draw("block", cell.cell_id, number),
        )
        self._write(
            "block",
            cell=cell.cell_id,
            number=number,
            wall_s=_measured_s(began, answer),
            arms=answer["arms"],
            machine=asdict(look()),
            at_unix_s=time.time(),
        )
        if cell.gates and self._is_decided(cell, known):
            self._write("stopped", cell=cell.cell_id)

    def _samples_of(
        self, cell: BenchCell, *, warm_up: int, calls: int, seed: int
    ) -> dict[str, Any]:
        settings = {"passes": self._plan.passes, "warm_up": warm_up, "calls": calls, "seed": seed}
        arms = [asdict(arm) for arm in self._plan.arms(cell.route)]
        if not self._plan.spawn:
            return self._zygote.ask(
                "block", cell.case, arms=arms, together=cell.together, **settings
            )
        drawn = random.Random(seed).sample(arms, len(arms))
        samples = {}
        for arm in drawn:
            answer = self._zygote.ask("alone", cell.case, arms=[arm], together=False, **settings)
            samples.update(answer["arms"])
        return {"arms": samples}

    def _is_decided(self, cell: BenchCell, known: CellSamples) -> bool:
        gating = [metric for metric in known.measured if metric in self._plan.gating]
        # All cells are corrected together, and another cell may have more gating stages.
        hypotheses = len(self._plan.gating) * sum(other.gates for other in self._plan.cells)
        return bool(gating) and all(
            decided_early(
                [block.effect for block in known.of(metric)],
                self._plan.bands.of(cell.family, metric),
                self._plan.alpha,
                hypotheses,
            )
            for metric in gating
        )

    def _fail(self, cell: BenchCell, reason: str, traceback: str = "") -> None:
        self._write("failed", cell=cell.cell_id, reason=reason, traceback=traceback)

    def _write(self, kind: str, **fields: Any) -> None:
        line = {"schema": SCHEMA, "kind": kind, **fields}
        self._write_line(line)
        self._samples.add(line)


def _measured_s(began: float, answer: Mapping[str, Any]) -> float:
    """The seconds since ``began`` without those of set-up, which is no part of the budget."""
    return float(time.perf_counter() - began - answer.get("setup_s", 0.0))


_FOREVER = 10**9


def chosen_calls(arms: Mapping[str, Mapping[str, Any]], gating: Sequence[str]) -> dict[str, int]:
    """How many calls of a worker to leave out, and how many to keep."""
    call_s = median(arm["call_s"] / len(_any_series(arm)) for arm in arms.values())
    if call_s > LARGE_CALL_S:
        return {"warm_up": 0, "calls": 1}
    metrics = [name for name in arms[BASELINE]["seconds"] if not gating or name in gating]
    series = {
        metric: [arm["seconds"][metric] for arm in arms.values() if metric in arm["seconds"]]
        for metric in metrics or arms[BASELINE]["seconds"]
    }
    most = min(MOST_WARM_UP, len(_any_series(arms[BASELINE])) - 1)
    warm_up = max(warm_up_needed(calls, most) for calls in series.values())
    calls = math.ceil(WORKER_S / call_s)
    return {"warm_up": max(warm_up, 1), "calls": min(max(calls, LEAST_CALLS), MOST_CALLS)}


def _any_series(arm: Mapping[str, Any]) -> Sequence[float]:
    series: Sequence[float] = next(iter(arm["seconds"].values()))
    return series
