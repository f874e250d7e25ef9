"""Captures, splits and compiles a case, which is expensive, once for all of its cells."""

from __future__ import annotations

import copy
import hashlib
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

from corpus.case import Case, Inputs, Mistake, sources_elsewhere
from harness.rig.capture.capture import CapturedProgram, capture, over_bound_inputs
from harness.rig.cell.copied_code import share_code_with_copies
from harness.rig.cell.sharing import Shared, graph_lines
from harness.rig.clock import StageClock
from harness.rig.engines.module import compile_engines, engine_children
from harness.rig.oracles.completion import first_line
from harness.rig.oracles.finding import Finding
from harness.rig.oracles.observing import content_digest, observe, observe_unchanged
from harness.rig.oracles.reading import GraphReader, Reading
from harness.rig.oracles.signature import expected_specs
from harness.rig.oracles.state import ExpectedState, of_model, of_split
from harness.rig.oracles.values import Observed, differences
from harness.rig.oracles.wiring import reference_reading
from harness.wire.vocabulary import Stage


@dataclass
class PreparedCase:
    """One case in one capture mode, and the references that every cell of it is judged by.

    ``split`` is shared, so a cell must not change it; ``fingerprint`` shows whether one did.
    ``steps`` is the number of its engines and fallbacks. ``reference`` holds the split module's own
    results, one per call, ``against_eager`` how they differ from the model's, and
    ``against_itself`` how a second run of the split module differs from the first.
    """

    captured: CapturedProgram
    split: GraphModule
    steps: int
    engine_bytes: int
    reference: Observed
    eager: Observed
    specs: tuple[pytree.TreeSpec, pytree.TreeSpec]
    reader: GraphReader
    reading: Reading
    user_inputs: int
    state: ExpectedState
    model_state: ExpectedState  # the state of the model, for the `plain` control
    over: Inputs | None
    fingerprint: str
    # The pytrees of the split module's inputs and outputs, if they differ from eager's.
    packed_otherwise: tuple[pytree.TreeSpec, pytree.TreeSpec] | None = None
    against_eager: list[Finding] = field(default_factory=list)
    against_itself: list[Finding] = field(default_factory=list)
    kernels_vary: bool = False  # its engines may take other kernels from call to call
    shared: Shared | None = None  # None: nothing is shared between cells
    carried_bytes: int = 0  # the size of the segments that travel behind real engines
    engines_matter: bool = False  # a program was seen to depend on its engines
    warnings: tuple[str, ...] = ()  # the release's warnings when it compiled
    damaged: bool = False  # a cell changed the split, so the case has to be prepared again

    @property
    def case(self) -> Case:
        return self.captured.case

    def look_for_damage(self) -> bool:
        """Whether a cell changed the split, which is also kept in ``damaged``."""
        self.damaged = fingerprint(self.split) != self.fingerprint
        return self.damaged

    def torch_only(self) -> torch.nn.Module:
        """The model without any engine, for the `plain` control."""
        return self.captured.eager


class NotPrepared(Exception):
    """A stage that comes before any inliner raised an exception."""

    def __init__(self, cause: Exception, stage: Stage) -> None:
        super().__init__(f"{stage}: {cause}")
        self.cause = cause
        self.stage = stage


class WrongSplit(Exception):
    """The graph lane's own split of a model does not compute what the model does."""


def prepare(case: Case, mode: str, seed: int, clock: StageClock) -> PreparedCase:
    """Capture, split and compile.

    Raises:
        NotPrepared: a stage raised an exception.
    """
    stage = Stage.CAPTURE
    try:
        with clock.during(stage):
            captured = capture(case, mode, seed)
        stage = Stage.SPLIT
        with clock.during(stage):
            split = captured.split()
        stage = Stage.COMPILE
        with clock.during(stage):
            engines = compile_engines(split)
            split.recompile()
        eager = observe(copy.deepcopy(captured.eager), captured.calls)
        engine_bytes = sum(len(engine.payload) for engine in engines.values())
        prepared = hold(captured, split, eager, engine_bytes)
        if prepared.against_eager:
            first = prepared.against_eager[0]
            raise WrongSplit(f"{first.kind}: {first.detail}")
        return prepared
    except Exception as error:
        raise NotPrepared(error, stage) from error


def hold(
    captured: CapturedProgram,
    split: GraphModule,
    eager: Observed,
    engine_bytes: int,
    *,
    ask_twice: bool = False,
    kernels_vary: bool = False,
) -> PreparedCase:
    """A compiled split module with the references that its cells are judged by.

    Args:
        ask_twice: run the split module twice, to see whether it agrees with itself. Programs are
            compared bit for bit only if it does. Emulated engines always do.
        kernels_vary: a module of sizes that vary has to agree within the case's tolerance alone,
            because its engines may take other kernels from call to call.

    Raises:
        Exception: the split module does not run, or cannot be read.
    """
    share_code_with_copies(split)
    reference = observe_unchanged(split, captured.calls)
    against_itself, tolerance = [], captured.case.eager_tolerance
    kernels_vary = kernels_vary and captured.program.bounds is not None
    if ask_twice:
        again = observe_unchanged(split, captured.calls)
        against_itself = _against("itself", reference, again, tolerance if kernels_vary else None)
    reader = GraphReader()
    reading, user_inputs = reference_reading(reader, split)
    specs = expected_specs(captured.example, eager.returned[0])
    packed = expected_specs(captured.example, reference.returned[0])
    return PreparedCase(
        captured=captured,
        split=split,
        steps=sum(name.startswith("_run_on_") for name, _ in split.named_children()),
        engine_bytes=engine_bytes,
        reference=reference,
        eager=eager,
        specs=specs,
        packed_otherwise=None if packed == specs else packed,
        reader=reader,
        reading=reading,
        user_inputs=user_inputs,
        state=of_split(split, reading, reader.digest),
        model_state=of_model(captured.eager, captured.exported, reader.digest),
        over=over_bound_inputs(captured),
        fingerprint=fingerprint(split),
        against_eager=_against("eager", eager, reference, tolerance),
        against_itself=against_itself,
        kernels_vary=kernels_vary,
    )


def _against(
    what: str, expected: Observed, got: Observed, tolerance: float | None = None
) -> list[Finding]:
    return [
        Finding(Stage.COMPILE, f"split module against {what}: {each.kind}", each.detail)
        for each in differences(expected, got, tolerance)
    ]


def fingerprint(split: GraphModule) -> str:
    """A digest that changes when a graph, its metadata, a child or a tensor is written to."""
    parts = list(graph_lines(split.graph))
    for name, child in split.named_children():
        parts.append(name)
        parts.extend(graph_lines(child.graph) if isinstance(child, GraphModule) else ["engine"])
    for name, tensor in [*split.named_parameters(), *split.named_buffers()]:
        # A write through `.data` changes the content only, and a write of equal values changes
        # the version only.
        parts.append(f"{name}: {content_digest(tensor)} version {tensor._version}")
    parts.extend(engine_children(split))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def refusal(case: Case, stage: Stage, error: BaseException) -> str:
    """The stage, the exception's name and first line, and the line of the case that raised it.

    What says itself whose model is wrong, and what to write instead, is all of the answer.
    """
    if isinstance(error, Mistake):
        return str(error)
    return f"{case.name} ends at {stage}, before any inliner: {raised_by(case, error)}"


def raised_by(case: Case, error: BaseException) -> str:
    """The exception's name, first line and what torch lists below it, and where it was raised."""
    said = first_line(error, lists=True)
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{what}{_place(case, error)}"


def own_line(error: BaseException) -> str:
    """The innermost line of a user's own corpus that an exception came through, in brackets.

    Empty where there is no such line. The project's own cases get none, so that their messages do
    not change with every edit of a file.
    """
    theirs = sources_elsewhere()
    for frame in reversed(traceback.extract_tb(error.__traceback__) if theirs else ()):
        file = Path(frame.filename).resolve()
        if file in theirs:
            return f" ({file.name}, line {frame.lineno}, in {frame.name})"
    return ""


def _place(case: Case, error: BaseException) -> str:
    """The innermost line of the traceback that lies beside the case, or below."""
    folder = Path(case.build.__code__.co_filename).resolve().parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(folder) and "site-packages" not in file.parts:
            return f" ({file}, line {frame.lineno}, in {frame.name})"
    return own_line(error)
