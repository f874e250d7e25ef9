"""A worker process that asks mutants of one module what it asks the release that has the module.

    python -m harness.rig.workers.mutants        started by harness.campaigns, never by hand

It speaks as `harness.rig.channel` says. Its setup is that of a lane with one subject, and
    {"module": NAME of the mutated module, "mutants": {NAME: [PATH, FIRST, LAST]}, "compiles":
    whether compiling reaches that module, as what a case's user does behind it may anyway}
where one of the lines FIRST to LAST is run before a mutant can matter. A job names the mutants that
are asked, the first of which is the file as it is: {"case": NAME, "capture": MODE, "cells":
[CellKey...], "mutants": [NAME...]}. The release's own records come first, then for each mutant
    {"event": "mutant", "name": NAME, "differs": [record...]}    what it makes otherwise
    {"event": "mutant", "name": NAME, "reached": false}          its lines are not run: not asked
    {"event": "mutant", "name": NAME, "ended": TEXT}             it raised, died or took too long
    {"event": "mutant", "name": NAME, "unloaded": TEXT}          no program: it does not import

Every mutant is asked in a fork, so that none can change anything for the next one. The fork has the
case as it was captured and split, and the release's programs, which an equal one is not judged
again for. Which lines are run is seen in a fork that runs the file as it is.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from harness.rig.channel import Reporter, serve
from harness.rig.trying import CameToNothing, TookTooLong, tried
from harness.rig.watching import line_watch
from harness.wire.record_json import key_from_json, to_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import SubjectKind

if TYPE_CHECKING:
    from corpus.case import Case
    from harness.rig.cell.prepare import PreparedCase

#: A mutant has so many times the release's own time, and a minute, before it counts as hanging.
#: Beside other work ten seconds were too few, and mutants were found that were not.
_TIMES: Final = 10.0
_AND_SECONDS: Final = 60.0


class _Worker:
    """Holds the lane, and where the mutants are."""

    def __init__(self, setup: Mapping[str, Any], report: Reporter) -> None:
        # Here and not at the top: the controller is told that torch is being imported.
        from corpus.case import corpus_digest
        from harness.rig.lanes import open_lane

        self._report = report
        self._setup = setup
        self._lane = open_lane(setup)
        self.load_errors = self._lane.load_errors
        self.corpus_digest = corpus_digest()

    def serve(self, job: Mapping[str, Any]) -> float:
        """Ask the release, then the mutants; returns 0, since no times are taken of mutants."""
        from corpus.case import find_case
        from harness.rig.cell.prepare import NotPrepared
        from harness.rig.clock import StageClock

        keys = [key_from_json(key) for key in job["cells"]]
        case, capture = find_case(job["case"]), job["capture"]
        began = time.monotonic()
        try:
            prepared = self._lane.prepare(case, capture, StageClock())
        except NotPrepared as error:
            asked = ((case, capture, key, error, StageClock()) for key in keys)
            self._report.ended(self._lane.run_unprepared(*each) for each in asked)
            return 0.0
        own = {key: self._lane.run_cell(prepared, key, StageClock()) for key in keys}
        self._report.ended(own.values())
        limit_s = _TIMES * (time.monotonic() - began) + _AND_SECONDS
        run: set[int] = set()
        for index, name in enumerate(job["mutants"]):
            path, first, last = self._setup["mutants"][name]
            if index and run.isdisjoint(range(first, last + 1)):
                self._report.mutant(name, reached=False)
                continue
            ask = functools.partial(self._ask, Path(path), not index, case, prepared, own)
            try:
                answer = tried(ask, limit_s)
                run |= set(answer.pop("lines", ()))
            except CameToNothing as error:
                self._report.mutant(name, ended=str(error))
                if isinstance(error, TookTooLong) and self._setup["lane"] != "graph":
                    sys.exit("a mutant was killed while it was using the process that loads")
            else:
                self._report.mutant(name, **answer)
        return 0.0

    def _ask(
        self,
        path: Path,
        watched: bool,
        case: Case,
        prepared: PreparedCase,
        own: Mapping[CellKey, CellRecord],
    ) -> dict[str, Any]:
        """What a mutant makes otherwise than the release. Called in a fork.

        Args:
            watched: tell which lines of the file were run, too.
        """
        from harness.rig.clock import StageClock

        lines: set[int] = set()
        if watched:
            ours = f"/{path.name}"
            sys.settrace(
                line_watch(lambda file: file.endswith(ours), lambda _, line: lines.add(line))
            )
        try:
            self._take(path, watched)
        except Exception as error:  # noqa: BLE001 - a text that is no program is no mutant
            return {"unloaded": f"{type(error).__name__}: {error}"}
        if self._setup["compiles"] or prepared.captured.program.after_compile is not None:
            prepared = self._lane.prepare(case, next(iter(own)).capture, StageClock())
        records = [self._lane.run_cell(prepared, key, StageClock()) for key in own]
        sys.settrace(None)
        differing = [record for record in records if _said(record) != _said(own[record.key])]
        return {"differs": [to_json(record) for record in differing], "lines": sorted(lines)}

    def _take(self, path: Path, watched: bool) -> None:
        """Put a mutant in the place of its module.

        What the release itself has made in this case, and what comes of an equal program on its
        way back from cross compiling, are shared by an inliner's name: a mutant has its own.
        """
        from harness.rig.inliners.release import ReleaseInliner
        from harness.rig.lanes import GraphLane

        if not isinstance(self._lane, GraphLane):
            replace_module(importlib.import_module(self._setup["module"]), path)
            return
        (subject,) = self._lane.subjects.values()
        mutant = dataclasses.replace(
            subject,
            subject=f"{subject.subject} mutated",
            kind=SubjectKind.FILE,
            exporter_path=str(path),
            exporter_sha256=None,
        )
        inliner = ReleaseInliner(mutant)
        # The file as it is shows which lines may matter: those of its `export` are among them.
        inliner.asks_own_export = watched or inliner.asks_own_export
        self._lane.inliners[subject.subject] = inliner

    def close(self) -> None:
        self._lane.close()


def _said(record: CellRecord) -> Any:
    """What a cell says, without evidence, which names nodes, and without times."""
    verdicts = [(each.oracle, each.label, each.message) for each in record.verdicts]
    return record.state, record.reason, verdicts


def replace_module(module: ModuleType, path: Path) -> None:
    """Run another file as a module, and give all that had its old functions the new ones."""
    before = {
        id(value): name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    }
    kept = list(vars(module).values())  # alive, so that no id is given away
    for name in [name for name in vars(module) if not name.startswith("__")]:
        delattr(module, name)  # what the other file does not define is no longer there
    exec(compile(path.read_text(), str(path), "exec"), vars(module))
    package = module.__name__.partition(".")[0]
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").partition(".")[0] != package or other is module:
            continue
        for name, value in list(vars(other).items()):
            if id(value) in before:
                setattr(other, name, getattr(module, before[id(value)]))
    del kept


if __name__ == "__main__":
    serve(_Worker)
