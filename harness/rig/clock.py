"""Which stage a cell is in, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from harness.rig.records import Stage


class StageClock:
    """Tells stages apart while code that knows nothing of them runs.

    ``enter`` ends the stage before it and starts another, so that a release's own function can be
    timed from a wrapper; after an exception ``stage`` is where it happened. Seconds of one stage
    add up over several visits.
    """

    def __init__(self, on_enter: Callable[[Stage], None] = lambda stage: None) -> None:
        self.seconds: dict[Stage, float] = {}
        self.spent_seconds = 0.0
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
            self.spent_seconds += elapsed
        self._since = 0.0

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
