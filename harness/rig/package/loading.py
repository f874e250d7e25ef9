"""`torch_tensorrt.load` in a fresh process: one that has imported the package, and nothing more.

A process is forked before anything is compiled, and forks again for every archive: so each one is
loaded where no engine, no fake class and no cache of the process that saved it can help. It starts
in a few milliseconds, where importing the package takes seconds. Processes that have touched CUDA
cannot be forked; the engine lane spawns instead.
"""

from __future__ import annotations

import os
import signal
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import torch

from corpus.case import Inputs
from harness.rig.engines.emulated import run_counts, tampered_engines
from harness.rig.oracles import completion
from harness.rig.oracles.values import Observed, observe
from harness.rig.records import Oracle, Outcome, Stage, Symptom, Verdict


@dataclass(frozen=True)
class Loaded:
    """What became of an archive in a fresh process. Times in seconds.

    ``ended`` is the verdict on loading and running it; ``results`` is None if it did not run;
    ``engine_runs`` counts how often any of its engines ran.
    """

    ended: Verdict
    seconds: dict[Stage, float]
    results: Observed | None = None
    engine_runs: int = 0


@dataclass(frozen=True)
class _Request:
    archive: Path
    calls: Path
    answer: Path
    tampered: bool


class FreshLoader:
    """Loads archives, each in a process of its own. Make it before anything is compiled."""

    def __init__(self, package: types.ModuleType) -> None:
        self._ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            _serve(package, theirs)
        theirs.close()

    def load(self, archive: Path, calls: Sequence[Inputs], *, tampered: bool = False) -> Loaded:
        """Load an archive and run it on every call.

        Args:
            tampered: whether its engines are to return something else than they should: what a
                program returns has to change with that.
        """
        request = _Request(
            archive, archive.with_suffix(".calls"), archive.with_suffix(".answer"), tampered
        )
        request.answer.unlink(missing_ok=True)
        torch.save(tuple(calls), request.calls)
        self._ours.send(request)
        status = self._ours.recv()
        if request.answer.exists():
            loaded: Loaded = torch.load(request.answer, weights_only=False)
            return loaded
        return Loaded(_died(status), {})

    def close(self) -> None:
        self._ours.close()
        os.waitpid(self._pid, 0)


def _serve(package: types.ModuleType, requests: Connection) -> None:
    """Fork for every request until nobody asks any more; never returns."""
    while True:
        try:
            request = requests.recv()
        except EOFError:
            os._exit(0)
        child = os.fork()
        if child == 0:
            _answer(package, request)
        requests.send(os.waitpid(child, 0)[1])


def _answer(package: types.ModuleType, request: _Request) -> None:
    """Load and run, write what became of it, and end; never returns."""
    try:
        calls = torch.load(request.calls, weights_only=False)
        loaded = _load_and_run(package, request, calls)
        made = request.answer.with_suffix(".part")
        torch.save(loaded, made)
        made.rename(request.answer)  # half an answer is none
    finally:
        os._exit(0)


def _load_and_run(package: types.ModuleType, request: _Request, calls: Sequence[Inputs]) -> Loaded:
    seconds: dict[Stage, float] = {}
    stage = Stage.LOAD
    causes: list[Exception] = []
    torch.export.load = _remembering(torch.export.load, causes)  # this process loads once
    began = time.perf_counter()
    try:
        program = package.load(str(request.archive))
        seconds[stage] = time.perf_counter() - began
        stage, began = Stage.RUN, time.perf_counter()
        with tampered_engines(request.tampered):
            results = observe(program.module(), calls)
        seconds[stage] = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001 - the package's, and so its verdict
        seconds[stage] = time.perf_counter() - began
        # `torch_tensorrt.load` says of every failure that the file is no valid program.
        cause = causes[0] if causes and stage is Stage.LOAD else error
        return Loaded(completion.ended_by(cause, stage), seconds)
    return Loaded(completion.completed(), seconds, results, run_counts.total())


def _remembering(load: Callable[..., Any], causes: list[Exception]) -> Callable[..., Any]:
    def remember(*args: Any, **kwargs: Any) -> Any:
        try:
            return load(*args, **kwargs)
        except Exception as error:
            causes.append(error)
            raise

    return remember


def _died(status: int) -> Verdict:
    how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "no answer"
    message = f"fresh process ended by {how}"
    return Verdict(Oracle.COMPLETION, Outcome.FAILED, Symptom.KILLED, Stage.LOAD, message)
