"""Runs one cell: from a split module to the verdicts on the program that came back from disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Mistake
from harness.rig.capture.capture import CannotAsk
from harness.rig.cell import judging
from harness.rig.cell.disk import RoundTrip, is_full_disk
from harness.rig.cell.harm import DAMAGED
from harness.rig.cell.not_asked import not_asked
from harness.rig.cell.prepare import PreparedCase, own_line
from harness.rig.cell.sending import asked_of, ended_by, judge_program
from harness.rig.cell.sharing import (
    Exported,
    Judged,
    Shared,
    computation_identity,
    identity_of,
    module_lines,
    program_identity,
    program_lines,
    take_made,
)
from harness.rig.cell.warned import recorded_warnings
from harness.rig.clock import StageClock
from harness.rig.copying import copy_of
from harness.rig.engines.contract import UnsupportedSegment
from harness.rig.inliners.passes import run_torch_export
from harness.rig.inliners.protocol import (
    Export,
    Given,
    Inlined,
    Inliner,
    Inlining,
    InliningAlone,
    OwnExport,
    Transformed,
)
from harness.rig.oracles import completion
from harness.rig.oracles.determinism import Lines, check_own_export
from harness.rig.oracles.finding import Answer, Answers, Finding
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord, completion_alone
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import ENDS_AT, NOT_COMPILED, CellState, Stage

_DAMAGED = Finding(Stage.INLINE_ENGINES, DAMAGED)


def run_cell(
    prepared: PreparedCase,
    inliner: Inliner,
    key: CellKey,
    clock: StageClock,
    like: str = "",
) -> CellRecord:
    """Run one cell and judge it.

    Args:
        like: the ``program`` of a cell that was judged already. If this cell makes the same one,
            its record has no verdicts: they are that cell's.

    Raises:
        Exception: an oracle raised, which is a fault of the harness; or the disk is full.
    """
    try:
        return _run_and_judge(prepared, inliner, key, clock, like)
    except CannotAsk as error:
        prepared.look_for_damage()
        return ended_before_routes(key, error, clock.stage or Stage.EXPORT)


def _run_and_judge(
    prepared: PreparedCase, inliner: Inliner, key: CellKey, clock: StageClock, like: str
) -> CellRecord:
    route = key.route
    made = prepared.shared.made if prepared.shared is not None else {}
    inlining = Inlining(export=_sharing_export(prepared.shared), made=made.get(inliner.name))
    module = prepared.torch_only() if route is Route.PLAIN else prepared.split
    captured = prepared.captured
    answers: list[Answers] = []
    told: list[str] = []
    program = ""
    try:
        with recorded_warnings() as told:
            exported = _exported_at_capture(prepared, route, clock) or inliner.produce(
                module,  # type: ignore[arg-type]  # the plain route exports a model, no graph module
                route,
                captured.given_to_save,
                captured.shapes_given(route),
                clock,
                inlining,
            )
            if inlining.own_export is not None:  # its program is the one that is judged
                parts, exported = exported, _own_program(inlining.own_export, clock)
                answers.append(_about_own_program(parts, exported))
    except Exception as error:
        if is_full_disk(error):
            raise  # a full disk is nobody's verdict
        take_made(made, inliner.name, inlining, told)
        ended = ended_by(error, clock)
        prepared.look_for_damage()
        about_program = judging.about_program(prepared, route, RoundTrip())
        judged = Judged(about_program, ended, Stage.EXPORT)
    else:
        take_made(made, inliner.name, inlining, told)
        back = RoundTrip(exported, inlining.come_back)
        shared = not prepared.look_for_damage() and prepared.shared is not None
        asked = asked_of(inliner, route, prepared) if shared else ""
        identity = f"{asked} {program_identity(exported)}" if shared else ""
        if shared and inlining.inlined is not None and inlining.finished:
            lines = module_lines(inlining.inlined)
            program = identity_of([identity, *lines, *told])
            if program == like and _is_sound(prepared, inliner, route, lines, clock, answers):
                return _judged_already(prepared, key, clock, program, told)
        judged = judge_program(prepared, asked, identity, route, back, clock)
    answers[:0] = judged.answers
    if inlining.inlined is not None:
        # An unfinished module is never shared, so nothing has to identify it.
        lines = module_lines(inlining.inlined) if inlining.finished else []
        answers.insert(0, _about_inlined(prepared, route, inlining, judged, lines))
        if inlining.finished and not prepared.damaged:
            answers.append(_about_transform(prepared, inliner, route, lines, clock))
    if prepared.damaged:
        answers.append({Oracle.STRUCTURE: Answer((_DAMAGED,))})
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=judging.verdicts(answers, judged.ended, judged.reached, told),
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        archive_bytes=judged.archive_bytes,
        engine_bytes=None if route is Route.PLAIN else prepared.engine_bytes,
        steps=None if route is Route.PLAIN else prepared.steps,
        logged=tuple(told),
        ended_at_unix_s=time.time(),
        program="" if prepared.damaged else program,
    )


def _exported_at_capture(
    prepared: PreparedCase, route: Route, clock: StageClock
) -> ExportedProgram | None:
    """A copy of the model's own program, where the control would make the same call once more."""
    captured = prepared.captured
    if route is not Route.PLAIN or prepared.shared is None or captured.export_s is None:
        return None
    clock.enter(Stage.EXPORT)
    clock.leave()
    clock.credit({Stage.EXPORT: captured.export_s})
    assert captured.exported is not None
    return copy_of(captured.exported)


def _is_sound(
    prepared: PreparedCase,
    inliner: Inliner,
    route: Route,
    lines: Lines,
    clock: StageClock,
    answers: Sequence[Answers],
) -> bool:
    """Whether nothing is to be said of how a program was made, so that its verdicts are all."""
    made = [*answers, _about_transform(prepared, inliner, route, lines, clock)]
    found = (answer for each in made for answer in each.values())
    return not prepared.look_for_damage() and not any(
        answer.findings or answer.unreadable for answer in found
    )


def _judged_already(
    prepared: PreparedCase, key: CellKey, clock: StageClock, program: str, told: Sequence[str]
) -> CellRecord:
    """The record of a cell whose verdicts are those of another cell with the same program."""
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        steps=prepared.steps,
        logged=tuple(told),
        ended_at_unix_s=time.time(),
        program=program,
    )


def unsupported(key: CellKey, reason: str) -> CellRecord:
    """The record of a cell that could not be asked."""
    return CellRecord(
        key=key,
        state=CellState.UNSUPPORTED,
        reason=reason,
        measured_as=key.subject,
        ended_at_unix_s=time.time(),
    )


def ended_before_routes(key: CellKey, error: BaseException, stage: Stage) -> CellRecord:
    """The record of a cell whose case could not be captured, split or compiled.

    A case that cannot be captured or split, and a segment for which no engine can be emulated, are
    unsupported for every subject and route. Any other failure of a package to compile a case is a
    verdict on the route `compile`; the routes that save the module are not asked.
    """
    missing = str(error) if isinstance(error, CannotAsk) else not_asked(error)
    if missing is not None:
        return unsupported(key, missing)
    of_case = key.lane == Lane.GRAPH or isinstance(error, UnsupportedSegment)
    if of_case or stage is not Stage.COMPILE:
        # What a person has to mend is told whole: ops that could be meant, sizes that do not fit.
        most = None if isinstance(error, Mistake) else completion.MAX_MESSAGE
        said = f"{completion.normalise(error, most, lists=True)}{own_line(error)}"
        return unsupported(key, f"{ENDS_AT}{stage}: {said}")
    if key.route is not Route.COMPILE:
        return unsupported(key, f"{NOT_COMPILED} ends in {completion.normalise(error)}")
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=completion_alone(completion.ended_by(error, stage)),
        measured_as=key.subject,
        ended_at_unix_s=time.time(),
    )


def inline_again(
    inliner: Inliner, prepared: PreparedCase, route: Route, clock: StageClock
) -> GraphModule:
    """The module that an inliner makes of the split. Nothing is exported.

    The next cell that would make the very same call takes what was made here.
    """
    inlining = InliningAlone()
    captured = prepared.captured
    shapes = captured.shapes_given(route)
    with recorded_warnings() as told, suppress(Inlined):
        inliner.produce(prepared.split, route, captured.given_to_save, shapes, clock, inlining)
    assert inlining.inlined is not None
    if prepared.shared is not None and inlining.returned is not None:
        made = Transformed(inlining.arguments, inlining.returned, clock.seconds, told)
        prepared.shared.made[inliner.name] = made
    return inlining.inlined


def _about_inlined(
    prepared: PreparedCase,
    route: Route,
    inlining: Inlining,
    judged: Judged,
    lines: Lines,
) -> Answers:
    inlined = inlining.inlined
    assert inlined is not None
    ran = judged.reached is Stage.RUN and not route.row.crosses  # a placeholder cannot run
    reached = inlining.reached(judged.ended, ran=ran)

    def ask() -> Answers:
        return judging.about_inlined(prepared, inlined, reached)

    shared = None if prepared.damaged else prepared.shared
    if shared is None or not lines:
        return ask()
    identity = f"{reached} {identity_of(lines)}"
    if identity not in shared.inlined:
        shared.inlined[identity] = ask()
    return shared.inlined[identity]


def _own_program(export: OwnExport, clock: StageClock) -> ExportedProgram:
    with clock.again().during(Stage.EXPORT):
        program = export()
    if not isinstance(program, ExportedProgram):
        raise TypeError(f"export() returns a {type(program).__name__}, no ExportedProgram")
    return program


def _about_own_program(parts: ExportedProgram, own: ExportedProgram) -> Answers:
    found = check_own_export(program_lines(parts), program_lines(own))
    return {Oracle.STRUCTURE: Answer(tuple(found))}


def _about_transform(
    prepared: PreparedCase,
    inliner: Inliner,
    route: Route,
    lines: Lines,
    clock: StageClock,
) -> Answers:
    """Whether an inliner repeats itself; asked of every inliner, even of those with equal work."""

    def ask() -> Answers:
        def transform_again() -> GraphModule:
            return inline_again(inliner, prepared, route, clock.again())

        return judging.about_transform(lines, transform_again)

    if prepared.shared is None:
        return ask()
    known = prepared.shared.transforms
    identity = f"{inliner.name} {route.row.crosses}"
    if identity not in known:
        known[identity] = ask()
    return known[identity]


def _sharing_export(shared: Shared | None) -> Export | None:
    """An export that exports those modules of a case only once that compute the same."""
    if shared is None:
        return None

    def export(module: GraphModule, given: Given, clock: StageClock) -> ExportedProgram:
        # The inputs count, because on the route `cross` a release exports without any.
        inputs = f"{len(given.inputs.args)} {sorted(given.inputs.kwargs)}"
        identity = f"{inputs} {computation_identity(module)}"
        known = shared.exports.get(identity)
        if known is not None:
            clock.enter(Stage.EXPORT)
            clock.leave()
            clock.credit({Stage.EXPORT: known.seconds})
            return known.program
        program = run_torch_export(module, given, clock)
        shared.exports[identity] = Exported(program, clock.seconds[Stage.EXPORT])
        return program

    return export
