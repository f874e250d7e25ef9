"""What one worker does: the same calls over and over, each timed apart.

The cyclic garbage collector is off inside of a timed region and runs between two calls, where
nothing is timed: what a collection costs depends on what other calls left behind. What was there
before the fork is frozen out of its sight. Each region has a clock of its own, the one that cells
are timed with.
"""

from __future__ import annotations

import ctypes
import gc
import io
import mmap
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch.export import ExportedProgram

from harness.rig.bench.prepared import Measured
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner, Inlining
from harness.wire.bench_records import INLINE_PARTS, Arm, Metric
from harness.wire.bench_turns import wait_as_told
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

T = TypeVar("T")
_OVERHEAD_BATCHES, _OVERHEAD_SAMPLES = 20, 200


class TimedCalls:
    """What every worker has in common; ``timed_s`` is the time in all timed regions so far."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self._seconds: dict[str, float] = {}
        self.timed_s = 0.0

    def call(self) -> Mapping[str, float]:
        """One call of everything that is asked for: seconds by metric."""
        gc.collect()
        gc.disable()
        self._seconds = {}
        try:
            self._call()
        finally:
            gc.enable()
        return {str(metric): seconds for metric, seconds in self._seconds.items()}

    def _call(self) -> None:
        raise NotImplementedError

    def _timed(self, metric: str, action: Callable[[], T]) -> T:
        clock = StageClock()
        with clock.during(Stage.RUN):
            result = action()
            wait_as_told(self._arm, metric)
        self._seconds[metric] = clock.seconds[Stage.RUN]
        self.timed_s += clock.seconds[Stage.RUN]
        return result


class Worker(TimedCalls):
    """Measures one arm of the graph lane: an inliner's stages, and torch's save and load."""

    def __init__(
        self, measured: Measured, inliner: Inliner, arm: Arm, passes: Sequence[str], folder: Path
    ) -> None:
        super().__init__(arm)
        self._measured = measured
        self._inliner = inliner
        self._passes = frozenset(passes)
        self._archive = folder / "program.pt2"
        self._second = folder / "written.pt2"
        self._program: ExportedProgram | None = None

    def _call(self) -> None:
        program = self._program
        if program is None or "inline" in self._passes:
            program = self._program = self._produce()
        if "save" in self._passes:
            self._timed(Metric.SAVE, lambda: torch.export.save(program, self._archive))
        if "write" in self._passes:
            self._write_in_parts(program)
        if self._passes & {"load", "call"}:
            if not self._archive.exists():
                torch.export.save(program, self._archive)
            loaded = self._load()
            if "call" in self._passes:
                self._run(loaded)

    def _produce(self) -> ExportedProgram:
        clock = StageClock()
        route = Route(self._arm.route)
        program = self._inliner.produce(
            self._measured.split,
            route,
            self._measured.example,
            self._measured.shapes_given(route),
            clock,
            Inlining(),
        )
        self.timed_s += clock.spent_seconds
        if "inline" in self._passes:
            for stage, seconds in clock.seconds.items():
                self._seconds[Metric(stage)] = seconds
            parts = [self._seconds[part] for part in INLINE_PARTS if part in self._seconds]
            if parts:  # the control has none
                self._seconds[Metric.INLINE] = sum(parts)
        return program

    def _write_in_parts(self, program: ExportedProgram) -> None:
        buffer = io.BytesIO()
        self._timed(Metric.SERIALIZE, lambda: torch.export.save(program, buffer))
        # Unbuffered, so that `write` hands the bytes to the system and fsync has all of them.
        with self._second.open("wb", buffering=0) as stream:
            self._timed(Metric.WRITE, lambda: stream.write(buffer.getbuffer()))
            self._timed(Metric.FSYNC, lambda: os.fsync(stream.fileno()))

    def _load(self) -> ExportedProgram:
        drop_from_cache(self._archive)
        self._timed(Metric.LOAD_COLD, lambda: torch.export.load(self._archive))
        return self._timed(Metric.LOAD_WARM, lambda: torch.export.load(self._archive))

    def _run(self, loaded: ExportedProgram) -> None:
        example = self._measured.example
        module = self._timed(Metric.MODULE, loaded.module)
        with torch.no_grad():
            for metric in (Metric.FIRST_CALL, Metric.STEADY_CALL):
                self._timed(metric, lambda: module(*example.args, **dict(example.kwargs)))


def overhead_s() -> float:
    """Seconds that a timed region costs by itself: the mean of the quietest of some batches."""
    batches = []
    for _ in range(_OVERHEAD_BATCHES):
        began = time.perf_counter()
        for _ in range(_OVERHEAD_SAMPLES):
            clock = StageClock()
            with clock.during(Stage.RUN):
                pass
        batches.append((time.perf_counter() - began) / _OVERHEAD_SAMPLES)
    return min(batches)


def drop_from_cache(path: Path) -> None:
    """Have the system forget a file's pages, written back first: a dirty page cannot be dropped."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def resident_share(path: Path) -> float | None:
    """The part of a file that is in memory, 0 to 1; None where the system does not tell.

    A file system in memory keeps all of it, and a cold load from there is none.
    """
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    library = ctypes.CDLL(None, use_errno=True)
    if not size or not hasattr(library, "mincore"):
        return None
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        found = (ctypes.c_ubyte * pages)()
        start = ctypes.c_char.from_buffer(mapped)
        failed = library.mincore(
            ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), found
        )
        del start  # the map cannot be closed while a pointer into it lives
    return None if failed else sum(page & 1 for page in found) / pages
