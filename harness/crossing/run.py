"""Runs a crossing: every release saves its programs, then every release loads all of them.

Each release has one process for saving and one for loading, which takes its programs in turn. If a
process dies or hangs, that is the outcome of its current program, and another process does the
rest. Every row is on the disk before the next program begins, so that a run can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from harness.base.errors import SurroundingsError, UsageError
from harness.crossing.folder import CrossingJournal
from harness.crossing.judge import OK, Pair, Program, Saved
from harness.subjects.stations import Station
from harness.toolchain import PackageSite
from harness.wire.oracles import Symptom
from harness.wire.vocabulary import Stage
from harness.workers.launching import LOCAL
from harness.workers.process import Setup, WorkerDied, WorkerTimeout

PROGRAMS: Final = "programs"
_START_TIMEOUT_S: Final = 180.0


@dataclass(frozen=True)
class CrossingSetup(Setup):
    """For a process of `harness.rig.workers.crossing`."""

    action: str
    site: PackageSite
    folder: Path
    programs: Sequence[Program]

    module: ClassVar[str] = "harness.rig.workers.crossing"

    def message(self) -> dict[str, Any]:
        return {
            "action": self.action,
            "site": str(self.site.folder),
            "release": self.site.release,
            "builder": self.site.builder,
            "seed": self.seed,
            "folder": str(self.folder),
            "programs": [asdict(program) for program in self.programs],
        }


def cross(
    stations: Mapping[str, Station],
    programs: Sequence[Program],
    journal: CrossingJournal,
    folder: Path,
    *,
    seed: int,
    timeout_s: float,
    tell: Callable[[str], None],
) -> None:
    """Save and load all that the journal does not have.

    Args:
        stations: the releases that can be asked here; programs of others are left out.
        timeout_s: for one program.
    """
    asked = [program for program in programs if program.saver in stations]
    half = _Half(folder.resolve(), seed, timeout_s)
    for release, station in stations.items():
        missing = [each for each in asked if each.saver == release and each not in journal.saved]
        if missing:
            tell(f"{release}: saves {len(missing)} programs")

        def keep_saved(program: Program, said: Mapping[str, Any], by: Station = station) -> None:
            journal.add(_saved(program, said, by, half.path(program)))

        asyncio.run(half.run("save", station, missing, keep_saved))
    ready = [each for each in asked if journal.saved[each].outcome == OK]
    for release, station in stations.items():
        missing = [each for each in ready if (each, release) not in journal.loaded]
        gone = [str(half.path(each)) for each in missing if not half.path(each).is_file()]
        if gone:
            raise UsageError(f"{gone[0]} was saved and is gone; start a new run")
        if missing:
            tell(f"{release}: loads {len(missing)} programs")

        def keep_pair(program: Program, said: Mapping[str, Any], by: Station = station) -> None:
            journal.add(_pair(journal.saved[program], said, by))

        asyncio.run(half.run("load", station, missing, keep_pair))


class _Half:
    """Runs one half of a crossing for one release: all of its programs, in as few processes as
    will do."""

    def __init__(self, folder: Path, seed: int, timeout_s: float) -> None:
        self._folder = folder
        self._seed = seed
        self._timeout_s = timeout_s

    def path(self, program: Program) -> Path:
        """Where the rig puts it."""
        return self._folder / PROGRAMS / program.saver / f"{program.case}.{program.route}.pt2"

    async def run(
        self,
        action: str,
        station: Station,
        programs: Sequence[Program],
        keep: Callable[[Program, Mapping[str, Any]], None],
    ) -> None:
        setup = CrossingSetup(
            python=station.python,
            subjects=(),
            seed=self._seed,
            log_folder=self._folder / "workers" / f"{action}-{station.release}",
            corpus_digest="",
            action=action,
            site=station.site,
            folder=self._folder / PROGRAMS,
            programs=programs,
        )
        left = list(programs)
        while left:
            left = await self._attempt(replace(setup, programs=left), keep)

    async def _attempt(
        self, setup: CrossingSetup, keep: Callable[[Program, Mapping[str, Any]], None]
    ) -> list[Program]:
        """Run one process to its end, or to its death; returns the programs that are left."""
        programs = list(setup.programs)
        worker = await LOCAL.start(setup, 0)
        at: int | None = None
        timeout_s = _START_TIMEOUT_S
        try:
            while True:
                event = await worker.next_event(timeout_s)
                if event["event"] == "done":
                    await worker.stop()
                    return []
                if event["event"] == "began":
                    at = int(event["index"])
                if event["event"] == "ended":
                    keep(programs[int(event["index"])], event)
                timeout_s = self._timeout_s
        except (WorkerDied, WorkerTimeout) as end:
            what = str(end) or f"no answer in {timeout_s:.0f} s"
            broke = isinstance(end, WorkerDied) and (end.code is None or end.code >= 0)
            if at is None or broke:
                raise SurroundingsError(
                    f"torch_tensorrt {setup.site.release}, to {setup.action} programs: {what}; "
                    f"see {setup.log_folder}"
                ) from end
            keep(programs[at], _cut_off(setup.action, end))
            return programs[at + 1 :]
        finally:
            await worker.kill()


def _cut_off(action: str, end: WorkerDied | WorkerTimeout) -> dict[str, Any]:
    died = isinstance(end, WorkerDied)
    symptom = Symptom.KILLED if died else Symptom.TIMEOUT
    stage = Stage.SAVE if action == "save" else Stage.LOAD
    message = str(end) if died else "no answer in time"
    return {"outcome": f"{symptom}@{stage}", "message": message, "detail": "", "seconds": {}}


def _saved(program: Program, said: Mapping[str, Any], by: Station, path: Path) -> Saved:
    return Saved(
        program=program,
        torch=by.torch,
        outcome=said["outcome"],
        message=said["message"],
        detail=said["detail"],
        archive_bytes=path.stat().st_size if said["outcome"] == OK else None,
    )


def _pair(made: Saved, said: Mapping[str, Any], by: Station) -> Pair:
    program, seconds = made.program, said["seconds"]
    return Pair(
        saver=program.saver,
        loader=by.release,
        case=program.case,
        route=program.route,
        outcome=said["outcome"],
        message=said["message"],
        detail=said["detail"],
        saver_torch=made.torch,
        loader_torch=by.torch,
        archive_bytes=made.archive_bytes,
        load_s=seconds.get(Stage.LOAD),
        run_s=seconds.get(Stage.RUN),
    )
