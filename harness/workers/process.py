"""One worker process, spoken to in JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from harness.toolchain import PackageSite
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.record_json import to_json
from harness.wire.records import SubjectSpec
from harness.wire.vocabulary import EMULATED
from harness.workers.surroundings import environment, temporary_folder

_LINE_LIMIT_BYTES: Final = 64 * 1024 * 1024
_STOP_WAIT_S: Final = 5.0


@dataclass(frozen=True)
class Setup:
    """What a worker of either lane is started with."""

    python: str
    subjects: Sequence[SubjectSpec]
    seed: int
    log_folder: Path
    corpus_digest: str

    module: ClassVar[str]

    def message(self) -> dict[str, Any]:
        """What it is told first."""
        raise NotImplementedError


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

    module = "harness.rig.workers.package_lane"

    def message(self) -> dict[str, Any]:
        return {
            "site": None if self.site is None else str(self.site.folder),
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

    module = "harness.rig.workers.graph_lane"

    def message(self) -> dict[str, Any]:
        return {
            "library": str(self.library),
            "seed": self.seed,
            "share": self.share,
            "corpus": list(self.corpus),
            "subjects": [to_json(subject) for subject in self.subjects],
        }


class WorkerDied(Exception):
    """A worker ended before it had answered: its exit code, negative for a signal."""

    def __init__(self, code: int | None) -> None:
        super().__init__(self.describe(code))
        self.code = code

    @staticmethod
    def describe(code: int | None) -> str:
        if code is None:
            return "worker closed its output"
        if code >= 0:
            return f"worker exited with code {code}"
        with contextlib.suppress(ValueError):
            return f"worker killed by {signal.Signals(-code).name}"
        return f"worker killed by signal {-code}"


class WorkerTimeout(Exception):
    """A worker did not answer in time."""


class Worker:
    """A worker process and its two pipes. Make it with `start`, end it with `stop` or `kill`."""

    def __init__(
        self, process: asyncio.subprocess.Process, temporary: TemporaryDirectory[str]
    ) -> None:
        self._process = process
        self._temporary = temporary

    @classmethod
    async def start(cls, setup: Setup, number: int) -> Worker:
        """Start a process and send it its setup; `next_event` gives `ready` in the end."""
        setup.log_folder.mkdir(parents=True, exist_ok=True)
        temporary = temporary_folder()
        with (setup.log_folder / f"worker-{number}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                setup.python,
                "-m",
                setup.module,
                cwd=PROJECT_ROOT,
                env=environment(temporary.name, setup.seed),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=_LINE_LIMIT_BYTES,
                # A group of its own: Ctrl-C reaches the controller, which ends its workers itself.
                start_new_session=True,
            )
        worker = cls(process, temporary)
        await worker.send(setup.message())
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; a worker that is gone shows in `next_event`."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def next_event(self, timeout_s: float) -> dict[str, Any]:
        """The worker's next message.

        Raises:
            WorkerTimeout: none came in ``timeout_s``.
            WorkerDied: the process ended.
        """
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), timeout_s)
        except TimeoutError as error:
            raise WorkerTimeout from error
        if not line.endswith(b"\n"):
            raise WorkerDied(await self._code())
        event: dict[str, Any] = json.loads(line)
        return event

    async def stop(self) -> None:
        """Let it end by closing its stdin; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_WAIT_S)
        except TimeoutError:
            await self.kill()
        self._temporary.cleanup()

    async def kill(self) -> None:
        """End its whole process group at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._temporary.cleanup()

    async def _code(self) -> int | None:
        try:
            return await asyncio.wait_for(self._process.wait(), _STOP_WAIT_S)
        except TimeoutError:
            return None
