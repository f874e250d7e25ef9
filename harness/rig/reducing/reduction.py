"""One reduction: from a case to the text of a file with the smallest model that fails alike."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import torch

from corpus import elsewhere
from corpus.case import Case, Inputs, Program, UnknownCase, all_cases, find_case
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.capture.lacking import lacking
from harness.rig.cell.prepare import NotPrepared, refusal
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import LoadError
from harness.rig.lanes import Lane, PackageLane, lane_of
from harness.rig.package.loading import FreshLoader
from harness.rig.reducing.candidate import Candidate
from harness.rig.reducing.search import reduced
from harness.rig.reducing.taking_apart import NotTakenApart, taken_apart
from harness.rig.reducing.writing import CASE, case_text
from harness.rig.reproduce.code import Unwritable
from harness.rig.trying import CameToNothing, Stopped, TookTooLong, tried
from harness.wire.record_json import to_json
from harness.wire.records import CellRecord
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

_ORIGINAL_LIMIT_S: Final = 600.0
_STDIN: Final = 0  # on which it comes that nobody waits any more
_FORMS: Final = (False, True)  # of a file: tensors that are drawn, and such that are written out


class Refused(Exception):
    """There is nothing to reduce: why, in one sentence; and whether that is so in any lane."""

    def __init__(self, why: str, *, anywhere: bool = False) -> None:
        super().__init__(why)
        self.anywhere = anywhere


Ask = Callable[..., Mapping[str, Any]]


class Reduction:
    """What outlives a try. Make it, and call `run`.

    Args:
        setup: as `harness.rig.workers.reducing` says.
        ask: sends a message to whoever decides, and gives the answer.
        folder: for the files of candidates.
    """

    def __init__(self, setup: Mapping[str, Any], ask: Ask, folder: Path) -> None:
        warnings.filterwarnings("ignore")
        torch.set_num_threads(1)
        self._setup, self._ask, self._folder = setup, ask, folder
        self._limit_s = float(setup["limit_s"])
        self._lane: Lane | None = None
        self._route = Route(setup["routes"][0])
        self._tries = 0

    def run(self) -> dict[str, Any]:
        """Reduce.

        Returns:
            The file's ``text``, empty where there is none for the reason ``why_not``; the ``size``
            of the model, and the number of ``tries``.

        Raises:
            Refused: the case has no model, or cannot be asked, or does not fail.
        """
        with ExitStack() as stack:
            try:
                if self._setup["by_file"]:
                    elsewhere.load(self._setup["corpus"])
                else:
                    self._lane = stack.enter_context(lane_of(self._setup))
                case = find_case(self._setup["case"])
            except (elsewhere.NoCorpus, LoadError) as error:
                raise Refused(str(error)) from error
            except UnknownCase as error:
                raise Refused(f"no case is named {error.args[0]}") from error
            return self._reduced(case)

    def _reduced(self, case: Case) -> dict[str, Any]:
        mode = self._setup["capture"]
        try:
            if self._lane is not None:
                self._warm(self._lane)
            captured = self._captured(case, mode)
            if self._lane is not None:
                self._route = Route(self._shown(captured, mode))
            try:
                best = taken_apart(captured, mode)
                if self._lane is None:
                    self._text(best, exact=False)
            except NotTakenApart as error:
                raise Refused(str(error)) from error
            except Unwritable as error:
                raise Refused(
                    f"{case.name} cannot be written down as a file for the command: {error}"
                ) from error
            if not self._fails(best):
                raise Refused(
                    f"{case.name} does not fail any more once its exported graph takes the place "
                    "of its model"
                    if self._lane is not None
                    else f"the command says of {case.name} itself that it does not fail: it ended "
                    "by another exit code than 1"
                )
        except Stopped:
            raise Refused("interrupted before anything was smaller") from None
        try:
            for smaller in reduced(best, self._fails):
                best = smaller
        except Stopped:
            return self._written(best, stopped=True)
        return self._written(best)

    def _warm(self, lane: Lane) -> None:
        """Send one program of an addition through the lane, here: what it imports is there then."""
        program = Program(lambda generator, _: Inputs((torch.ones(2, 3),)), model=_Warm())
        case = dataclasses.replace(
            all_cases()[0],
            name="warm",
            build=lambda: program,
            fallback=("aten.relu.default",),
            settings=(),
            save_keywords=(),
            imports=(),
            dynamic=False,
            min_block_size=1,
            capture=None,
        )
        routes = [route for name in self._setup["routes"] if not (route := Route(name)).row.dynamic]
        self._records(lane, case, self._setup["capture"], routes)
        gc.collect()
        gc.freeze()  # or every fork copies the pages that a collection marks

    def _records(
        self, lane: Lane, case: Case, mode: str, routes: Sequence[Route]
    ) -> list[CellRecord]:
        keys = [lane.key(case.name, mode, self._setup["subject"], route) for route in routes]
        try:
            prepared = lane.prepare(case, mode, StageClock())
        except NotPrepared as error:
            clock = StageClock()
            return [lane.run_unprepared(case, mode, key, error, clock) for key in keys]
        records = []
        for key in keys:
            records.append(lane.run_cell(prepared, key, StageClock()))
            if prepared.damaged:
                prepared = lane.prepare(case, mode, StageClock())
        return records

    def _shown(self, captured: CapturedProgram, mode: str) -> str:
        """The route by which the case fails as it should, after asking what it does by each."""
        lane, routes = self._lane, [Route(name) for name in self._setup["routes"]]
        case = captured.case
        assert lane is not None
        try:
            done = tried(
                lambda: {"records": [*map(to_json, self._records(lane, case, mode, routes))]},
                _ORIGINAL_LIMIT_S,
                _STDIN,
            )
        except CameToNothing as error:
            raise Refused(f"{case.name} cannot be asked: {error}") from error
        lacks = list(lacking(captured))
        chosen: str = self._ask(event="shown", records=done["records"], lacks=lacks)["route"]
        return chosen

    def _captured(self, case: Case, mode: str) -> CapturedProgram:
        try:
            captured = capture(case, mode, self._setup["seed"])
        except Exception as error:
            raise Refused(refusal(case, Stage.CAPTURE, error), anywhere=True) from error
        if captured.exported is None:
            why = f"{case.name} is a split that was made by hand, and has no model"
            raise Refused(why, anywhere=True)
        return captured

    def _fails(self, candidate: Candidate) -> bool:
        if self._lane is None:
            try:
                return self._decided(self._text(candidate, exact=False), candidate)
            except Unwritable:
                return False
        return self._same(candidate.as_case, candidate)

    def _same(self, make: Callable[[], Case], candidate: Candidate) -> bool:
        """Whether whoever decides takes what a case does for the same failure."""
        lane = self._lane
        assert lane is not None

        def work() -> dict[str, Any]:
            case = make()
            mode = case.capture or self._setup["capture"]
            (record,) = self._records(lane, case, mode, [self._route])
            return {"record": to_json(record)}

        self._tries += 1
        try:
            done = tried(work, self._limit_s, _STDIN)
        except CameToNothing as error:
            if isinstance(error, TookTooLong) and isinstance(lane, PackageLane):
                _renew(lane)
            done = {"record": None, "said": str(error)}
        return bool(self._ask(event="tried", **done, **self._told(candidate))["same"])

    def _decided(self, text: str, candidate: Candidate) -> bool:
        """Whether a command takes a file for the same failure; what cannot be exported is none."""
        self._tries += 1
        file = self._folder / f"{CASE}.py"
        file.write_text(text, encoding="utf-8")
        try:
            tried(lambda: _captured(file), self._limit_s, _STDIN)
        except CameToNothing as error:
            self._ask(event="tried", record=None, said=str(error), **self._told(candidate))
            return False
        return bool(self._ask(event="tried", file=str(file), **self._told(candidate))["same"])

    def _told(self, candidate: Candidate) -> dict[str, Any]:
        return {
            "tries": self._tries,
            "size": {
                "nodes": candidate.nodes,
                "ops": len(candidate.calls),
                "inputs": len(candidate.leaves),
                "outputs": len(candidate.outputs),
                "fallbacks": len(candidate.case.fallback),
            },
        }

    def _text(self, candidate: Candidate, *, exact: bool) -> str:
        return case_text(candidate, self._setup["catches"], exact=exact)

    def _written(self, best: Candidate, *, stopped: bool = False) -> dict[str, Any]:
        """The text of the first form that fails alike; where nobody waits, of the first."""
        why_not, text = "", ""
        for exact in _FORMS:
            try:
                text = self._text(best, exact=exact)
            except Unwritable as error:
                why_not = f"it has no plain form: {error}"
                break
            if self._lane is None or stopped:
                why_not = ""
                break
            file = self._folder / f"{CASE}.py"
            file.write_text(text, encoding="utf-8")
            try:
                if self._same(lambda: _case_in(file), best):  # noqa: B023 - asked at once
                    why_not = ""
                    break
            except Stopped:
                why_not = ""
                break
            why_not = "written down as code it does not fail alike"
        return {"text": "" if why_not else text, "why_not": why_not, **self._told(best)}


class _Warm(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2


def _case_in(file: Path) -> Case:
    """The one case of a file, as a run with this corpus has it; for a fork alone."""
    spec = importlib.util.spec_from_file_location(f"corpus_elsewhere.{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    from corpus import case as cases

    return cases._REGISTRY[CASE]


def _captured(file: Path) -> dict[str, Any]:
    """See that the case of a file can be exported."""
    case = _case_in(file)
    capture(case, case.capture or "nonstrict")
    return {}


def _renew(lane: PackageLane) -> None:
    """Another loader in the place of one that a try has left in the middle of its work."""
    lane._loader = FreshLoader(lane.package)
