"""One cell, from a split module to the verdicts on the program that came back from disk."""

from __future__ import annotations

import copy
import errno
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import run_torch_export
from harness.rig.inliners.protocol import Export, Inliner, Inlining
from harness.rig.oracles import completion, metadata, signature, structure, values, wiring
from harness.rig.oracles.finding import Finding, verdict_of
from harness.rig.oracles.reading import Unreadable
from harness.rig.prepare import PreparedCase
from harness.rig.records import (
    CellKey,
    CellRecord,
    CellState,
    Oracle,
    Route,
    Stage,
    Symptom,
    Verdict,
    not_applicable,
)
from harness.rig.sharing import Judged, Shared, module_identity, program_identity

_SHARED_STAGES = (Stage.SAVE, Stage.LOAD, Stage.RUN)
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass
class CellRun:
    """What a cell made, filled in as far as it got, and how it ended."""

    inlining: Inlining = field(default_factory=Inlining)
    exported: ExportedProgram | None = None
    reloaded: ExportedProgram | None = None
    results: values.Observed | None = None
    archive_bytes: int | None = None
    ended: Verdict = field(default_factory=completion.completed)
    callable: Any = None
    identity: str = ""
    known: Judged | None = None  # the results of an equal program, in place of its own


def run_cell(
    prepared: PreparedCase, inliner: Inliner, key: CellKey, clock: StageClock
) -> CellRecord:
    """Run one cell and judge it. An exception of an oracle is the harness's own and is raised."""
    route = Route(key.route)
    run = CellRun()
    run.inlining.export = _sharing_export(prepared.shared)
    # Outside of what is judged: a machine without a temporary folder is nobody's verdict.
    with tempfile.TemporaryDirectory(prefix="cell-") as folder:
        try:
            _drive(prepared, inliner, route, clock, run, Path(folder) / "program.pt2")
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _NO_ROOM:
                raise  # nor is a full disk
            clock.leave()
            run.ended = completion.ended_by(error, clock.stage or Stage.EXPORT)
    verdicts = tuple(_judge(prepared, route, run)) if run.known is None else run.known.verdicts
    if run.identity and run.known is None and prepared.shared is not None:
        prepared.shared.judged[run.identity] = Judged(
            verdicts,
            {stage: clock.seconds.get(stage, 0.0) for stage in _SHARED_STAGES},
            run.archive_bytes,
        )
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=verdicts,
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        archive_bytes=run.archive_bytes,
        engine_bytes=None if route is Route.PLAIN else prepared.engine_bytes,
        ended_at_unix_s=time.time(),
    )


def ended_before_routes(key: CellKey, error: BaseException, stage: Stage) -> CellRecord:
    """The record of a cell whose case could not be captured, split or compiled."""
    ended = completion.ended_by(error, stage)
    others = [
        not_applicable(oracle, f"not reached: ended at {stage}")
        for oracle in Oracle
        if oracle is not Oracle.COMPLETION
    ]
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=(ended, *others),
        measured_as=key.subject,
        ended_at_unix_s=time.time(),
    )


def _drive(
    prepared: PreparedCase,
    inliner: Inliner,
    route: Route,
    clock: StageClock,
    run: CellRun,
    archive: Path,
) -> None:
    captured = prepared.captured
    module = prepared.torch_only() if route is Route.PLAIN else prepared.split
    run.exported = inliner.produce(
        module,  # type: ignore[arg-type]  # the plain route exports a model, not a graph module
        route,
        captured.example,
        captured.program.dynamic_shapes,
        clock,
        run.inlining,
    )
    run.identity = _identity(prepared, route, run)
    known = prepared.shared.judged.get(run.identity) if prepared.shared else None
    if known is not None:
        run.known, run.archive_bytes = known, known.archive_bytes
        clock.seconds.update(known.seconds)
        return
    with clock.during(Stage.SAVE):
        torch.export.save(run.exported, archive)
    run.archive_bytes = archive.stat().st_size
    with clock.during(Stage.LOAD):
        run.reloaded = torch.export.load(archive)
    with _state_put_back(run.reloaded), clock.during(Stage.RUN):
        run.callable = run.reloaded.module()
        run.results = values.observe(run.callable, captured.calls)


def _sharing_export(shared: Shared | None) -> Export | None:
    """`torch.export.export`, once for all modules of one case that are equal."""
    if shared is None:
        return None
    exports = shared.exports

    def export(
        module: GraphModule, example: Inputs, dynamic_shapes: Any, clock: StageClock
    ) -> ExportedProgram:
        identity = module_identity(module)
        if identity in exports:
            program, seconds = exports[identity]
            clock.enter(Stage.EXPORT)
            clock.leave()
            clock.seconds[Stage.EXPORT] = seconds
            return program
        program = run_torch_export(module, example, dynamic_shapes, clock)
        exports[identity] = program, clock.seconds[Stage.EXPORT]
        return program

    return export


def _identity(prepared: PreparedCase, route: Route, run: CellRun) -> str:
    """Equal for cells of one case whose results must be equal; empty where nothing is shared."""
    inlined, exported = run.inlining.inlined, run.exported
    if prepared.shared is None or prepared.damaged or inlined is None or exported is None:
        return ""
    return f"{route} {module_identity(inlined)} {program_identity(exported)}"


@contextmanager
def _state_put_back(program: ExportedProgram) -> Iterator[None]:
    """Give a program its state back when its calls have written to it.

    The module that runs shares it, and the other oracles judge the program as it was loaded. The
    module cannot be copied instead: a copy has lost the hooks that check a call's inputs.
    """
    tensors = [*program.state_dict.values(), *program.constants.values()]
    kept = [(item, item.clone()) for item in tensors if isinstance(item, torch.Tensor)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copied in kept:
                tensor.copy_(copied)


def _judge(prepared: PreparedCase, route: Route, run: CellRun) -> Iterator[Verdict]:
    ended_at = run.ended.stage if run.ended.failed else None
    not_reached = f"not reached: ended at {ended_at}"

    def verdict(oracle: Oracle, symptom: Symptom, asked: bool, find: Findings) -> Verdict:
        found: list[Finding] = []
        try:
            found.extend(find())  # keeps what was found before it raised
        except Unreadable as error:
            if not found:
                return not_applicable(oracle, f"not readable: {error}")
        # What was found stands, however far the cell got; what found nothing has to have been
        # asked in full to be a pass.
        if found or asked:
            return verdict_of(oracle, symptom, found)
        return not_applicable(oracle, not_reached)

    done = run.results is not None
    yield verdict(
        Oracle.VALUES, Symptom.WRONG_VALUES, done, lambda: _value_findings(prepared, route, run)
    )
    yield verdict(
        Oracle.WIRING, Symptom.WRONG_WIRING, done, lambda: _wiring_findings(prepared, route, run)
    )
    yield run.ended
    yield verdict(
        Oracle.STRUCTURE,
        Symptom.WRONG_STRUCTURE,
        run.reloaded is not None,
        lambda: _structure_findings(prepared, route, run),
    )
    yield verdict(
        Oracle.SIGNATURE,
        Symptom.WRONG_SIGNATURE,
        done,
        lambda: _signature_findings(prepared, run),
    )
    yield verdict(
        Oracle.METADATA, Symptom.WRONG_METADATA, done, lambda: _metadata_findings(prepared, run)
    )


Findings = Callable[[], Iterator[Finding]]


def _value_findings(prepared: PreparedCase, route: Route, run: CellRun) -> Iterator[Finding]:
    if route is Route.PLAIN:
        if run.results is not None:
            tolerance = prepared.case.eager_tolerance or None
            yield from _differences(prepared.eager, run.results, Stage.RUN, "", tolerance)
        return
    yield from prepared.against_eager
    if run.results is None:
        return
    yield from _differences(prepared.reference, run.results, Stage.RUN, "")
    if run.inlining.inlined is None:
        return
    inlined = copy.deepcopy(run.inlining.inlined)  # running it may change state that is shared
    inlined.recompile()  # a transformed module still has the code of the split one
    try:
        results = values.observe(inlined, prepared.captured.calls)
    except Exception as error:  # noqa: BLE001 - the subject's module, and so its verdict
        kind = f"inlined module raises {type(error).__name__}"
        yield Finding(Stage.INLINE_FALLBACKS, kind, str(error).partition("\n")[0])
        return
    yield from _differences(prepared.reference, results, Stage.INLINE_FALLBACKS, "inlined module: ")


def _differences(
    expected: values.Observed,
    got: values.Observed,
    stage: Stage,
    whose: str,
    tolerance: float | None = None,
) -> Iterator[Finding]:
    found = expected.difference(got, tolerance)
    if found is not None:
        yield Finding(stage, f"{whose}{found.kind}", found.detail)


def _wiring_findings(prepared: PreparedCase, route: Route, run: CellRun) -> Iterator[Finding]:
    if route is Route.PLAIN:
        raise Unreadable("there is no split module to hold the model against")
    reader, expected, inputs = prepared.reader, prepared.reading, prepared.user_inputs
    inlined = run.inlining.inlined
    reached_clean = run.inlining.finished or run.ended.stage is Stage.CLEAN
    if inlined is not None and reached_clean:
        yield from wiring.check_inlined(reader, expected, inputs, inlined)
    for program, stage in _programs(run):
        yield from wiring.check_program(reader, expected, inputs, program, stage)


def _structure_findings(prepared: PreparedCase, route: Route, run: CellRun) -> Iterator[Finding]:
    inlined = run.inlining.inlined
    if inlined is not None and run.inlining.finished:
        yield from structure.check_inlined(prepared.split, inlined)
    for program, stage in _programs(run):
        yield from structure.check_program(program, stage)
    if prepared.damaged:
        yield Finding(Stage.INLINE_ENGINES, "the inliner changed the module it was given")


def _signature_findings(prepared: PreparedCase, run: CellRun) -> Iterator[Finding]:
    bounds = prepared.captured.program.bounds
    for program, stage in _programs(run):
        yield from signature.check_program(program, prepared.specs, bounds, stage)
    if run.results is not None and prepared.over is not None:
        yield from signature.check_refusal(run.callable, prepared.over)


def _metadata_findings(prepared: PreparedCase, run: CellRun) -> Iterator[Finding]:
    if run.results is None:
        return  # a graph that does not run computes nothing to hold its metadata against
    for program, stage in _programs(run):
        yield from metadata.check_program(program, prepared.captured.calls[1], stage)


def _programs(run: CellRun) -> Iterator[tuple[ExportedProgram, Stage]]:
    if run.exported is not None:
        yield run.exported, Stage.EXPORT
    if run.reloaded is not None:
        yield run.reloaded, Stage.LOAD
