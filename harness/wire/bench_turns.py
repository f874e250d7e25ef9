"""Workers that take turns: a block, whatever its workers are. Imports the standard library alone.

In each round every worker makes one call, in an order that is drawn anew, and at any moment only
one of them runs. So whatever slows the machine down for a second slows all of them alike.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.wire.bench_records import Arm

#: Makes one call of a worker: {"seconds": {METRIC: S}, "timed_s": S, "call_s": S}.
Call = Callable[[], Mapping[str, Any]]


@dataclass
class ArmSamples:
    """What one worker measured, in the order of its calls."""

    warm_up: dict[str, list[float]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    timed_s: float = 0.0
    call_s: float = 0.0  # the calls' wall time, with what is between timed regions
    start_s: float = 0.0  # until the worker is ready

    def add(self, answer: Mapping[str, Any], *, warm: bool) -> None:
        kept = self.seconds if warm else self.warm_up
        for metric, seconds in answer["seconds"].items():
            kept.setdefault(metric, []).append(seconds)
        self.timed_s += answer["timed_s"]
        self.call_s += answer["call_s"]


def take_turns(
    arms: Sequence[Arm],
    start: Callable[[Arm], Call],
    drawn: random.Random,
    *,
    warm_up: int,
    calls: int,
) -> dict[str, ArmSamples]:
    """Start a worker for each arm and have all of them make their calls, the first few for warm-up.

    Raises:
        Exception: whatever a worker raises; to end those that were started is the caller's.
    """
    found = {arm.name: ArmSamples() for arm in arms}
    workers: dict[str, Call] = {}
    # Born in drawn order too: who comes last has more siblings, and less of a warm cache.
    for arm in drawn.sample(arms, len(arms)):
        began = time.perf_counter()
        workers[arm.name] = start(arm)
        found[arm.name].start_s = time.perf_counter() - began
    for number in range(warm_up + calls):
        for arm in drawn.sample(arms, len(arms)):
            found[arm.name].add(workers[arm.name](), warm=number >= warm_up)
    return found


def wait_as_told(arm: Arm, metric: str) -> None:
    """Wait if this arm's metric is one that is made slower on purpose.

    It waits busily, because a sleep would end late by a random time.
    """
    if metric == arm.delayed:
        end = time.perf_counter() + arm.delay_s
        while time.perf_counter() < end:
            pass
