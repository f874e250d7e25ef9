"""A block: three workers of one case, their calls taken in turn, in seeded random order.

All workers of a block live at once and at any moment one of them runs: in each round every arm
makes one call, in an order that is drawn anew. So whatever slows the machine down for a second
slows all arms alike. Where that takes too much memory, one worker makes all its calls, then the
next.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.rig.bench.forked import Child
from harness.rig.bench.measuring import Worker
from harness.rig.bench.page_cache import drop_from_cache, resident_share
from harness.rig.bench.prepared import Measured
from harness.rig.bench.records import Arm
from harness.rig.inliners.protocol import Inliner


@dataclass(frozen=True)
class BlockJob:
    """``warm_up`` calls are made first and kept apart; ``together``: the workers live at once."""

    arms: Sequence[Arm]
    passes: Sequence[str]
    warm_up: int
    calls: int
    seed: int
    together: bool = True


@dataclass
class ArmSamples:
    """What one worker measured, in the order of its calls."""

    warm_up: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    timed_s: float = 0.0
    call_s: float = 0.0  # the calls' wall time, with what is between timed regions
    start_s: float = 0.0  # from the fork to the worker being ready

    def add(self, answer: Mapping[str, Any], *, warm: bool) -> None:
        kept = self.seconds if warm else self.warm_up
        for metric, seconds in answer["seconds"].items():
            kept.setdefault(metric, []).append(seconds)
        self.timed_s += answer["timed_s"]
        self.call_s += answer["call_s"]


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
    found = {arm.name: ArmSamples() for arm in arms}
    for group in groups:
        _run_group(measured, inliners, job, group, found, drawn)
    return found


def _run_group(
    measured: Measured,
    inliners: Mapping[str, Inliner],
    job: BlockJob,
    group: Sequence[Arm],
    found: Mapping[str, ArmSamples],
    drawn: random.Random,
) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        workers: dict[str, Child] = {}
        try:
            # Born in drawn order too: who comes last has more siblings, and less of a warm cache.
            for arm in drawn.sample(group, len(group)):
                began = time.perf_counter()
                workers[arm.name] = _start(measured, inliners, job, arm, Path(folder) / arm.name)
                found[arm.name].start_s = time.perf_counter() - began
            for number in range(job.warm_up + job.calls):
                for arm in drawn.sample(group, len(group)):
                    answer = workers[arm.name].ask({})
                    found[arm.name].add(answer, warm=number >= job.warm_up)
        finally:
            for worker in workers.values():
                worker.end()


def _start(
    measured: Measured, inliners: Mapping[str, Inliner], job: BlockJob, arm: Arm, folder: Path
) -> Child:
    folder.mkdir()
    worker = Worker(measured, inliners[arm.subject], arm, job.passes, folder)
    return Child.fork(lambda _: one_call(worker))


def run_alone(measured: Measured, inliners: Mapping[str, Inliner], job: BlockJob) -> ArmSamples:
    """The one arm of a job in this very process, which does nothing else in its life."""
    (arm,) = job.arms
    found = ArmSamples()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        worker = Worker(measured, inliners[arm.subject], arm, job.passes, Path(folder))
        for number in range(job.warm_up + job.calls):
            found.add(one_call(worker), warm=number >= job.warm_up)
    return found


def one_call(worker: Worker) -> dict[str, Any]:
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
