"""The process of one whole package, in which its cases are compiled and its workers start.

    python -m harness.rig.bench.station       started by harness.bench, never by hand

In:   {"site": FOLDER, "release": VERSION, "builder": NAME, "engines": FOLDER, "executor": NAME,
       "corpus": [PLACE...], "seed": N, "forks": BOOL}  once, then
      {"do": "prepare", "case": BenchCase}
      {"do": "start", "case": BenchCase, "arm": Arm, "passes": [...]}     a worker, which waits
      {"do": "call", "case": BenchCase, "arm": NAME}                      one call of it
      {"do": "end", "case": BenchCase, "arm": NAME}
Out:  {"event": "ready", ...}, then one answer each: {"event": "done", ...}, or
      {"event": "failed", "message": LINE, "traceback": TEXT, "mistake": BOOL}

A case is compiled in a fork of this process, and a worker is a fork of that: the package is
imported once, and no case's heap is another's. Where that is not wanted, all is done in this very
process, which then has one case and one worker in its life.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from corpus import elsewhere
from harness.rig.bench.answering import answer_jobs
from harness.rig.bench.blocks import one_call
from harness.rig.bench.forked import Child, ChildFailed, Serve
from harness.rig.bench.user import Compiled, UserWorker, compiled_case
from harness.rig.package.opening import open_package
from harness.wire.bench_records import arm_of, case_of


class Answering(Protocol):
    """Answers messages: a `Child`, or this process itself."""

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]: ...

    def end(self) -> None: ...


class InProcess:
    """Answers as a `Child` does, in this very process."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a message."""
        try:
            return dict(self._serve(message))
        except Exception as error:
            raise ChildFailed.by(error) from error

    def end(self) -> None:
        """There is nothing to wait for."""


class CaseServer:
    """Serves the jobs of one case; in a fork of the station, or in itself."""

    def __init__(
        self, package: ModuleType, seed: int, start_process: Callable[[Serve], Answering]
    ) -> None:
        self._package = package
        self._seed = seed
        self._start_process = start_process
        self._compiled: Compiled | None = None
        self._workers: dict[str, tuple[Answering, tempfile.TemporaryDirectory[str]]] = {}

    def serve(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message["do"] == "prepare":
            return self._prepare(message)
        if message["do"] == "start":
            return self._start(message)
        if message["do"] == "call":
            return self._workers[message["arm"]][0].ask({})
        worker, folder = self._workers.pop(message["arm"])
        worker.end()
        folder.cleanup()
        return {}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._compiled is None:
            case = case_of(message["case"])
            self._compiled = compiled_case(self._package, case.name, self._seed)
            gc.collect()
            gc.freeze()  # workers collect their own garbage alone, and touch no page of ours for it
        return {
            "steps": self._compiled.steps,
            "engine_bytes": self._compiled.engine_bytes,
            "seconds": self._compiled.seconds,
        }

    def _start(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._compiled is not None, "a case is prepared first"
        arm, folder = arm_of(message["arm"]), tempfile.TemporaryDirectory(prefix="bench-")
        worker = UserWorker(
            self._package, self._compiled, arm, message["passes"], Path(folder.name)
        )
        self._workers[arm.name] = self._start_process(lambda _: one_call(worker)), folder
        return {}


class Station:
    """Holds the package, and a server for each case that is in use."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self.load_errors: dict[str, str] = {}
        elsewhere.load(setup["corpus"])
        self._package = open_package(setup)
        self._seed = int(setup["seed"])
        self._start_process: Callable[[Serve], Answering] = (
            Child.fork if setup["forks"] else InProcess
        )
        self._servers: dict[str, Answering] = {}

    def serve(self, message: Mapping[str, Any]) -> dict[str, Any]:
        name = message["case"]["name"]
        if name not in self._servers:
            server = CaseServer(self._package, self._seed, self._start_process)
            self._servers[name] = self._start_process(server.serve)
        return self._servers[name].ask(message)


if __name__ == "__main__":
    answer_jobs(Station)
