"""One cell of the package lane: saved by the package, loaded in a fresh process, judged."""

from __future__ import annotations

import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path

import torch

from harness.rig.capture.capture import CannotAsk
from harness.rig.cell import judging
from harness.rig.cell.disk import RoundTrip, compare_archives, extra_files_of, is_full_disk
from harness.rig.cell.not_asked import not_asked
from harness.rig.cell.pipeline import unsupported
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.warned import recorded_warnings
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining
from harness.rig.oracles import completion
from harness.rig.oracles.finding import Answer, Answers, Finding
from harness.rig.oracles.observing import observe_unchanged
from harness.rig.oracles.values import is_only_as_wrong_as
from harness.rig.package.executor import EMULATED_EXECUTOR, Executor
from harness.rig.package.loading import Loaded, Loader, WatchedEngines
from harness.rig.package.saving import save_like_a_user
from harness.rig.package.torch_compile import run_torch_compile_cell
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import NOT_COMPILED, CellState, Stage

_WRONG_SINCE = "the compiled module computes something else in memory, and so does what it saves"
_DAMAGED = Finding(Stage.SAVE, "saving changed the module it was given")
_NO_ENGINE_RAN = Finding(Stage.RUN, "no engine ran")
_ENGINES_DO_NOT_MATTER = Finding(Stage.RUN, "engines that return something else change nothing")


def run_package_cell(
    package: types.ModuleType,
    prepared: PreparedCase,
    key: CellKey,
    loader: Loader,
    clock: StageClock,
    executor: Executor = EMULATED_EXECUTOR,
) -> CellRecord:
    """Run one cell and judge it. An exception of an oracle is the harness's own and is raised."""
    route = key.route
    if route is Route.COMPILE:
        return _compiled(prepared, key, clock)
    if route is Route.TORCH_COMPILE:
        how = prepared.captured, prepared.eager, key, clock, executor
        return run_torch_compile_cell(*how, engines=bool(prepared.state.engines))
    asked = dict.fromkeys(extra_files_of(prepared.case), "")
    inlining, back = Inlining(), RoundTrip(extra_files=asked)
    with tempfile.TemporaryDirectory(prefix="cell-") as folder:
        archive = Path(folder) / "program.pt2"
        told: list[str] = []
        try:
            with recorded_warnings() as told:
                save_like_a_user(package, prepared, route, archive, clock, inlining, back)
        except Exception as error:
            if is_full_disk(error):
                raise
            clock.leave()
            missing = not_asked(error)
            if missing is not None:
                prepared.look_for_damage()
                return unsupported(key, missing)
            ended = completion.ended_by(error, clock.stage or Stage.EXPORT)
            controls: Answers = {}
        else:
            try:
                loaded = loader.load(
                    archive,
                    prepared.captured.calls,
                    imports=prepared.captured.imports,
                    files=tuple(asked),
                )
            except CannotAsk as reason:
                prepared.look_for_damage()
                return unsupported(key, str(reason))
            clock.credit(loaded.seconds)
            told += [warning for warning in loaded.warnings if warning not in told]
            if loaded.results is not None and is_only_as_wrong_as(
                prepared.reference, loaded.results, prepared.eager, prepared.case.eager_tolerance
            ):
                return unsupported(key, f"{NOT_COMPILED} {_WRONG_SINCE}")
            ended = _look_at_it_here(back, loaded, archive, clock.again())
            controls = {Oracle.VALUES: Answer(tuple(_controls(prepared, loader, loaded, archive)))}
    answers = [*judging.about_program(prepared, route.reaches, back), controls]
    if inlining.inlined is not None:
        reached = inlining.reached(ended, ran=back.reached is Stage.RUN)
        answers.append(judging.about_inlined(prepared, inlining.inlined, reached))
    if prepared.look_for_damage():
        answers.append({Oracle.STRUCTURE: Answer((_DAMAGED,))})
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=judging.verdicts(answers, ended, back.reached, told),
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        archive_bytes=back.archive_bytes,
        engine_bytes=prepared.engine_bytes,
        carried_bytes=prepared.carried_bytes,
        steps=prepared.steps,
        logged=tuple(told),
        ended_at_unix_s=time.time(),
    )


def _compiled(prepared: PreparedCase, key: CellKey, clock: StageClock) -> CellRecord:
    """The record on the compiled module itself, as it is in memory."""
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=judging.about_compiled(prepared, prepared.warnings),
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        engine_bytes=prepared.engine_bytes,
        carried_bytes=prepared.carried_bytes,
        steps=prepared.steps,
        logged=prepared.warnings,
        ended_at_unix_s=time.time(),
    )


def _look_at_it_here(back: RoundTrip, loaded: Loaded, archive: Path, clock: StageClock) -> Verdict:
    """Load the archive in this process too, for the oracles that read graphs.

    Whether it loads and what it computes was asked in the fresh process.
    """
    if loaded.results is None:
        return loaded.ended
    try:
        with clock.during(Stage.LOAD):
            back.reloaded = torch.export.load(archive, extra_files=back.extra_files or None)
            back.callable = back.reloaded.module()
        back.results = loaded.results
        back.extra_files.update(loaded.files)
        compare_archives(back, archive, archive.parent / "again" / archive.name, clock)
    except Exception as error:  # noqa: BLE001 - the package's, and so its verdict
        return completion.ended_by(error, Stage.LOAD)
    return loaded.ended


def _controls(
    prepared: PreparedCase, loader: Loader, loaded: Loaded, archive: Path
) -> Iterator[Finding]:
    """Whether engines had a part in what the program returned.

    A program whose engines never ran proves nothing by its values; nor does one that returns the
    same whatever they return, where the compiled module in memory returns something else then.
    Where that does not either, as with ``argmax`` behind an engine, the model is like that.
    """
    if loaded.results is None or not prepared.state.engines:
        return
    if not loaded.engine_runs:
        yield _NO_ENGINE_RAN
    elif not prepared.engines_matter:  # once a case will do, and not once a route
        tampered = loader.load(
            archive, prepared.captured.calls, tampered=True, imports=prepared.captured.imports
        )
        if tampered.results is None or loaded.results.difference(tampered.results):
            prepared.engines_matter = True
        elif _engines_matter_in_memory(prepared):
            yield _ENGINES_DO_NOT_MATTER


def _engines_matter_in_memory(prepared: PreparedCase) -> bool:
    try:
        with WatchedEngines(tampered=True):
            tampered = observe_unchanged(prepared.split, prepared.captured.calls)
    except Exception:  # noqa: BLE001 - values that no engine returns may well be refused
        return True
    return prepared.reference.difference(tampered) is not None
