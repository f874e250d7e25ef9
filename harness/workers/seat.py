"""On a node of a cluster: a place for one worker, which is started with another Python.

A node has these variables from whoever started the cluster there:

    INLINER_REGRESS_CACHE     its cache; by default ~/.cache/inliner-regress
    INLINER_REGRESS_PYTHON    a Python with torch; by default one is made by the controller's lock
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import SurroundingsError
from harness.base.process import run
from harness.toolchain.cache import ENGINES
from harness.toolchain.environment import rig_command
from harness.toolchain.locked_environment import locked_python
from harness.workers import node_facts
from harness.workers.parcels import Parcel, moved
from harness.workers.process import WARM_RIG, LocalWorker, WorkerDied, variables
from harness.workers.warm import warm_rig

CACHE: Final = "INLINER_REGRESS_CACHE"
PYTHON: Final = "INLINER_REGRESS_PYTHON"
_FOREVER_S: Final = 1e9
_FACTS_TIMEOUT_S: Final = 600.0
#: Ray sets these for its own processes; ours are to have what they have on any machine.
OF_RAY: Final = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "PYTHONBREAKPOINT", "PYTHONPATH")
_LOG_BYTES: Final = 64 * 1024


@dataclass(frozen=True)
class Warmth:
    """What `warm_rig` is told on a node."""

    seed: int
    more: tuple[str, ...]
    cases: bool


def python_and_cache(lock: str) -> tuple[str, Path]:
    """The Python with torch and the cache of this node, whose variables are its workers' now.

    Args:
        lock: what an environment is made of, where no variable names one.
    """
    for name in (WARM_RIG, *OF_RAY):
        os.environ.pop(name, None)
    cache = Path(os.environ.get(CACHE, "~/.cache/inliner-regress")).expanduser().absolute()
    named = os.environ.get(PYTHON)
    if not named and not lock:
        raise SurroundingsError(
            f"{socket.gethostname()}: no lock describes the controller's torch",
            f"name a Python that has it on each node, with {PYTHON}=FILE",
        )
    return named or locked_python(cache, lock), cache


def facts_of_node(lock: str, seed: int) -> dict[str, str]:
    """What decides the verdicts of this node's workers, beside what travels to it.

    Raises:
        SurroundingsError: it cannot be told.
    """
    python, cache = python_and_cache(lock)
    asked = rig_command(python, node_facts.__name__, str(cache), str(seed))
    done = run(asked, environment=variables(seed), timeout_s=_FACTS_TIMEOUT_S)
    if done.code != 0:
        raise SurroundingsError(f"{socket.gethostname()}: {done.last_words}")
    told: dict[str, str] = json.loads(done.printed)
    return told


class Seat:
    """On a node: room for one worker at a time, each a fork of a process that has torch."""

    def __init__(self, lock: str, warmth: Warmth | None) -> None:
        self._lock = lock
        self._warmth = warmth
        self._open_until = contextlib.ExitStack()
        self._worker: LocalWorker | None = None
        self._reader: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def open(self) -> None:
        """Make ready for workers."""
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        self._python, self._cache = python_and_cache(self._lock)
        self._folder = self._open_until.enter_context(
            tempfile.TemporaryDirectory(prefix="harness-seat-")
        )
        if self._warmth is not None:
            how = self._warmth
            self._open_until.enter_context(
                warm_rig(self._python, how.seed, how.more, cases=how.cases)
            )

    async def lacks(self, parcels: Sequence[Parcel]) -> list[Parcel]:
        """The parcels that have to travel here."""
        return await asyncio.to_thread(
            lambda: [each for each in parcels if each.found(self._cache) is None]
        )

    async def unpack(self, parcel: Parcel, pieces: Iterable[bytes]) -> None:
        """Put a parcel into the node's cache."""
        await asyncio.to_thread(parcel.unpack, pieces, self._cache)

    async def start(
        self,
        module: str,
        message: Mapping[str, Any],
        parcels: Sequence[Parcel],
        *,
        cache: Path,
        seed: int,
        forked: bool,
        foreign: bool,
    ) -> None:
        """Start a worker with this message, whose paths are those of the controller's machine.

        Args:
            cache: the controller's.
        """

        def here() -> dict[str, str]:
            made = {str(cache / ENGINES): str(self._cache / ENGINES)}
            return made | {str(each.source): str(each.found(self._cache)) for each in parcels}

        self._events = asyncio.Queue()
        self._log.unlink(missing_ok=True)
        self._worker = await LocalWorker.start(
            rig_command(self._python, module),
            moved(message, await asyncio.to_thread(here)),
            seed=seed,
            forked=forked,
            foreign=foreign,
            log=self._log,
        )
        self._reader = asyncio.create_task(self._read(self._worker))

    @property
    def _log(self) -> Path:
        return Path(self._folder) / "worker.log"

    async def _read(self, worker: LocalWorker) -> None:
        try:
            while True:
                event = await worker.next_event(_FOREVER_S)
                if event["event"] == "done":  # another node may have a process of that id
                    spent, host = event["spent"], socket.gethostname()
                    peaks = spent.get("peak_bytes", {})
                    spent["peak_bytes"] = {f"{host}:{pid}": peaks[pid] for pid in peaks}
                self._events.put_nowait(event)
        except WorkerDied as error:
            self._events.put_nowait({"event": "died", "code": error.code, "stage": error.stage})

    async def send(self, message: Mapping[str, Any]) -> None:
        assert self._worker is not None
        await self._worker.send(message)

    async def next_events(self, timeout_s: float) -> list[dict[str, Any]]:
        """What the worker told since it was asked last, or that it was silent all that time."""
        try:
            events = [await asyncio.wait_for(self._events.get(), timeout_s)]
        except TimeoutError:
            return [{"event": "silent", "stage": self._worker.stage if self._worker else ""}]
        while not self._events.empty():
            events.append(self._events.get_nowait())
        return events

    async def end(self, *, at_once: bool) -> bytes:
        """End the worker; returns the end of what it wrote to its log."""
        if self._worker is not None:
            await (self._worker.kill() if at_once else self._worker.stop())
        if self._reader is not None:
            self._reader.cancel()
        self._worker = self._reader = None
        return self._log.read_bytes()[-_LOG_BYTES:] if self._log.exists() else b""

    async def close(self) -> None:
        await self.end(at_once=True)
        self._open_until.close()
