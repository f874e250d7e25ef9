"""A block: three workers of one case, their calls taken in turn, in seeded random order.

All workers of a block live at once and take turns. Where that takes too much memory, one worker
makes all its calls, then the next.
"""

from __future__ import annotations

import functools
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.rig.bench.forked import Child
from harness.rig.bench.measuring import TimedCalls, Worker, drop_from_cache, resident_share
from harness.rig.bench.prepared import Measured
from harness.rig.inliners.protocol import Inliner
from harness.wire.bench_records import Arm
from harness.wire.bench_turns import ArmSamples, Call, take_turns


@dataclass(frozen=True)
class BlockJob:
    """``warm_up`` calls are made first and kept apart; ``together``: the workers live at once."""

    arms: Sequence[Arm]
    passes: Sequence[str]
    warm_up: int
    calls: int
    seed: int
    together: bool = True


def run_block(
    measured: Measured, inliners: Mapping[str, Inliner], job: BlockJob
) -> dict[str, ArmSamples]:
    """Run a block in forked workers.

    Raises:
        UnfitToFork, ChildFailed: as they say; nothing of the block counts then.
    """
    drawn = random.Random(job.seed)
    arms = list(job.arms)
    groups = [arms] if job.together else [[arm] for arm in drawn.sample(arms, len(arms))]
    found: dict[str, ArmSamples] = {}
    for group in groups:
        found |= _run_group(measured, inliners, job, group, drawn)
    return found


def _run_group(
    measured: Measured,
    inliners: Mapping[str, Inliner],
    job: BlockJob,
    group: Sequence[Arm],
    drawn: random.Random,
) -> dict[str, ArmSamples]:
    workers: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:

        def start(arm: Arm) -> Call:
            place = Path(folder) / arm.name
            place.mkdir()
            worker = Worker(measured, inliners[arm.subject], arm, job.passes, place)
            workers.append(Child.fork(lambda _: one_call(worker)))
            return functools.partial(workers[-1].ask, {})

        try:
            return take_turns(group, start, drawn, warm_up=job.warm_up, calls=job.calls)
        finally:
            for worker in workers:
                worker.end()


def run_alone(measured: Measured, inliners: Mapping[str, Inliner], job: BlockJob) -> ArmSamples:
    """The one arm of a job in this very process, which does nothing else in its life."""
    (arm,) = job.arms
    found = ArmSamples()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        worker = Worker(measured, inliners[arm.subject], arm, job.passes, Path(folder))
        for number in range(job.warm_up + job.calls):
            found.add(one_call(worker), warm=number >= job.warm_up)
    return found


def one_call(worker: TimedCalls) -> dict[str, Any]:
    began, timed = time.perf_counter(), worker.timed_s
    seconds = worker.call()
    return {
        "seconds": dict(seconds),
        "timed_s": worker.timed_s - timed,
        "call_s": time.perf_counter() - began,
    }


def cold_share() -> float | None:
    """How much of a file is still in memory after it was dropped: 0 where a cold load is cold."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "probe"
        path.write_bytes(bytes(1 << 20))
        drop_from_cache(path)
        return resident_share(path)
