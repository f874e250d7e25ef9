"""The processes that measure, from the controller's side: JSON lines, with one answer to each.

The graph lane has one zygote. In the package lane each arm has its own process, which imports its
release's package, with the torch of its own Python if it has one, and forks the workers. Had both
arms of the baseline one process, each would find in the processor's caches what the other has just
read, and the candidate would not: the same code was then up to 2 % slower as the candidate. A
block's workers belong to several processes, so this module keeps their turns: at any moment one
worker has a message to answer, and the others wait for theirs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import random
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from harness.base.errors import SurroundingsError, UsageError
from harness.base.process import TookTooLong, how_it_ended, kill_group, last_line, run
from harness.toolchain.environment import PROJECT_ROOT, rig_command
from harness.wire.bench_records import IMPORTED, Arm, BenchCase, arm_of
from harness.wire.bench_turns import Call, take_turns
from harness.workers.process import PackageSetup, Setup, environment, temporary_folder

MODULE = "harness.rig.bench.zygote"
ANSWER_TIMEOUT_S = 900.0
_STOP_WAIT_S = 5.0


class JobFailed(Exception):
    """A job ended in an exception; holds its last line and the whole traceback."""

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


class Zygote:
    """A running zygote. ``ready`` is its first message, and ``start_s`` the seconds until that."""

    ready: dict[str, Any]
    start_s: float

    def __init__(
        self, setup: Setup, timeout_s: float = ANSWER_TIMEOUT_S, module: str = MODULE
    ) -> None:
        """Start it.

        Args:
            module: the module to start, if it is another one with the same protocol.
        """
        setup.log_folder.mkdir(parents=True, exist_ok=True)
        self._module = module
        self._log = setup.log_folder / "zygote.log"
        self._timeout_s = timeout_s
        self._pending = b""
        self._temporary = temporary_folder()
        self._began = time.perf_counter()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                rig_command(setup.python, module),
                cwd=PROJECT_ROOT,
                env=environment(self._temporary.name),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._send(setup.message())

    def until_ready(self) -> None:
        """Wait until it can be asked.

        Raises:
            SurroundingsError: it cannot start.
        """
        self.ready = self._receive()
        self.start_s = time.perf_counter() - self._began
        if self.ready["load_errors"]:
            errors = "; ".join(self.ready["load_errors"].values())
            raise SurroundingsError(f"not every subject can be loaded: {errors}")

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        """Have a job done. Raises as `answer`."""
        self.tell(do, case, **fields)
        return self.answer()

    def tell(self, do: str, case: BenchCase, **fields: Any) -> None:
        """Give it a job; its `answer` comes when it is done."""
        self._send({"do": do, "case": dataclasses.asdict(case), **fields})

    def answer(self) -> dict[str, Any]:
        """The answer to the job that it was given last.

        Raises:
            JobFailed: it raised; the zygote is there for the next one.
            UsageError: the case is wrong itself, whoever is measured.
        """
        answer = self._receive()
        if answer["event"] == "failed":
            if answer["mistake"]:
                raise UsageError(answer["message"])
            raise JobFailed(answer["message"], answer["traceback"])
        return answer

    def stop(self) -> None:
        """End it and everything that it forked."""
        kill_group(self._process.pid)
        self._process.wait(_STOP_WAIT_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._temporary.cleanup()

    def __enter__(self) -> Self:
        try:
            self.until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # that it is gone shows in the answer
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        end = time.monotonic() + self._timeout_s
        while b"\n" not in self._pending:
            readable, _, _ = select.select([descriptor], [], [], max(end - time.monotonic(), 0))
            if not readable:
                self.stop()
                raise SurroundingsError(
                    f"no worker answered in {self._timeout_s:.0f} s; see {self._log}"
                )
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise SurroundingsError(self._why_it_died())
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _why_it_died(self) -> str:
        code = self._process.wait(_STOP_WAIT_S)
        last = _last_line(self._log)
        return f"{self._module} {how_it_ended(code)}: {last}; the rest is in {self._log}"


class FreshZygotes:
    """Starts a new zygote for every job. ``ready`` and ``start_s`` are those of a first one, which
    does no job."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        with Zygote(setup) as first:
            self.ready, self.start_s = first.ready, first.start_s

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        with Zygote(self._setup) as zygote:
            if do != "alone":  # that prepares its case itself
                zygote.ask("prepare", case)
            return zygote.ask(do, case, **fields)


def ask_fresh(
    python: str, module: str, message: Mapping[str, Any], log: Path, timeout_s: float
) -> dict[str, Any]:
    """Start a process for one message and have it end with its answer.

    Raises:
        JobFailed: it ended without one, or took longer.
    """
    try:
        with log.open("ab") as stream, temporary_folder() as temporary:
            done = run(
                rig_command(python, module),
                folder=PROJECT_ROOT,
                environment=environment(temporary),
                stdin=json.dumps(message) + "\n",
                log=stream,
                timeout_s=timeout_s,
            )
    except TookTooLong as error:
        raise JobFailed(f"{module} did not end in {timeout_s:.0f} s", "") from error
    if done.code != 0:
        raise JobFailed(f"{module} {how_it_ended(done.code)}: {_last_line(log)}", f"see {log}")
    answer: dict[str, Any] = json.loads(done.printed)
    return answer


def _last_line(path: Path) -> str:
    return last_line(path.read_text(encoding="utf-8", errors="replace"))


IMPORTING = "harness.rig.bench.importing"


@dataclass(frozen=True)
class StationSetup(PackageSetup):
    """The setup of one arm's process. ``forks`` says whether its forks measure, or itself."""

    forks: bool = True

    module: ClassVar[str] = "harness.rig.bench.station"

    def message(self) -> dict[str, Any]:
        return {**super().message(), "forks": self.forks}


class WholePackages:
    """The running processes of the arms, by their names, which are asked as one zygote is.

    ``ready`` is the first process's message, with every process's message under "stations".

    Two processes with the same code differ by up to 1 % in what they take, each for as long as it
    lives, since their memory lies otherwise. So a cell's blocks are each made by new ones: a second
    block of a cell starts all of them anew, which no budget counts.
    """

    ready: dict[str, Any]
    start_s: float

    def __init__(self, setups: Mapping[str, StationSetup]) -> None:
        self._setups = setups
        self._running = ExitStack()
        self._stations: dict[str, Zygote] = {}
        self._prepared: set[BenchCase] = set()
        self._measured: set[tuple[BenchCase, str]] = set()

    def ask(self, do: str, case: BenchCase, **fields: Any) -> dict[str, Any]:
        """Have a job done: `prepare`, `block`, or `alone` in a process that is not forked.

        An answer's ``setup_s`` are the seconds that starting and preparing anew took.
        """
        if do == "prepare":
            return self._prepare(case)
        arms = [arm_of(arm) for arm in fields["arms"]]
        setup_s = 0.0
        if do == "block" and case != IMPORTED:
            began = time.perf_counter()
            self._renew_for(case, arms[0].route, random.Random(fields["seed"]))
            setup_s = time.perf_counter() - began
        with ExitStack() as ended:
            start = functools.partial(self._start, ended, case, fields["passes"], do == "alone")
            samples = take_turns(
                arms,
                start,
                random.Random(fields["seed"]),
                warm_up=fields["warm_up"],
                calls=fields["calls"],
            )
        measured = {name: dataclasses.asdict(arm) for name, arm in samples.items()}
        return {"arms": measured, "setup_s": setup_s}

    def start(self, drawn: random.Random) -> None:
        """Start the processes, beside each other and in an order that is ``drawn``.

        Raises:
            SurroundingsError: one cannot start.
        """
        self._stations = {}
        for name in drawn.sample(list(self._setups), len(self._setups)):
            setup = self._setups[name]
            self._stations[name] = Zygote(setup, module=setup.module)
            self._running.callback(self._stations[name].stop)
        for station in self._stations.values():
            station.until_ready()
        first = self._stations[next(iter(self._setups))]
        started = {
            name: {**one.ready, "start_s": one.start_s} for name, one in self._stations.items()
        }
        self.ready = {**first.ready, "stations": started}
        self.start_s = max(station.start_s for station in self._stations.values())

    def stop(self) -> None:
        """End the processes and everything that they forked."""
        self._running.close()
        self._prepared.clear()
        self._measured.clear()

    def _renew_for(self, case: BenchCase, route: str, drawn: random.Random) -> None:
        """Start all processes anew if they have measured this cell, and prepare its case."""
        if (case, route) in self._measured:
            self.stop()
            self.start(drawn)
        self._measured.add((case, route))
        if case not in self._prepared:
            self._prepare(case)

    def _prepare(self, case: BenchCase) -> dict[str, Any]:
        """Prepare a case for all arms at once; steps and bytes are those of the baseline.

        Raises:
            JobFailed, UsageError: as the first of them whose job failed.
        """
        for station in self._stations.values():
            station.tell("prepare", case)
        answers: dict[str, dict[str, Any]] = {}
        failed: list[JobFailed | UsageError] = []
        for name, station in self._stations.items():
            try:
                answers[name] = station.answer()
            except (JobFailed, UsageError) as error:  # the others' answers are to be read as well
                failed.append(error)
        if failed:
            raise failed[0]
        self._prepared.add(case)
        first = answers[next(iter(self._setups))]
        seconds = {
            f"{stage} {name}": spent
            for name, answer in answers.items()
            for stage, spent in answer["seconds"].items()
        }
        return {"steps": first["steps"], "engine_bytes": first["engine_bytes"], "seconds": seconds}

    def _start(
        self, ended: ExitStack, case: BenchCase, passes: list[str], alone: bool, arm: Arm
    ) -> Call:
        """Start a worker, which is ended with ``ended``; returns what makes a call of it."""
        setup = self._setups[arm.name]
        if case == IMPORTED:
            return functools.partial(_import, setup, arm)
        if alone:
            fresh = dataclasses.replace(setup, forks=False)
            station = ended.enter_context(Zygote(fresh, module=fresh.module))
            station.ask("prepare", case)
        else:
            station = self._stations[arm.name]
        station.ask("start", case, arm=dataclasses.asdict(arm), passes=passes)
        if not alone:
            ended.callback(station.ask, "end", case, arm=arm.name)
        return functools.partial(station.ask, "call", case, arm=arm.name)


def _import(setup: StationSetup, arm: Arm) -> dict[str, Any]:
    message = {"setup": setup.message(), "arm": dataclasses.asdict(arm)}
    log = setup.log_folder / "importing.log"
    return ask_fresh(setup.python, IMPORTING, message, log, ANSWER_TIMEOUT_S)


@contextmanager
def whole_packages(setups: Mapping[str, StationSetup]) -> Iterator[WholePackages]:
    """The processes of all arms, started."""
    packages = WholePackages(setups)
    try:
        packages.start(random.Random(0))
        yield packages
    finally:
        packages.stop()
