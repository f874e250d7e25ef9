"""One worker process, spoken to in JSON lines."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from harness.base.errors import SurroundingsError
from harness.base.process import how_it_ended, kill_group, run
from harness.toolchain import PackageSite
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.wire.builders import EMULATED
from harness.wire.oracles import Symptom
from harness.wire.record_json import to_json
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import STAGE_FILE, Stage

#: Cuts a worker off from the network; `harness.rig.start` and the warm rig read it.
ISOLATED: Final = "INLINER_REGRESS_ISOLATED"
#: Names the socket of the process that workers are forked from; `harness.rig.start` reads it.
WARM_RIG: Final = "INLINER_REGRESS_WARM_RIG"
_LINE_LIMIT_BYTES: Final = 64 * 1024 * 1024
_STOP_WAIT_S: Final = 5.0
# One thread each: workers share the cores, sums keep their order of addition, and a process with a
# warm thread pool cannot be forked.
_ONE_THREAD: Final[Mapping[str, str]] = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


@functools.cache
def isolation_lacking() -> str:
    """Why workers cannot be cut off from the network here; empty where they can."""
    done = run(rig_command(sys.executable, "harness.rig.isolation"), timeout_s=60.0)
    return "" if done.code == 0 else done.last_words


def temporary_folder() -> TemporaryDirectory[str]:
    """A folder for one worker's temporary files, removed by whoever ends the worker.

    Releases cache timings and runtime data in the machine's temporary folder, under a lock. Workers
    would wait for each other there, and would use and change what the user's own programs have
    cached. A worker that is killed also leaves its files behind.
    """
    return TemporaryDirectory(prefix="harness-worker-", ignore_cleanup_errors=True)


def variables(seed: int) -> dict[str, str]:
    """The environment variables of every worker.

    Args:
        seed: the run's seed. It also decides the order in which Python iterates over sets of
            strings, so that another seed shows an inliner that depends on that order.
    """
    return {**os.environ, **_ONE_THREAD, "PYTHONHASHSEED": str(seed % 2**32)}


def environment(temporary: str, seed: int = 0) -> dict[str, str]:
    """The environment variables of a worker with this temporary folder."""
    return {**variables(seed), "TMPDIR": temporary}


@dataclass(frozen=True)
class Setup:
    """What a worker of either lane is started with."""

    python: str
    subjects: Sequence[SubjectSpec]
    seed: int
    log_folder: Path
    corpus_digest: str

    module: ClassVar[str] = "harness.rig.workers.lane"

    @property
    def forked(self) -> bool:
        """Whether its process may be a fork of one that has imported torch."""
        return True

    @property
    def is_foreign(self) -> bool:
        """Whether it runs code that no catalogue has a hash of, which gets no network."""
        return any(spec.kind.brought for spec in self.subjects)

    def message(self) -> dict[str, Any]:
        """The first message to the worker."""
        raise NotImplementedError

    @property
    def reads(self) -> set[Path]:
        """The files and folders that the message names and that the worker reads."""
        paths = {path for spec in self.subjects for path in (spec.wheel_path, spec.exporter_path)}
        return {Path(path) for path in paths if path is not None}


@dataclass(frozen=True)
class PackageSetup(Setup):
    """For a worker of the package or engine lane, which lives in one release's whole package.

    ``site`` is None for the package that is installed in the environment.
    """

    release: str
    site: PackageSite | None
    engines: Path  # keeps the engines that TensorRT built for a site
    corpus: Sequence[str] = ()
    executor: str = EMULATED
    device: str = "cpu"

    @property
    def forked(self) -> bool:
        return self.executor == EMULATED  # what runs real engines may start threads and drivers

    @property
    def reads(self) -> set[Path]:
        site = set() if self.site is None else {*self.site.folders}
        return site | _existing(self.corpus)

    def message(self) -> dict[str, Any]:
        return {
            "lane": Lane.PACKAGE,
            "site": None if self.site is None else str(self.site.folder),
            "subject": self.subjects[0].subject if self.subjects else self.release,
            "release": self.release,
            "builder": None if self.site is None else self.site.builder,
            "engines": str(self.engines),
            "corpus": list(self.corpus),
            "executor": self.executor,
            "device": self.device,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class WorkerSetup(Setup):
    """For a worker of the graph lane, which holds the inliners of all subjects."""

    library: Path
    corpus: Sequence[str] = ()
    share: bool = True

    @property
    def reads(self) -> set[Path]:
        return super().reads | {self.library} | _existing(self.corpus)

    def message(self) -> dict[str, Any]:
        return {
            "lane": Lane.GRAPH,
            "library": str(self.library),
            "seed": self.seed,
            "share": self.share,
            "corpus": list(self.corpus),
            "subjects": [to_json(subject) for subject in self.subjects],
        }


def _existing(places: Iterable[str]) -> set[Path]:
    """The files and folders among places of cases; the others are entry points."""
    return {Path(place) for place in places if Path(place).exists()}


class WorkerDied(Exception):
    """A worker ended before it had answered: its exit code, negative for a signal, and its stage.

    ``stage`` is empty where nobody knows more of it than the last event told.
    """

    def __init__(self, code: int | None, stage: str = "") -> None:
        how = "closed its output" if code is None else how_it_ended(code)
        super().__init__(f"worker {how}")
        self.code = code
        self.stage = stage


class WorkerTimeout(Exception):
    """A worker did not answer in time; for its ``stage`` see `WorkerDied`."""

    def __init__(self, stage: str = "") -> None:
        super().__init__()
        self.stage = stage


def how_cut_off(
    error: WorkerDied | WorkerTimeout, timeout_s: float, told: Stage
) -> tuple[Symptom, str, Stage]:
    """The symptom of a worker that ended or was silent, its words, and where it was then.

    Args:
        told: the stage that it told of last; the one that it wrote down may be later.
    """
    stage = Stage(error.stage) if error.stage in {stage.value for stage in Stage} else told
    if isinstance(error, WorkerTimeout):
        return Symptom.TIMEOUT, f"no end in {timeout_s:g} s", stage
    return Symptom.KILLED, str(error), stage


class WorkerLost(Exception):
    """A worker is gone with the machine that it ran on, which says nothing of what it did."""


class Worker(ABC):
    """A worker process, wherever it runs. A launcher starts it; end it with `stop` or `kill`."""

    #: Where to read why it did not start.
    log: str

    @abstractmethod
    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; a worker that is gone shows in `next_event`."""

    @abstractmethod
    async def next_event(self, timeout_s: float) -> dict[str, Any]:
        """The worker's next message.

        Raises:
            WorkerTimeout: none came in ``timeout_s``.
            WorkerDied: the process ended.
            WorkerLost: its machine is gone.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Let it end by closing its stdin; kill it if it does not."""

    @abstractmethod
    async def kill(self) -> None:
        """End its whole process group at once."""

    async def until_ready(self, timeout_s: float) -> dict[str, Any]:
        """Its event `ready`, which comes when it has imported what it needs.

        Raises:
            SurroundingsError: it ended before, or nothing came in ``timeout_s``; names its log.
            WorkerLost: as `next_event`.
        """
        event: dict[str, Any] = {}
        try:
            while event.get("event") != "ready":
                event = await self.next_event(timeout_s)
        except (WorkerDied, WorkerTimeout) as error:
            raise SurroundingsError(
                f"a worker did not start ({error or 'no answer'}); see {self.log}"
            ) from error
        return event


class LocalWorker(Worker):
    """A process of this machine and its two pipes."""

    def __init__(
        self, process: asyncio.subprocess.Process, temporary: TemporaryDirectory[str], log: Path
    ) -> None:
        self._process = process
        self._temporary = temporary
        self.log = str(log)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        message: Mapping[str, Any],
        *,
        seed: int,
        forked: bool,
        foreign: bool,
        log: Path,
    ) -> LocalWorker:
        """Start a process and send it its first message; one with foreign code has no network."""
        log.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_folder()
        own = environment(temporary.name, seed)
        if not forked:
            own.pop(WARM_RIG, None)
        if foreign and not isolation_lacking():
            own[ISOLATED] = "yes"
        with log.open("ab") as stream:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=PROJECT_ROOT,
                env=own,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stream,
                limit=_LINE_LIMIT_BYTES,
                # A group of its own: Ctrl-C reaches the controller, which ends its workers itself.
                start_new_session=True,
            )
        worker = cls(process, temporary, log)
        await worker.send(message)
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stage(self) -> str:
        """The stage that it entered last; empty where it could not write it down."""
        try:
            return (Path(self._temporary.name) / STAGE_FILE).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""

    async def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        # Not drained: a worker that reads nothing would be waited for without end, and one that is
        # dead is told by the next event, which has a time limit.
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def next_event(self, timeout_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            # Not `wait_for`: up to Python 3.11 it takes a line that comes as the task is cancelled
            # for its answer, and the task goes on.
            async with asyncio.timeout(timeout_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise WorkerTimeout(self.stage) from error
        if not line.endswith(b"\n"):
            raise WorkerDied(await self._code(), self.stage)
        event: dict[str, Any] = json.loads(line)
        return event

    async def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_WAIT_S)
        except TimeoutError:
            await self.kill()
        self._temporary.cleanup()

    async def kill(self) -> None:
        assert self._process.stdin is not None
        kill_group(self._process.pid)
        self._process.stdin.close()  # here, and not when the pipe is collected, in any code's midst
        await self._process.wait()
        self._temporary.cleanup()

    async def _code(self) -> int | None:
        try:
            return await asyncio.wait_for(self._process.wait(), _STOP_WAIT_S)
        except TimeoutError:
            return None
