"""A model given to `torch.compile(backend="torch_tensorrt")`: none is exported, none saved."""

from __future__ import annotations

import copy
import importlib
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch

from harness.rig.capture.capture import CannotAsk, CapturedProgram
from harness.rig.cell import judging
from harness.rig.cell.disk import is_full_disk
from harness.rig.cell.not_asked import not_asked
from harness.rig.cell.pipeline import unsupported
from harness.rig.cell.warned import recorded_warnings
from harness.rig.clock import StageClock
from harness.rig.engines.contract import UnsupportedSegment
from harness.rig.engines.module import is_engine_child
from harness.rig.oracles import completion
from harness.rig.oracles.finding import Finding
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed, differences
from harness.rig.package.compiling import settings_of
from harness.rig.package.executor import Executor
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.vocabulary import LEFT_TO_PYTORCH, CellState, Stage

BACKEND: Final = "torch_tensorrt"
#: torch's own backend that traces as a release does, and computes in eager: the control.
_CONTROL: Final = "aot_eager"
_AGAINST_EAGER: Final = "torch.compile against eager: "


def run_torch_compile_cell(
    captured: CapturedProgram,
    eager: Observed,
    key: CellKey,
    clock: StageClock,
    executor: Executor,
    *,
    engines: bool,
) -> CellRecord:
    """Compile a copy of the model as its user does, call it as eager was called, and judge it.

    Where that fails and torch's own backend fails on the model as well, no release is to blame, and
    the cell could not be asked.

    Args:
        eager: what the model does by itself, on the CPU.
        engines: whether engines have to run, as they do where `compile` makes some: what PyTorch
            alone computes is no answer.
    """
    program, tolerance = captured.program, captured.case.eager_tolerance
    if program.before_compile is not None or program.after_compile is not None:
        return unsupported(key, "its user changes the exported or the compiled program")
    settings = {**executor.settings, **settings_of(captured)}
    error: Exception | None = None
    found: list[Finding] = []
    with recorded_warnings() as told, _watched() as seen, clock.during(Stage.RUN):
        try:
            got = _called(captured, BACKEND, options=settings)
        except Exception as raised:
            if is_full_disk(raised):
                raise
            error = raised  # the release's, or torch's: told apart below
    if error is None:
        found = [
            Finding(Stage.RUN, f"{_AGAINST_EAGER}{each.kind}", each.detail)
            for each in differences(eager, got, tolerance)
        ]
    reason = _of_the_stand_ins(_cause(error), seen.swallowed)
    if not reason and (error is not None or found):
        reason = _fails_in_torch(captured, eager, tolerance)
    elif not reason:
        reason = _left_to_pytorch(seen, engines)
    if reason:
        return unsupported(key, reason)
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=judging.in_memory(found, _ended(error), told),
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        logged=tuple(told),
        ended_at_unix_s=time.time(),
    )


def _called(captured: CapturedProgram, backend: str, **keywords: Any) -> Observed:
    """What a copy of the model does that `torch.compile` was given. Raises whatever that raises."""
    model = copy.deepcopy(captured.eager).to(captured.device)
    torch._dynamo.reset()
    try:
        compiled: Any = torch.compile(model, backend=backend, **keywords)
        return observe(compiled, captured.calls)
    finally:
        torch._dynamo.reset()  # what it keeps of a model is never asked again


@dataclass
class _Seen:
    """What a release's backend did while it was called."""

    runs: int = 0  # of its engines
    swallowed: Exception | None = None


class _Swallowed(logging.Handler):
    """Keeps the exception after which the backend goes on with PyTorch, which it logs."""

    def __init__(self, seen: _Seen) -> None:
        super().__init__(logging.WARNING)
        self._seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception) and self._seen.swallowed is None:
            self._seen.swallowed = error


@contextmanager
def _watched() -> Iterator[_Seen]:
    """Count how often engines of the backend run, and keep what it swallows.

    A dispatch mode would see them run, too, but torch compiles nothing below one.
    """
    backends: Any = importlib.import_module("torch_tensorrt.dynamo.backend.backends")
    compile_module, seen = backends.compile_module, _Seen()

    def count(*_: Any) -> None:
        seen.runs += 1

    def counted(*args: Any, **kwargs: Any) -> Any:
        compiled = compile_module(*args, **kwargs)
        for each in compiled.modules():
            watch = each.register_forward_hook
            if is_engine_child(each):
                watch(count)
        return compiled

    handler = _Swallowed(seen)
    logger = logging.getLogger(backends.__name__)
    backends.compile_module = counted
    logger.addHandler(handler)
    try:
        yield seen
    finally:
        backends.compile_module = compile_module
        logger.removeHandler(handler)


def _of_the_stand_ins(*errors: Exception | None) -> str:
    """What an exception says of what stands in for compiled code; empty if of the release alone."""
    for each in filter(None, errors):
        if isinstance(each, CannotAsk | UnsupportedSegment):
            return str(each)
        if missing := not_asked(each):
            return missing
    return ""


def _left_to_pytorch(seen: _Seen, engines: bool) -> str:
    """Why a graph, or all, was left to PyTorch, where engines have to run; empty if none was."""
    if seen.swallowed is not None:
        return f"{LEFT_TO_PYTORCH}: {completion.normalise(seen.swallowed)}"
    return f"{LEFT_TO_PYTORCH}: the backend made none" if engines and not seen.runs else ""


def _fails_in_torch(captured: CapturedProgram, eager: Observed, tolerance: float) -> str:
    """How the model fails by torch's own backend, too; empty if it does not."""
    try:
        got = _called(captured, _CONTROL)
    except Exception as error:  # noqa: BLE001 - torch's, whose verdict this is not
        return f"torch.compile(backend={_CONTROL!r}) ends in {completion.normalise(error)}"
    found = differences(eager, got, tolerance)
    return f"torch.compile(backend={_CONTROL!r}) differs, too: {found[0].kind}" if found else ""


def _cause(error: Exception | None) -> Exception | None:
    """What a backend raised, which torch wraps in an exception of its own."""
    return getattr(error, "inner_exception", error)


def _ended(error: Exception | None) -> Verdict:
    cause = _cause(error)
    if cause is None:
        return completion.completed()
    stage = Stage.RUN if cause is error else Stage.COMPILE
    return completion.ended_by(cause, stage)
