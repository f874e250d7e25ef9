"""One cell of the package lane: saved by the package, loaded in a fresh process, judged."""

from __future__ import annotations

import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path

import torch

from harness.rig import judging
from harness.rig.clock import StageClock
from harness.rig.disk import CameBack, compare_archives
from harness.rig.inliners.protocol import Inlining
from harness.rig.oracles import completion
from harness.rig.oracles.finding import Answer, Answers, Finding
from harness.rig.package.loading import Loaded, Loader
from harness.rig.package.saving import save_like_a_user
from harness.rig.pipeline import is_full_disk
from harness.rig.prepare import PreparedCase
from harness.rig.records import CellKey, CellRecord, Verdict
from harness.rig.vocabulary import CellState, Oracle, Route, Stage

_DAMAGED = Finding(Stage.SAVE, "saving changed the module it was given")
_NO_ENGINE_RAN = Finding(Stage.RUN, "no engine ran")
_ENGINES_DO_NOT_MATTER = Finding(Stage.RUN, "engines that return something else change nothing")


def run_package_cell(
    package: types.ModuleType,
    prepared: PreparedCase,
    key: CellKey,
    loader: Loader,
    clock: StageClock,
) -> CellRecord:
    """Run one cell and judge it. An exception of an oracle is the harness's own and is raised."""
    route = Route(key.route)
    inlining, back = Inlining(), CameBack()
    with tempfile.TemporaryDirectory(prefix="cell-") as folder:
        archive = Path(folder) / "program.pt2"
        try:
            save_like_a_user(package, prepared, route, archive, clock, inlining, back)
        except Exception as error:
            if is_full_disk(error):
                raise
            clock.leave()
            ended = completion.ended_by(error, clock.stage or Stage.EXPORT)
            controls: Answers = {}
        else:
            loaded = loader.load(
                archive, prepared.captured.calls, imports=prepared.case.imports
            )
            clock.credit(loaded.seconds)
            ended = _look_at_it_here(back, loaded, archive, clock.again())
            controls = {Oracle.VALUES: Answer(tuple(_controls(prepared, loader, loaded, archive)))}
    answers = [judging.about_program(prepared, route.reaches, back), controls]
    if inlining.inlined is not None:
        cleaned = inlining.finished or ended.stage is Stage.CLEAN
        ran = back.results is not None
        answers.append(
            judging.about_inlined(
                prepared, inlining.inlined, finished=inlining.finished, cleaned=cleaned, ran=ran
            )
        )
    if prepared.look_for_damage():
        answers.append({Oracle.STRUCTURE: Answer((_DAMAGED,))})
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=judging.verdicts(
            answers, ended, reloaded=back.reloaded is not None, ran=back.results is not None
        ),
        measured_as=key.subject,
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
        archive_bytes=back.archive_bytes,
        engine_bytes=prepared.engine_bytes,
        carried_bytes=prepared.carried_bytes,
        steps=prepared.steps,
        ended_at_unix_s=time.time(),
    )


def _look_at_it_here(back: CameBack, loaded: Loaded, archive: Path, clock: StageClock) -> Verdict:
    """Load the archive in this process too, for the oracles that read graphs.

    Whether it loads and what it computes was asked in the fresh process.
    """
    if loaded.results is None:
        return loaded.ended
    try:
        with clock.during(Stage.LOAD):
            back.reloaded = torch.export.load(archive)
            back.callable = back.reloaded.module()
        back.results = loaded.results
        compare_archives(back, archive, archive.parent / "again" / archive.name, clock)
    except Exception as error:  # noqa: BLE001 - the package's, and so its verdict
        return completion.ended_by(error, Stage.LOAD)
    return loaded.ended


def _controls(
    prepared: PreparedCase, loader: Loader, loaded: Loaded, archive: Path
) -> Iterator[Finding]:
    """Whether engines had a part in what the program returned.

    A program whose engines never ran, or which returns the same whatever they return, proves
    nothing by its values.
    """
    if loaded.results is None or not prepared.state.engines:
        return
    if not loaded.engine_runs:
        yield _NO_ENGINE_RAN
    elif not prepared.engines_matter:  # once a case will do, and not once a route
        tampered = loader.load(
            archive, prepared.captured.calls, tampered=True, imports=prepared.case.imports
        )
        if tampered.results is None or loaded.results.difference(tampered.results):
            prepared.engines_matter = True
        else:
            yield _ENGINES_DO_NOT_MATTER
