"""The oracles' answers about a cell: about the inlined module, and about the exported program.

There is one set of answers for each, because each can be equal to what another inliner made, and
then its answers are reused (see `sharing`).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx._lazy_graph_module import _LazyGraphModule

from corpus.case import is_from_elsewhere
from harness.rig.cell.disk import RoundTrip, extra_files_of
from harness.rig.cell.harm import announced, harm_of
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import module_lines, program_lines
from harness.rig.oracles import (
    completion,
    determinism,
    metadata,
    signature,
    state,
    structure,
    unflatten,
    values,
    wiring,
)
from harness.rig.oracles.copied_back import return_no_more
from harness.rig.oracles.determinism import Lines
from harness.rig.oracles.finding import Answer, Answers, Finding, verdict_of
from harness.rig.oracles.observing import observe
from harness.rig.oracles.reading import Unreadable
from harness.wire.oracles import INLINED, Oracle
from harness.wire.records import Verdict, not_applicable
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

_DIM_HINT: Final = type(torch.export.Dim.AUTO)

Findings = Callable[[], Iterator[Finding]]


def about_inlined(prepared: PreparedCase, inlined: GraphModule, reached: Stage) -> Answers:
    """The oracles on the module that `transform` made.

    Args:
        reached: see `Inlining.reached`. From CLEAN on all wires are there. The values of a module
            are compared only if its program ran.
    """
    questions: dict[Oracle, Findings] = {}
    if reached is Stage.RUN:
        questions[Oracle.VALUES] = lambda: _inlined_values(prepared, inlined)
    if reached.at_least(Stage.CLEAN):
        questions[Oracle.WIRING] = lambda: wiring.check_inlined(
            prepared.reader, prepared.reading, prepared.user_inputs, inlined
        )
    if reached.at_least(Stage.EXPORT):
        questions[Oracle.STRUCTURE] = lambda: structure.check_inlined(prepared.split, inlined)
    return _ask(questions)


def about_transform(lines: Lines, transform_again: Callable[[], GraphModule]) -> Answers:
    """Whether a second `transform` makes the module that ``lines`` identify."""
    return _ask(
        {
            Oracle.DETERMINISM: lambda: determinism.check_transform(
                lines, lambda: module_lines(transform_again())
            )
        }
    )


def about_program(prepared: PreparedCase, route: Route, back: RoundTrip) -> tuple[Answers, Answers]:
    """The oracles on an exported program, before it was saved and after it was loaded."""
    ran = back.results is not None
    exported = about_exported(prepared, route, back.with_engines, ran=ran)
    return exported, about_loaded(prepared, route, back)


def about_exported(
    prepared: PreparedCase, route: Route, program: ExportedProgram | None, *, ran: bool
) -> Answers:
    """The oracles on a program before it was saved.

    Args:
        ran: whether it ran when it was back, without which its metadata are held against nothing.
    """
    return _ask(_of_program(prepared, route, program, Stage.EXPORT, ran=ran))


def about_loaded(prepared: PreparedCase, route: Route, back: RoundTrip) -> Answers:
    """The oracles on what was loaded, and on what it did when it ran."""
    ran = back.results is not None
    of_program = _of_program(prepared, route, back.reloaded, Stage.LOAD, ran=ran)

    def also(oracle: Oracle, *finds: Findings) -> Findings:
        return lambda: itertools.chain(of_program[oracle](), *(find() for find in finds))

    return _ask(
        {
            **of_program,
            Oracle.VALUES: lambda: _program_values(prepared, route, back),
            Oracle.SIGNATURE: also(
                Oracle.SIGNATURE,
                lambda: _refusal(prepared, route, back),
                lambda: _writes(back),
            ),
            Oracle.STATE: also(
                Oracle.STATE,
                lambda: _state_of_module(prepared, route, back),
                lambda: _extra_files(prepared, route, back),
            ),
            Oracle.UNFLATTEN: lambda: _unflatten(prepared, route, back),
            Oracle.DETERMINISM: lambda: _saves(back),
        }
    )


def _of_program(
    prepared: PreparedCase,
    route: Route,
    program: ExportedProgram | None,
    stage: Stage,
    *,
    ran: bool,
) -> dict[Oracle, Findings]:
    """What is asked of a program as well before it was saved as after it was loaded."""

    def asked(find: Callable[[ExportedProgram], Iterator[Finding]]) -> Findings:
        return lambda: find(program) if program is not None else iter(())

    def wiring_of(program: ExportedProgram) -> Iterator[Finding]:
        reader, expected, inputs = prepared.reader, prepared.reading, prepared.user_inputs
        return wiring.check_program(reader, expected, inputs, program, stage)

    def state_of(program: ExportedProgram) -> Iterator[Finding]:
        return state.check_program(_state(prepared, route), program, prepared.reader.digest, stage)

    def metadata_of(program: ExportedProgram) -> Iterator[Finding]:
        # Metadata are compared with what a run of the graph computes.
        calls = prepared.captured.calls
        return metadata.check_program(program, calls[1], stage) if ran else iter(())

    return {
        Oracle.WIRING: _no_split if route is Route.PLAIN else asked(wiring_of),
        Oracle.STRUCTURE: asked(lambda program: structure.check_program(program, stage)),
        Oracle.SIGNATURE: asked(lambda program: _signature(prepared, route, program, stage)),
        Oracle.STATE: asked(state_of),
        Oracle.METADATA: asked(metadata_of),
    }


def verdicts(
    answers: Sequence[Answers],
    ended: Verdict,
    reached: Stage,
    warnings: Sequence[str] = (),
) -> tuple[Verdict, ...]:
    """One verdict per oracle, made of all answers, in the order of severity.

    A finding stands however far the cell got. An oracle without findings passes only if it was
    asked about everything.

    Args:
        ended: the verdict on completion.
        reached: how far the program came, see `RoundTrip.reached`.
        warnings: the warnings of the release in this cell.
    """
    warned = announced(warnings)
    not_reached = f"not reached: ended at {ended.stage if ended.failed else None}"

    def verdict(oracle: Oracle) -> Verdict:
        if oracle is Oracle.COMPLETION:
            return ended
        given = [answer[oracle] for answer in answers if oracle in answer]
        found = [finding for answer in given for finding in answer.findings]
        unreadable = next((answer.unreadable for answer in given if answer.unreadable), "")
        if not found and unreadable:
            return not_applicable(oracle, f"not readable: {unreadable}")
        # A program's structure can be looked at as soon as the program is loaded.
        needed = Stage.LOAD if oracle is Oracle.STRUCTURE else Stage.RUN
        if found or reached.at_least(needed):
            harm = harm_of(oracle, found, reloaded=reached is Stage.RUN, warned=warned)
            return verdict_of(oracle, found, harm)
        return not_applicable(oracle, not_reached)

    return tuple(verdict(oracle) for oracle in Oracle)


def about_compiled(prepared: PreparedCase, warnings: Sequence[str] = ()) -> tuple[Verdict, ...]:
    """One verdict per oracle on the compiled module in memory, of which only values are judged."""
    found = [*prepared.against_eager, *prepared.against_itself]
    return in_memory(found, completion.completed(), warnings)


def in_memory(
    found: Sequence[Finding], ended: Verdict, warnings: Sequence[str] = ()
) -> tuple[Verdict, ...]:
    """One verdict per oracle on what nobody saved, of which completion and values are judged."""
    harm = harm_of(Oracle.VALUES, found, reloaded=True, warned=announced(warnings))
    values_verdict = (
        not_applicable(Oracle.VALUES, f"not reached: ended at {ended.stage}")
        if ended.failed
        else verdict_of(Oracle.VALUES, found, harm)
    )
    asked = {Oracle.VALUES: values_verdict, Oracle.COMPLETION: ended}
    return tuple(
        asked.get(oracle) or not_applicable(oracle, "asked of saved programs alone")
        for oracle in Oracle
    )


def _ask(questions: Mapping[Oracle, Findings]) -> Answers:
    answers = {}
    for oracle, find in questions.items():
        found: list[Finding] = []
        unreadable = ""
        try:
            found.extend(find())  # findings that came before an exception are kept
        except Unreadable as error:
            unreadable = str(error)
        answers[oracle] = Answer(tuple(found), unreadable)
    return answers


def _inlined_values(prepared: PreparedCase, inlined: GraphModule) -> Iterator[Finding]:
    module = copy.deepcopy(inlined)  # a run may write to state that other cells share
    return_no_more(module)
    module.recompile()  # a transformed module still has the code of the split one
    _LazyGraphModule.force_recompile(module)
    try:
        results = observe(module, prepared.captured.calls)
    except Exception as error:  # noqa: BLE001 - the subject's module, and so its verdict
        kind = f"inlined module raises {type(error).__name__}"
        yield Finding(Stage.INLINE_FALLBACKS, kind, str(error).partition("\n")[0])
        return
    for found in _from_reference(prepared, results, Stage.INLINE_FALLBACKS, INLINED):
        # A compiled module that is wrong in memory may leave nothing to hold an inlined one
        # against: that is told of the compiled one, and the program is held against eager.
        if not (prepared.against_eager and found.kind == f"{INLINED}{values.NOTHING_COMPARED}"):
            yield found


def _program_values(prepared: PreparedCase, route: Route, back: RoundTrip) -> Iterator[Finding]:
    """How a program differs from the model, or else from the compiled module that it was saved of.

    Where that module is wrong in memory, what the program does otherwise is told by how it differs
    from eager.
    """
    got = back.results
    if got is None:
        return
    if route is Route.PLAIN:
        tolerance = prepared.case.eager_tolerance or None
        yield from _differences(prepared.eager, got, Stage.RUN, "", tolerance)
        return
    found = [*_from_reference(prepared, got, Stage.RUN, "")]
    if found and prepared.against_eager:
        eager, allowed = prepared.eager.flat(), prepared.case.eager_tolerance
        found = [*_differences(eager, got.flat(), Stage.RUN, "", allowed)]
    yield from found


def _from_reference(
    prepared: PreparedCase, got: values.Observed, stage: Stage, whose: str
) -> Iterator[Finding]:
    """Differences from the split module, bit for bit unless that cannot be asked of the case.

    That the split module differs from itself is reported elsewhere. Where the compiled module is
    wrong in memory, a program that computes eager's numbers is right: 2.14 leaves it to the loader
    of a program to write some buffers back.
    """
    if prepared.against_eager:
        allowed = prepared.case.eager_tolerance
        if prepared.eager.flat().difference(got.flat(), allowed) is None:
            return
    yield from _differences(prepared.reference, got, stage, whose, _allowed(prepared))


def _allowed(prepared: PreparedCase) -> float | None:
    """The difference from the split module that is none; None where bits are compared.

    A case of this project is one whose kernels compute the same bits in every process. Nobody knows
    that of a user's model: torch's own kernels take other ways for other memory and threads.
    """
    if prepared.against_itself or prepared.kernels_vary or is_from_elsewhere(prepared.case):
        return prepared.case.eager_tolerance or None
    return None


def _differences(
    expected: values.Observed,
    got: values.Observed,
    stage: Stage,
    whose: str,
    tolerance: float | None = None,
) -> Iterator[Finding]:
    for found in values.differences(expected, got, tolerance):
        yield Finding(stage, f"{whose}{found.kind}", found.detail)


def _no_split() -> Iterator[Finding]:
    raise Unreadable("there is no split module to hold the model against")


def _signature(
    prepared: PreparedCase, route: Route, program: ExportedProgram, stage: Stage
) -> Iterator[Finding]:
    ranges = prepared.captured.program.ranges_of(by_save=route.row.gives_shapes)
    own = _sizes_of_their_own(prepared) if ranges else None
    found = list(signature.check_program(program, prepared.specs, ranges, stage, own))
    if found and prepared.packed_otherwise is not None:
        # A packing that the compiled module has already is a fault of compiling, not of saving.
        packed = prepared.packed_otherwise
        found = list(signature.check_program(program, packed, ranges, stage, own))
    yield from found


def _sizes_of_their_own(prepared: PreparedCase) -> int | None:
    """How many sizes vary on their own; None where the user leaves it to export to find that out.

    What export finds it reads off the ops, and those of an engine nobody sees.
    """
    captured = prepared.captured
    shapes = captured.program.dynamic_shapes, captured.program.shapes_for_save
    left_open = any(isinstance(leaf, _DIM_HINT) for leaf in pytree.tree_leaves(shapes))
    if captured.exported is None or shapes[1] is not None or left_open:
        return None
    return len(signature.sizes_that_vary(captured.exported))


def _extra_files(prepared: PreparedCase, route: Route, back: RoundTrip) -> Iterator[Finding]:
    """The user's own files that were given to `save`, and did not come back with the program."""
    if back.reloaded is None or route is Route.EXPORTED:  # which gives a program alone
        return
    given = extra_files_of(prepared.case)
    for name in given:
        if back.extra_files.get(name) != given[name]:
            yield Finding(Stage.LOAD, "a file saved with the program is lost", name)


def _refusal(prepared: PreparedCase, route: Route, back: RoundTrip) -> Iterator[Finding]:
    refuses = prepared.captured.program.shapes_for_save is None or route.row.gives_shapes
    if refuses and back.results is not None and prepared.over is not None:
        yield from signature.check_refusal(back.callable, prepared.over)


def _writes(back: RoundTrip) -> Iterator[Finding]:
    if back.results is not None and back.reloaded is not None:
        yield from signature.check_writes(back.reloaded, len(back.results.state))


def _state(prepared: PreparedCase, route: Route) -> state.ExpectedState:
    return prepared.model_state if route is Route.PLAIN else prepared.state


def _state_of_module(prepared: PreparedCase, route: Route, back: RoundTrip) -> Iterator[Finding]:
    if back.results is not None:
        expected = _state(prepared, route)
        yield from state.check_module(expected, back.callable, prepared.reader.digest)


def _unflatten(prepared: PreparedCase, route: Route, back: RoundTrip) -> Iterator[Finding]:
    if back.results is None or back.reloaded is None:
        return
    calls = prepared.captured.calls
    if route is Route.PLAIN:
        tolerance = prepared.case.eager_tolerance or None
        yield from unflatten.check_program(back.reloaded, calls, prepared.eager, tolerance)
        return
    children = unflatten.called_children(prepared.split) if route is Route.DIRECT else None
    # A split module that is wrong in memory is no reference for a program.
    expected = back.results if prepared.against_eager else prepared.reference
    yield from unflatten.check_program(
        back.reloaded,
        calls,
        expected,
        tolerance=_allowed(prepared),
        children=children,
        first_call_only=route is not Route.DIRECT,
    )


def _saves(back: RoundTrip) -> Iterator[Finding]:
    if back.saved_twice is not None:
        first, second = map(program_lines, back.saved_twice)
        yield from determinism.check_saves(first, second)
