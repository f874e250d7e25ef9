"""Runs jobs on a few workers at a time. A worker that hangs or dies is a verdict, not an end.

Every cell ends in exactly one record, which ``on_record`` gets at once, so that killing the
controller loses no cell that had ended. A cell whose worker died or ran out of time is tried once
more, alone in a fresh worker. If it then ends differently, it is `flaky`.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.base.errors import SurroundingsError, UsageError
from harness.runs.costs import Cost
from harness.wire.oracles import Symptom
from harness.wire.record_json import cell_from_json
from harness.wire.records import CellRecord
from harness.wire.vocabulary import Stage
from harness.workers.jobs import Job, broken_off, settle_second_attempt
from harness.workers.launching import LOCAL, Launcher
from harness.workers.process import (
    Setup,
    Worker,
    WorkerDied,
    WorkerLost,
    WorkerTimeout,
    how_cut_off,
)

_JOBS_FOR_A_WORKER = 4
#: Each and the two processes that load for it hold a CUDA context, of half a GB.
_WORKERS_ON_A_GPU = 4
_START_TIMEOUT_S = 180.0  # importing torch on a cold disk
#: A cell under which so many machines were lost is taken to have ended them.
_LOSSES = 3


async def run_jobs(
    jobs: list[Job],
    setup: Setup,
    *,
    count: int,
    timeout_s: float,
    on_record: Callable[[CellRecord], None],
    on_cost: Callable[[Cost], None],
    broken: dict[str, str],
    on_split: Callable[[Mapping[str, Any]], None] = lambda _: None,
    launcher: Launcher = LOCAL,
    free: asyncio.Semaphore | None = None,
    more: asyncio.Event | None = None,
) -> None:
    """Run every job; at most ``count`` workers, ``timeout_s`` for each cell.

    Args:
        free: the places for workers, where others run beside these; ``count`` of its own, else.
        more: set when workers beyond the first may take a place; from the start on, else.
        on_cost: gets what each job took, second attempts included.
        broken: gets the cells without a record because the harness itself failed, each with its
            traceback.
        on_split: gets how a package splits a case, of workers that tell it.
    """
    queue: asyncio.Queue[Job] = asyncio.Queue()
    for job in jobs:
        queue.put_nowait(job)
    places = free or asyncio.Semaphore(count)

    async def placed(lane: _Lane) -> None:
        if lane.number and more is not None:
            await more.wait()
        async with places:
            await lane.run()

    # To start one takes as much as some jobs, but not as much as jobs that load on a GPU.
    workers = min(count, max(1, len(jobs) // (_JOBS_FOR_A_WORKER if setup.forked else 1)))
    lanes = [
        _Lane(number, queue, setup, timeout_s, on_record, on_cost, broken, on_split, launcher)
        for number in range(workers)
    ]
    await all_of(map(placed, lanes))


async def run_groups(
    groups: Sequence[tuple[list[Job], Setup]],
    *,
    count: int,
    free: asyncio.Semaphore | None = None,
    more: asyncio.Event | None = None,
    **how: Any,
) -> None:
    """Run groups of jobs, each with a setup and so with a worker of its own, ``count`` at a time.

    One on a GPU has several: it starts a process for every archive, and waits for that. So has
    each when ``more`` is set, since no group is left then that waits for a place.

    Args:
        free, more, how: as `run_jobs` takes them.
    """
    places = free or asyncio.Semaphore(count)

    def workers(setup: Setup) -> int:
        if not setup.forked:
            return min(count, _WORKERS_ON_A_GPU)
        return 1 if more is None else count

    await all_of(
        run_jobs(jobs, setup, count=workers(setup), free=places, more=more, **how)
        for jobs, setup in groups
    )


async def all_of(running: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Wait for all. Where one fails the others are ended, and its error is raised by itself."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for each in running:
                tasks.create_task(each)
    except* (SurroundingsError, UsageError) as errors:
        raise errors.exceptions[0] from None  # mostly all meet the same one


@dataclass(frozen=True)
class _CutOff:
    """A cell whose worker died, and whether that was in what all cells of the job share."""

    record: CellRecord
    shared: bool


@dataclass
class _Lane:
    """One worker after another, working through the shared queue."""

    number: int
    queue: asyncio.Queue[Job]
    setup: Setup
    timeout_s: float
    on_record: Callable[[CellRecord], None]
    on_cost: Callable[[Cost], None]
    broken: dict[str, str]
    on_split: Callable[[Mapping[str, Any]], None]
    launcher: Launcher
    worker: Worker | None = None
    losses: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        try:
            while not self.queue.empty():
                await self._finish(self.queue.get_nowait())
            if self.worker is not None:
                await self.worker.stop()
                self.worker = None
        finally:
            await self._kill()

    async def _finish(self, job: Job) -> None:
        """Work on a job until each of its cells has ended, starting workers anew as needed."""
        left: Job | None = job
        while left is not None:
            ended, cut_off = await self._attempt(left)
            left = left.without(ended)
            if cut_off is None or left is None:
                continue
            second = await self._again(left.only(cut_off.record.key.cell_id))
            left = self._settle(left, cut_off, second)

    def _settle(self, left: Job, cut_off: _CutOff, second: CellRecord | None) -> Job | None:
        """Record a cell that broke off and was tried again, and return what is left then.

        If twice the same happened in what the cells share, it is the verdict on all of them: to
        try each would take a time-out, or a death, for every one.
        """
        first = cut_off.record
        if second is None:  # the harness broke in it, and says so elsewhere
            return left.without({first.key.cell_id})
        settled = settle_second_attempt(first, second)
        doomed = cut_off.shared and settled.label == first.label
        for cell in left.cells if doomed else left.only(first.key.cell_id).cells:
            record = dataclasses.replace(settled, key=cell.key, measured_as=cell.key.subject)
            self._record(left, record)
        return None if doomed else left.without({first.key.cell_id})

    async def _again(self, job: Job) -> CellRecord | None:
        """The second attempt at one cell; None if the harness broke in it."""
        kept: list[CellRecord] = []
        ended: set[str] = set()
        while not ended:  # a machine that is lost under it ends nothing
            ended, cut_off = await self._attempt(job, keep=kept.append)
            if cut_off is not None:
                return cut_off.record
        return kept[0] if kept else None

    async def _attempt(
        self, job: Job, keep: Callable[[CellRecord], None] | None = None
    ) -> tuple[set[str], _CutOff | None]:
        """Send a job to the worker.

        Returns:
            The cells that ended (or broke), and the one that the worker did not survive. Neither
            has what was left when the machine was lost.
        """
        ended: set[str] = set()
        cell_id, stage = None, Stage.CAPTURE
        clock = asyncio.get_running_loop().time
        try:
            worker = await self._ready_worker()
            await worker.send(job.message())
            deadline = clock() + self.timeout_s
            while True:
                event = await worker.next_event(max(0.0, deadline - clock()))
                match event["event"]:
                    case "done":
                        self.on_cost(Cost(**event["spent"]))
                        return ended, None
                    case "stage":
                        if event["cell"] != cell_id:
                            deadline = clock() + self.timeout_s
                        cell_id, stage = event["cell"], Stage(event["stage"])
                    case "record":
                        record = cell_from_json(event["record"], "worker")
                        ended.add(record.key.cell_id)
                        if keep is not None:
                            keep(record)
                        else:
                            self._record(job, record)
                    case "split":
                        self.on_split(event["split"])
                    case "broken":
                        ended.add(event["cell"])
                        self.broken[event["cell"]] = event["traceback"]
                    case other:
                        raise SurroundingsError(f"worker sent an unknown event {other!r}")
        except (WorkerDied, WorkerTimeout) as error:
            symptom, message, stage = how_cut_off(error, self.timeout_s, stage)
        except WorkerLost as error:
            left_ids = (c.key.cell_id for c in job.cells if c.key.cell_id not in ended)
            now = cell_id or next(left_ids, "")
            self.losses[now] += 1
            if self.losses[now] < _LOSSES:
                await self._kill()
                return ended, None
            symptom, message = Symptom.KILLED, f"{error}, the last of {_LOSSES} under this cell"
        await self._kill()
        left = [cell for cell in job.cells if cell.key.cell_id not in ended]
        if not left:
            return ended, None
        # The cell it told of last, or the first that is left if it was still in what they share.
        current = next((cell for cell in left if cell.key.cell_id == cell_id), left[0])
        record = broken_off(current.key, symptom, stage, message, job.attempt)
        return ended, _CutOff(record, shared=cell_id is None)

    async def _kill(self) -> None:
        if self.worker is not None:
            await self.worker.kill()
            self.worker = None

    def _record(self, job: Job, record: CellRecord) -> None:
        self.on_record(_with_plan(job, record))

    async def _ready_worker(self) -> Worker:
        if self.worker is not None:
            return self.worker
        worker = await self.launcher.start(self.setup, self.number)
        self.worker = worker  # from here on `run` ends it, whatever happens
        event = await worker.until_ready(_START_TIMEOUT_S)
        self._check_loaded(event["load_errors"])
        if event["corpus_digest"] != self.setup.corpus_digest:
            raise SurroundingsError(
                "the corpus was edited while it ran, and its programs would be mixed; start anew"
            )
        return worker

    def _check_loaded(self, load_errors: dict[str, str]) -> None:
        """Blame the user for a file that does not load, and the surroundings for a release."""
        files = {spec.subject for spec in self.setup.subjects if spec.kind.brought}
        if load_errors:
            kind = UsageError if set(load_errors) <= files else SurroundingsError
            raise kind("; ".join(load_errors.values()))


def _with_plan(job: Job, record: CellRecord) -> CellRecord:
    """The record with the plan's own key, which records share, and what only the plan knows."""
    planned = next(cell for cell in job.cells if cell.key == record.key)
    return dataclasses.replace(record, key=planned.key, hypothetical=planned.hypothetical)
