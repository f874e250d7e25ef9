"""Workers on the nodes of a Ray cluster. This module and `ray_nodes` alone import ray.

Ray chooses the node of each worker and says which nodes are gone. On a node an actor in Ray's own
Python has a seat (`harness.workers.seat`), which starts the ordinary worker. What the worker reads
travels to the node once (`harness.workers.parcels`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import ray
from ray._private import worker as ray_driver
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from harness.base.errors import SurroundingsError
from harness.toolchain import Toolchain
from harness.workers.parcels import Parcel, own_sources, parcel_of
from harness.workers.process import (
    Setup,
    Worker,
    WorkerDied,
    WorkerLost,
    WorkerTimeout,
)
from harness.workers.ray_nodes import Nodes, differing, working
from harness.workers.seat import CACHE, OF_RAY, PYTHON, Seat, Warmth, facts_of_node

_START_TIMEOUT_S: Final = 300.0
#: To make an environment on a node, or to bring a package there, takes as long as its network.
_TRAVEL_TIMEOUT_S: Final = 3600.0
#: A node that answers nothing for so long beyond a worker's own time is taken for lost.
_SILENCE_S: Final = 60.0
#: So long after its node's end a seat may still answer.
_ENDING_S: Final = 2.0
_TOLD_EVERY_S: Final = 30.0
#: So long a run that no node works for waits for one.
_PATIENCE_S: Final = 1800.0
#: So often in a row a node may be lost while one worker starts.
_TRIES: Final = 10

T = TypeVar("T")


class _RaySeat(Seat):
    """A seat on the node that Ray chose for it."""

    def __init__(self, lock: str, warmth: Warmth | None) -> None:
        super().__init__(lock, warmth)
        self._raylet = os.getppid()

    async def has_its_node(self) -> bool:
        """Whether the process that is the node to Ray is still there."""
        return os.getppid() == self._raylet

    async def facts(self, seed: int) -> dict[str, str]:
        """What decides the verdicts of this node's workers."""
        return await asyncio.to_thread(facts_of_node, self._lock, seed)

    async def where(self) -> tuple[str, str]:
        """The names of the node that it was given a place on, for Ray and for people."""
        return ray.get_runtime_context().get_node_id(), socket.gethostname()

    async def take(self, parcel: Parcel, pieces: Sequence[Any]) -> None:
        """Put a parcel into the node's cache; ``pieces`` are in Ray's object store."""
        await self.unpack(parcel, map(ray.get, pieces))


_SEAT: Final = ray.remote(num_cpus=1, max_restarts=0)(_RaySeat)


class _RayWorker(Worker):
    """A worker on a node, by its seat."""

    def __init__(self, launcher: RayLauncher, seat: Any, log: Path) -> None:
        self._launcher = launcher
        self._seat = seat
        self._place = log
        self.log = str(log)
        self.events: deque[dict[str, Any]] = deque()

    async def send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(WorkerLost):  # it shows in `next_event`
            await _answer(self._seat.send.remote(message), _SILENCE_S)

    async def next_event(self, timeout_s: float) -> dict[str, Any]:
        try:
            if not self.events:
                asked = self._seat.next_events.remote(timeout_s)
                self.events.extend(await _answer(asked, timeout_s + _SILENCE_S))
            if self.events[0]["event"] == "silent":
                raise WorkerTimeout(self.events.popleft()["stage"])
            if self.events[0]["event"] == "died":
                await self.refuse_a_lost_node()
                raise WorkerDied(self.events[0]["code"], self.events[0]["stage"])
        except WorkerLost:
            self._launcher.tell_lost(self._seat)
            raise
        return self.events.popleft()

    async def refuse_a_lost_node(self) -> None:
        """Raise WorkerLost where a worker ended with its node, or did not start on it.

        Ray looks every second whether a node is there, and ends first the worker, then the seat.
        """
        await asyncio.sleep(_ENDING_S)
        if not await _answer(self._seat.has_its_node.remote(), _SILENCE_S):
            raise WorkerLost("its node was lost")

    async def stop(self) -> None:
        await self._end(at_once=False)

    async def kill(self) -> None:
        await self._end(at_once=True)

    async def _end(self, *, at_once: bool) -> None:
        try:
            written = await _answer(self._seat.end.remote(at_once=at_once), _SILENCE_S)
        except WorkerLost:
            self._launcher.tell_lost(self._seat)
            written = b""
        if written:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            with self._place.open("ab") as log:
                log.write(written)
        self._launcher.take_back(self._seat)


async def _answer(asked: Awaitable[T], timeout_s: float | None) -> T:
    """What an actor returns.

    Raises:
        WorkerLost: its node is gone, or does not answer.
        SurroundingsError: it raised this, or Ray does not work.
    """
    try:
        # Not `wait_for`: up to Python 3.11 it takes an answer for its end that comes as the task is
        # cancelled, and the task goes on.
        async with asyncio.timeout(timeout_s):
            return await asked
    except TimeoutError as error:
        raise WorkerLost(f"its node did not answer in {timeout_s:.0f} s") from error
    except RayActorError as error:
        raise WorkerLost("its node was lost") from error
    except RayTaskError as error:
        if isinstance(error.cause, SurroundingsError):
            raise SurroundingsError(str(error.cause)) from error
        raise
    except RayError as error:
        raise SurroundingsError(f"Ray: {error}") from error


@dataclass
class RayLauncher:
    """Starts workers on the nodes of a cluster; `joined` makes one.

    ``own`` says that the cluster is this machine alone, so that no other node ever comes.
    """

    toolchain: Toolchain
    own: bool = False
    nodes: Nodes = field(init=False)
    _idle: list[Any] = field(default_factory=list)
    _waiting: deque[asyncio.Future[Any]] = field(default_factory=deque)
    _sent: dict[Parcel, list[Any]] = field(default_factory=dict)
    _hosts: dict[Any, tuple[str, str]] = field(default_factory=dict)
    _warmth: Warmth | None = None
    _alone_since: float | None = None

    def __post_init__(self) -> None:
        self.nodes = Nodes(self.toolchain)

    @property
    def cpus(self) -> int:
        """How many workers the cluster has room for now."""
        return int(ray.cluster_resources().get("CPU", 0))

    @contextlib.contextmanager
    def warm(self, python: str, seed: int, more: Iterable[str], *, cases: bool) -> Iterator[None]:
        self._warmth = Warmth(seed, tuple(more), cases)
        try:
            yield
        finally:
            self._warmth = None
            self.close()

    def unlike(self, seed: int) -> str:
        return self.nodes.unlike(seed)

    async def start(self, setup: Setup, number: int) -> Worker:
        parcels = await asyncio.to_thread(self._parcels, setup)
        for _ in range(_TRIES):
            seat = self._idle.pop() if self._idle else await self._opened_or_freed()
            if seat is None:
                continue
            worker = _RayWorker(self, seat, setup.log_folder / f"worker-{number}.log")
            try:
                await self._send(seat, parcels)
                begun = seat.start.remote(
                    setup.module,
                    setup.message(),
                    parcels,
                    cache=self.toolchain.cache,
                    seed=setup.seed,
                    forked=setup.forked,
                    foreign=setup.is_foreign,
                )
                try:
                    await _answer(begun, _START_TIMEOUT_S)
                except RayTaskError:  # a node that ends removes the files that it starts from
                    await worker.refuse_a_lost_node()
                    raise
                ready = await worker.until_ready(_START_TIMEOUT_S)
            except WorkerLost:
                self.tell_lost(seat)
                self.drop(seat)
                continue
            except BaseException:
                await worker.kill()
                raise
            if await self._is_like(seat, ready.get("deciding", {})):
                worker.events.appendleft(ready)
                return worker
            self.drop(seat)
        raise SurroundingsError(f"{_TRIES} nodes in a row were lost while a worker was starting")

    async def _opened_or_freed(self) -> Any | None:
        """A new seat, or one that another worker left meanwhile; None if its node was lost."""
        chosen = _SEAT.options(label_selector=self.nodes.selector)
        seat = chosen.remote(self.nodes.lock, self._warmth)
        freed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        opened = asyncio.ensure_future(self._open(seat))
        self._waiting.append(freed)
        try:
            while not (freed.done() or opened.done()):
                first = asyncio.FIRST_COMPLETED
                await asyncio.wait({freed, opened}, timeout=_TOLD_EVERY_S, return_when=first)
                if freed is self._waiting[0] and not (freed.done() or opened.done()):
                    self._refuse_to_wait_in_vain()
            if freed.done():
                return freed.result()
            opened.result()
        except WorkerLost:
            self.tell_lost(seat)
            return None
        except BaseException:
            if freed.done():
                self._idle.append(freed.result())
            raise
        finally:
            self._waiting.remove(freed)
            failed = opened.done() and opened.exception() is not None
            if failed or freed.done() or not opened.done():
                opened.cancel()
                self.drop(seat)
        return seat

    async def _open(self, seat: Any) -> None:
        """Wait for a place on a node, and make ready for workers there."""
        # `_refuse_to_wait_in_vain` bounds this wait, by what the whole run does meanwhile.
        self._hosts[seat] = await _answer(seat.where.remote(), None)
        self._alone_since = None
        await _answer(seat.open.remote(), _TRAVEL_TIMEOUT_S)

    def _refuse_to_wait_in_vain(self) -> None:
        """Tell that there is no node; raise SurroundingsError where none can be used, or comes."""
        nodes = working()
        if nodes and all(node["NodeID"] in self.nodes.left_out for node in nodes):
            raise SurroundingsError(
                f"no node of the cluster can be used: {'; '.join(self.nodes.left_out.values())}",
                "give its nodes the controller's environment",
            )
        if self._hosts:
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        why = "no node with a free processor" if nodes else "no node with a processor"
        if (self.own and not nodes) or now - self._alone_since > _PATIENCE_S:
            raise SurroundingsError(
                f"the cluster has {why}", "the same command with --resume goes on when it has one"
            )
        self.toolchain.notify(f"the cluster has {why}; waiting for one")

    def _parcels(self, setup: Setup) -> list[Parcel]:
        return [parcel_of(path, self.toolchain.cache) for path in sorted(setup.reads)]

    async def _send(self, seat: Any, parcels: Sequence[Parcel]) -> None:
        for parcel in await _answer(seat.lacks.remote(parcels), _START_TIMEOUT_S):
            if parcel not in self._sent:
                self._sent[parcel] = await asyncio.to_thread(_put, parcel)
            await _answer(seat.take.remote(parcel, self._sent[parcel]), _TRAVEL_TIMEOUT_S)

    async def _is_like(self, seat: Any, deciding: Mapping[str, str]) -> bool:
        """Whether a node judges as the controller's Python would; if not, that is told."""
        node, host = self._hosts[seat]
        unlike = differing(host, deciding, self.toolchain.python_env().deciding)
        if not unlike and (seed := self.nodes.keeps_for) is not None:
            facts = await _answer(seat.facts.remote(seed), _TRAVEL_TIMEOUT_S)
            unlike = differing(host, facts, self.nodes.own)
        if unlike and node not in self.nodes.left_out:
            self.nodes.left_out[node] = unlike
            self.toolchain.notify(f"a node is left out: {unlike}")
        return not unlike

    def tell_lost(self, seat: Any) -> None:
        """Tell once that the node of a seat is gone; of one that has no place yet, Ray tells."""
        _, host = self._hosts.pop(seat, ("", ""))
        if host:
            self.toolchain.notify(f"a node was lost, {host}: what it had not ended is asked again")

    def take_back(self, seat: Any) -> None:
        """Keep a seat for the next worker, or give it to one that waits; not on a lost node."""
        if seat not in self._hosts:
            self.drop(seat)
            return
        waiting = next((each for each in self._waiting if not each.done()), None)
        if waiting is None:
            self._idle.append(seat)
        else:
            waiting.set_result(seat)

    def drop(self, seat: Any) -> None:
        """Give a seat's processor back to Ray."""
        self._hosts.pop(seat, None)
        ray.kill(seat)

    def close(self) -> None:
        """Give back all processors."""
        leaving = [seat.close.remote() for seat in self._idle]
        with contextlib.suppress(RayError, GetTimeoutError):
            ray.get(leaving, timeout=_SILENCE_S)
        for seat in [*self._idle]:
            self.drop(seat)
        self._idle.clear()


@contextlib.contextmanager
def joined(address: str, toolchain: Toolchain) -> Iterator[RayLauncher]:
    """A launcher on the cluster with this address, or on one of this machine that ends with it.

    Raises:
        SurroundingsError: there is no such cluster.
    """
    with tempfile.TemporaryDirectory(prefix="harness-sources-") as folder:
        sources = own_sources(Path(folder))
        how: dict[str, Any] = {"address": address or "local"}
        environment: dict[str, Any] = {"working_dir": str(sources)}
        if not address:
            environment["env_vars"] = {CACHE: str(toolchain.cache), PYTHON: toolchain.python}
            how["include_dashboard"] = False
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of a run
        os.environ.setdefault("RAY_worker_niceness", "0")  # workers run as those of this machine do
        ray_driver.print_to_stdstream = _on_stderr
        own = {name: os.environ[name] for name in OF_RAY if name in os.environ}
        try:
            ray.init(runtime_env=environment, log_to_driver=False, logging_level="ERROR", **how)
        except (ConnectionError, RayError, ValueError) as error:
            raise SurroundingsError(f"Ray: {error}") from error
        finally:
            for name in OF_RAY:
                os.environ.pop(name, None)
            os.environ.update(own)
        launcher = RayLauncher(toolchain, own=not address)
        try:
            yield launcher
        finally:
            launcher.close()
            ray.shutdown()


def _put(parcel: Parcel) -> list[Any]:
    """The pieces of a parcel in Ray's object store, for as long as the list lives."""
    return [ray.put(piece) for piece in parcel.chunks()]


_print: Final = ray_driver.print_to_stdstream


def _on_stderr(data: Mapping[str, Any], ignore_prefix: bool) -> None:
    """What Ray says of nodes that die; it would say that on stdout, amid a command's answer."""
    _print({**data, "is_err": True}, ignore_prefix)
