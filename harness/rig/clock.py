"""Which stage a cell is in, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from harness.wire.vocabulary import Stage


class StageClock:
    """Tells stages apart while code that knows nothing of them runs.

    ``enter`` ends the stage before it and starts another, so that a release's own function can be
    timed from a wrapper; after an exception ``stage`` is where it happened. Seconds of one stage
    add up over several visits.
    """

    def __init__(self, on_enter: Callable[[Stage], None] = lambda stage: None) -> None:
        self.seconds: dict[Stage, float] = {}
        self._spent_s = 0.0
        self._again: list[StageClock] = []
        self.stage: Stage | None = None
        self._on_enter = on_enter
        self._since = 0.0

    def enter(self, stage: Stage) -> None:
        self.leave()
        self.stage = stage
        self._on_enter(stage)
        self._since = time.perf_counter()

    def leave(self) -> None:
        """End the current stage; what happens until the next one belongs to none."""
        if self.stage is not None and self._since:
            elapsed = time.perf_counter() - self._since
            self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + elapsed
            self._spent_s += elapsed
        self._since = 0.0

    @property
    def spent_seconds(self) -> float:
        return self._spent_s + sum(clock.spent_seconds for clock in self._again)

    def again(self) -> StageClock:
        """A clock for a stage that is gone through a second time, to see whether it does the same.

        What it spends was spent in that stage, and is not part of how long the stage took.
        """
        clock = StageClock(self._on_enter)
        self._again.append(clock)
        return clock

    def credit(self, seconds: Mapping[Stage, float]) -> None:
        """State what stages took when an equal program went through them."""
        self.seconds.update(seconds)

    @contextmanager
    def during(self, stage: Stage) -> Iterator[None]:
        self.enter(stage)
        try:
            yield
        finally:
            self.leave()
