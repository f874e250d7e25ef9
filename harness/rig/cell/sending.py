"""Sends programs to disk and judges them; equal ones, and equal archives, are judged once."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.rig.capture.capture import CannotAsk
from harness.rig.cell import judging
from harness.rig.cell.disk import RoundTrip, is_full_disk, load_and_run, save, save_again
from harness.rig.cell.not_asked import not_asked
from harness.rig.cell.prepare import PreparedCase
from harness.rig.cell.sharing import Judged
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner
from harness.rig.oracles import completion
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

_STAGES = (Stage.SAVE, Stage.LOAD, Stage.RUN)


def asked_of(inliner: Inliner, route: Route, prepared: PreparedCase) -> str:
    """Equal for two cells that ask the same of their programs, and judge equal ones alike."""
    # Results are reused among equal questions only: controls are asked others, a cross-compiled
    # program is loaded by the release's own code, and shapes for `save` make other ranges.
    asked = route.value if route in (Route.PLAIN, Route.DIRECT) else "inlined"
    if route.row.crosses:
        asked = f"{route} {inliner.name}"
    return f"{asked} {prepared.captured.program.ranges_of(by_save=route.row.gives_shapes)}"


def judge_program(
    prepared: PreparedCase,
    asked: str,
    identity: str,
    route: Route,
    back: RoundTrip,
    clock: StageClock,
) -> Judged:
    """Send a program to disk and back and judge it, or reuse the result of an equal program.

    Args:
        asked: as `asked_of`; empty where nothing is shared.
        identity: equal for equal programs of which the same is asked.
    """
    shared = prepared.shared if asked else None
    if shared is None:
        return _send_and_judge(prepared, "", route, back, clock)
    known = shared.programs.get(identity)
    if known is not None:
        clock.credit(known.seconds)
        return known
    shared.programs[identity] = _send_and_judge(prepared, asked, route, back, clock)
    return shared.programs[identity]


def _send_and_judge(
    prepared: PreparedCase, asked: str, route: Route, back: RoundTrip, clock: StageClock
) -> Judged:
    # Made outside of the `try`: a machine without a temporary folder is no verdict.
    with tempfile.TemporaryDirectory(prefix="cell-") as folder:
        archive = Path(folder) / "program.pt2"
        try:
            save(back, archive, clock)
        except Exception as error:
            if is_full_disk(error):
                raise
            nothing = judging.about_program(prepared, route, back)
            return Judged(nothing, ended_by(error, clock), back.reached, _seconds(clock, *_STAGES))
        loaded = _load_and_judge(prepared, asked, route, back, archive, clock)
    ran = loaded.reached is Stage.RUN
    exported = judging.about_exported(prepared, route, back.with_engines, ran=ran)
    return replace(
        loaded,
        answers=(exported, *loaded.answers),
        seconds=_seconds(clock, *_STAGES),
        archive_bytes=back.archive_bytes,
    )


def _load_and_judge(
    prepared: PreparedCase,
    asked: str,
    route: Route,
    back: RoundTrip,
    archive: Path,
    clock: StageClock,
) -> Judged:
    """Load an archive, run and judge what it holds, or reuse the results of an equal archive."""
    shared = prepared.shared if asked else None
    identity = f"{asked} {hashlib.sha256(archive.read_bytes()).hexdigest()}" if shared else ""
    if shared is not None and identity in shared.archives:
        known = shared.archives[identity]
        clock.credit(known.seconds)
        return known
    ended = completion.completed()
    try:
        load_and_run(back, prepared.captured.calls, archive, clock)
        if prepared.shared is None or prepared.shared.takes_second_save(route):
            save_again(back, archive, clock.again())
    except Exception as error:
        if is_full_disk(error):
            raise
        ended = ended_by(error, clock)
    answers = judging.about_loaded(prepared, route, back)
    seconds = _seconds(clock, Stage.LOAD, Stage.RUN)
    loaded = Judged((answers,), ended, back.reached, seconds)
    if shared is not None:
        shared.archives[identity] = loaded
    return loaded


def _seconds(clock: StageClock, *stages: Stage) -> dict[Stage, float]:
    return {stage: clock.seconds[stage] for stage in stages if stage in clock.seconds}


def ended_by(error: Exception, clock: StageClock) -> Verdict:
    clock.leave()
    missing = not_asked(error)
    if missing is not None:
        raise CannotAsk(missing) from error
    return completion.ended_by(error, clock.stage or Stage.EXPORT)
