"""`torch_tensorrt.load` in a fresh process: one that has imported the package, and nothing more.

A process is forked before anything is compiled, and forks again for every archive: so each one is
loaded where no engine, no fake class and no cache of the process that saved it can help. It starts
in a few milliseconds, where importing the package takes seconds. Processes that have touched CUDA
cannot be forked; the engine lane spawns instead (`spawning`).
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import importlib
import inspect
import os
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.fx import GraphModule
from torch.utils._python_dispatch import TorchDispatchMode

from corpus.case import Inputs
from harness.rig.capture.capture import CannotAsk
from harness.rig.cell.warned import recorded_warnings
from harness.rig.channel import end_after
from harness.rig.engines.builder import build_segment_engine, load_segment
from harness.rig.oracles import completion
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import Verdict
from harness.wire.vocabulary import Outcome, Stage


@dataclass(frozen=True)
class Loaded:
    """What became of an archive in a fresh process. Times in seconds.

    ``ended`` is the verdict on loading and running it; ``results`` is None if it did not run;
    ``engine_runs`` counts how often any of its engines ran; ``warnings`` are the release's.
    ``files`` are the user's own that were asked for, as they came back; empty where the release's
    `load` takes no names of files, as up to 2.10.0.
    """

    ended: Verdict
    seconds: dict[Stage, float]
    results: Observed | None = None
    engine_runs: int = 0
    warnings: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unasked:
    """Why a fresh process could not even begin to load an archive."""

    why: str


class Loader(Protocol):
    """Loads archives, each in a process that has saved nothing."""

    def load(
        self,
        archive: Path,
        calls: Sequence[Inputs],
        *,
        tampered: bool = False,
        imports: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> Loaded:
        """Load an archive and run it on every call.

        Args:
            tampered: whether its engines are to return something else than they should: what a
                program returns has to change with that.
            imports: modules to import first, as whoever uses custom ops does.
            files: names of the user's own files that are asked for with the program.

        Raises:
            CannotAsk: these cannot be imported there.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Request:
    """What a fresh process is to load; its calls and its answer lie beside the archive."""

    archive: Path
    tampered: bool
    imports: Sequence[str]  # modules that the program needs, such as those of custom ops
    files: Sequence[str]  # the user's own, that are saved with the program
    path: Sequence[str]  # where modules are looked for, as in the process that asks

    @classmethod
    def put(
        cls,
        archive: Path,
        calls: Sequence[Inputs],
        tampered: bool,
        imports: Sequence[str],
        files: Sequence[str],
    ) -> Request:
        """Write the calls down, and take the answer to an earlier request away."""
        request = cls(archive, tampered, imports, files, sys.path)
        request.answer.unlink(missing_ok=True)
        torch.save(tuple(calls), request.calls)
        return request

    @property
    def calls(self) -> Path:
        return self.archive.with_suffix(".calls")

    @property
    def answer(self) -> Path:
        return self.archive.with_suffix(".answer")

    def answered(self) -> Loaded | None:
        """What the process wrote; None if it died.

        Raises:
            CannotAsk: it could not import what the program needs, or read the calls.
        """
        if not self.answer.exists():
            return None
        loaded: Loaded | Unasked = torch.load(self.answer, weights_only=False)
        if isinstance(loaded, Unasked):
            raise CannotAsk(f"a new process, which is to load the program, cannot: {loaded.why}")
        return loaded


class FreshLoader:
    """A `Loader` that forks. Make it before anything is compiled."""

    def __init__(self, package: types.ModuleType) -> None:
        self._ours, theirs = Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._ours.close()
            _serve(package, theirs)
        theirs.close()

    def load(
        self,
        archive: Path,
        calls: Sequence[Inputs],
        *,
        tampered: bool = False,
        imports: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> Loaded:
        request = Request.put(archive, calls, tampered, imports, files)
        self._ours.send(request)
        status = self._ours.recv()
        return request.answered() or Loaded(died(os.waitstatus_to_exitcode(status)), {})

    def close(self) -> None:
        self._ours.close()
        os.waitpid(self._pid, 0)


def _serve(package: types.ModuleType, requests: Connection) -> None:
    """Fork for every request until nobody asks any more; never returns."""
    _warm()
    gc.freeze()  # or every process that is forked copies the pages that a collection marks
    while True:
        try:
            request = requests.recv()
        except EOFError:
            os._exit(0)
        child = os.fork()
        if child == 0:
            end_after(functools.partial(answer, package, request))
        requests.send(os.waitpid(child, 0)[1])


def _warm() -> None:
    """Load and run one program, and one segment, that have nothing to do with any case.

    torch imports modules and fills tables when it loads its first program, for longer than loading
    most programs takes: so that is done once, and not in every process. The program is exported
    and saved by a process of its own, since this one is to have loaded only.
    """
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        archive = Path(folder) / "program.pt2"
        child = os.fork()
        if child == 0:
            end_after(functools.partial(_save_a_plain_program, archive))
        os.waitpid(child, 0)
        if not archive.exists():
            raise RuntimeError("torch cannot export and save a program of one addition")
        with WatchedEngines():
            observe(torch.export.load(archive).module(), [Inputs((torch.zeros(2, 3),))])
    load_segment(build_segment_engine("warm", _segment()).payload)(torch.zeros(2))


class _Plain(torch.nn.Module):
    bias: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.bias


def _save_a_plain_program(archive: Path) -> None:
    shapes = {"x": {0: torch.export.Dim("batch", min=2, max=8)}}
    program = torch.export.export(_Plain(), (torch.zeros(4, 3),), dynamic_shapes=shapes)
    torch.export.save(program, archive)


def _segment() -> GraphModule:
    graph = torch.fx.Graph()
    given = graph.placeholder("x")
    made = graph.call_function(torch.ops.aten.relu.default, (given,))
    graph.output(made)
    for node in (given, made):
        node.meta["val"] = torch.zeros(2)
    return GraphModule(torch.nn.Module(), graph)


def answer(package: types.ModuleType, request: Request) -> None:
    """Load and run, and write what became of it. A process does this once."""
    loaded: Loaded | Unasked
    try:
        sys.path[:] = request.path
        for name in request.imports:
            importlib.import_module(name)
        calls = torch.load(request.calls, weights_only=False)
    except Exception as error:  # noqa: BLE001 - a user's module, which may raise anything
        loaded = Unasked(completion.normalise(error))
    else:
        with recorded_warnings() as told:
            loaded = _load_and_run(package, request, calls)
        loaded = dataclasses.replace(loaded, warnings=tuple(told))
    made = request.answer.with_suffix(".part")
    torch.save(loaded, made)
    made.rename(request.answer)  # half an answer is none


def _load_and_run(package: types.ModuleType, request: Request, calls: Sequence[Inputs]) -> Loaded:
    seconds: dict[Stage, float] = {}
    stage = Stage.LOAD
    causes: list[Exception] = []
    torch.export.load = _remembering(torch.export.load, causes)  # this process loads once
    began = time.perf_counter()
    try:
        files = _files_to_fill(package, request.files)
        asked = {"extra_files": files} if files else {}
        program = package.load(str(request.archive), **asked)
        seconds[stage] = time.perf_counter() - began
        stage, began = Stage.RUN, time.perf_counter()
        with WatchedEngines(tampered=request.tampered) as engines:
            results = observe(program.module(), calls)
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()  # what fails on a GPU fails later, and takes its time there
        seconds[stage] = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001 - the package's, and so its verdict
        seconds[stage] = time.perf_counter() - began
        # `torch_tensorrt.load` says of every failure that the file is no valid program.
        cause = causes[0] if causes and stage is Stage.LOAD else error
        return Loaded(completion.ended_by(cause, stage), seconds)
    return Loaded(completion.completed(), seconds, results, engines.runs, files=files)


def _files_to_fill(package: types.ModuleType, names: Sequence[str]) -> dict[str, str]:
    """The user's files for `load` to fill in; none for a release whose `load` takes no names."""
    if names and "extra_files" in inspect.signature(package.load).parameters:
        return dict.fromkeys(names, "")
    return {}


def _remembering(load: Callable[..., Any], causes: list[Exception]) -> Callable[..., Any]:
    @functools.wraps(load)  # the package looks at its signature
    def remember(*args: Any, **kwargs: Any) -> Any:
        try:
            return load(*args, **kwargs)
        except Exception as error:
            causes.append(error)
            raise

    return remember


def died(code: int) -> Verdict:
    """The verdict on a program whose process left no answer; a signal's exit code is negative."""
    how = signal.Signals(-code).name if code < 0 else "no answer"
    message = f"fresh process ended by {how}"
    return Verdict(
        Oracle.COMPLETION, Outcome.FAILED, Symptom.KILLED, Stage.LOAD, message, harm=Harm.ERROR
    )


class WatchedEngines(TorchDispatchMode):
    """Counts the engines that run, in ``runs``; those in a branch of a `cond` count with it.

    It is a dispatch mode, so that it sees the real runtime's op as it sees the emulated one's.

    Args:
        tampered: let every engine return something else than it should.
    """

    supports_higher_order_operators = True

    def __init__(self, *, tampered: bool = False) -> None:
        super().__init__()
        self.runs = 0
        self._tampered = tampered

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        if func is not torch.ops.tensorrt.execute_engine.default:
            return returned
        self.runs += 1
        return [_something_else(output) for output in returned] if self._tampered else returned


def _something_else(output: torch.Tensor) -> torch.Tensor:
    """Another tensor of the same kind; not shifted evenly, which a softmax would undo."""
    if output.dtype is torch.bool:
        return ~output
    ramp = torch.linspace(1.0, 3.0, output.numel(), device=output.device)
    return output + ramp.reshape(output.shape).to(output.dtype)
