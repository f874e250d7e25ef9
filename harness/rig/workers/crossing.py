"""Programs that one release saved, loaded by another: one release's half of it.

    python -m harness.rig.workers.crossing        started by harness.crossing.run, never by hand

In, as one JSON object on one line:
    {"action": "save" or "load", "site": FOLDER, "release": VERSION, "builder": NAME, "seed": N,
     "folder": FOLDER, "programs": [{"saver": VERSION, "case": NAME, "route": NAME}...]}
Out, one JSON object a line:
    {"event": "ready"}                          the package is imported
    {"event": "began", "index": I}              so that whoever watches knows where a process died
    {"event": "ended", "index": I, ...}         with the fields of `_Outcome`
    {"event": "done"}

A program is `FOLDER/SAVER/CASE.ROUTE.pt2`, and beside it, in `.expected`, lie its inputs, what
eager and what the compiled module in memory returned, and the torch that it was saved with.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import shutil
import sys
import tempfile
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export.pt2_archive import _package

from corpus.case import find_case
from harness.rig.cell.disk import RoundTrip
from harness.rig.cell.prepare import NotPrepared, PreparedCase
from harness.rig.channel import die_with_parent, private_channel, send
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining
from harness.rig.oracles import completion
from harness.rig.oracles.values import ValueDifference
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader, Loaded
from harness.rig.package.opening import open_package
from harness.rig.package.saving import save_like_a_user
from harness.wire.oracles import Symptom
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome, Stage

_NO_ENGINE_RAN = ValueDifference("no engine ran", "no engine of the program ran")


@dataclass(frozen=True)
class _Outcome:
    """What became of one program. ``message`` holds no path or address; seconds are by stage."""

    outcome: str  # ``ok``, ``wrong-values``, or ``symptom@stage``
    message: str = ""
    detail: str = ""
    seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)


class Saver:
    """Saves programs with the package of this process. A case is compiled once."""

    def __init__(self, package: types.ModuleType, folder: Path, seed: int) -> None:
        self._package = package
        self._folder = folder
        self._seed = seed
        self._prepared: dict[str, PreparedCase | NotPrepared] = {}

    def run(self, asked: Mapping[str, str]) -> _Outcome:
        prepared = self._prepare(asked["case"])
        if isinstance(prepared, NotPrepared):
            return _ended(completion.ended_by(prepared.cause, prepared.stage), {})
        archive = program_path(self._folder, asked)
        archive.parent.mkdir(parents=True, exist_ok=True)
        clock = StageClock()
        # A saved program is there whole, with what it is held against, or not at all.
        with tempfile.TemporaryDirectory(prefix="saving-", dir=archive.parent) as folder:
            made = Path(folder) / archive.name
            try:
                save_like_a_user(
                    self._package,
                    prepared,
                    Route(asked["route"]),
                    made,
                    clock,
                    Inlining(),
                    RoundTrip(),
                )
            except Exception as error:  # noqa: BLE001 - the package's, and so its verdict
                clock.leave()
                return _ended(
                    completion.ended_by(error, clock.stage or Stage.EXPORT), clock.seconds
                )
            expected = made.with_suffix(".expected")
            torch.save(
                {
                    "calls": prepared.captured.calls,
                    "eager": prepared.eager,
                    "in_memory": prepared.reference,
                    "tolerance": prepared.case.eager_tolerance,
                    "engines": bool(prepared.engine_bytes),
                    "torch": torch.__version__,
                    "imports": prepared.captured.imports,
                },
                expected,
            )
            expected.replace(archive.with_suffix(".expected"))
            made.replace(archive)
        return _ended(completion.completed(), clock.seconds)

    def close(self) -> None:
        """Nothing outlives a program."""

    def _prepare(self, name: str) -> PreparedCase | NotPrepared:
        if name not in self._prepared:
            case = find_case(name)
            try:
                self._prepared[name] = prepare_with(
                    self._package, case, case.capture or "nonstrict", self._seed, StageClock()
                )
            except NotPrepared as error:
                self._prepared[name] = error
        return self._prepared[name]


class Loader:
    """Loads programs, whoever saved them, each in a fresh process of this process's package."""

    def __init__(self, package: types.ModuleType, folder: Path) -> None:
        self._folder = folder
        raise_why_torch_cannot_load()
        self._loader = FreshLoader(package)

    def run(self, asked: Mapping[str, str]) -> _Outcome:
        program = program_path(self._folder, asked)
        expected = torch.load(program.with_suffix(".expected"), weights_only=False)
        with tempfile.TemporaryDirectory(prefix="loading-") as folder:
            # A copy: loaders may run side by side, and each answers beside what it was given.
            archive = Path(shutil.copy(program, folder))
            loaded = self._loader.load(archive, expected["calls"], imports=expected["imports"])
        if loaded.results is None:
            return _ended(loaded.ended, loaded.seconds)
        found = difference(loaded, expected)
        if found is None:
            return _ended(loaded.ended, loaded.seconds)
        return _Outcome(Symptom.WRONG_VALUES, found.kind, found.detail, _by_name(loaded.seconds))

    def close(self) -> None:
        self._loader.close()


def difference(loaded: Loaded, expected: Mapping[str, Any]) -> ValueDifference | None:
    """Where a program that was loaded and ran differs from what it was when it was saved, or None.

    Held bit for bit against the module in memory; where the loader has another torch, whose kernels
    may add up in another order, within the case's tolerance. Against eager within the tolerance.
    """
    assert loaded.results is not None
    if expected["engines"] and not loaded.engine_runs:
        return _NO_ENGINE_RAN
    tolerance = expected["tolerance"]
    exact = None if expected["torch"] == torch.__version__ else tolerance
    found: ValueDifference | None = expected["in_memory"].difference(loaded.results, exact)
    if found is None:
        found = expected["eager"].difference(loaded.results, tolerance)
    return found


def raise_why_torch_cannot_load() -> None:
    """Let `torch.export.load` raise what went wrong, in this process and those forked from it.

    It puts the cause into its log, and raises that one should look there.
    """
    load, load_archive = torch.export.load, _package.load_pt2
    causes: list[RuntimeError] = []

    def remember(*args: Any, **kwargs: Any) -> Any:
        try:
            return load_archive(*args, **kwargs)
        except RuntimeError as error:
            causes.append(error)
            raise

    def raise_cause(*args: Any, **kwargs: Any) -> Any:
        try:
            return load(*args, **kwargs)
        except RuntimeError as error:
            raise (causes.pop() if causes else error) from None

    torch.export.load, _package.load_pt2 = raise_cause, remember  # type: ignore[assignment]


def program_path(folder: Path, asked: Mapping[str, str]) -> Path:
    """Where a program lies."""
    return folder / asked["saver"] / f"{asked['case']}.{asked['route']}.pt2"


def _ended(verdict: Verdict, seconds: Mapping[Stage, float]) -> _Outcome:
    outcome = verdict.label if verdict.failed else Outcome.OK
    return _Outcome(outcome, verdict.message, verdict.evidence, _by_name(seconds))


def _by_name(seconds: Mapping[Stage, float]) -> dict[str, float]:
    return {stage.value: value for stage, value in seconds.items()}


def main() -> None:
    die_with_parent()
    channel = private_channel()
    asked = json.loads(sys.stdin.readline())
    package = open_package(asked)
    # The package collects garbage for every engine, and would look through all of torch each time.
    gc.freeze()
    folder = Path(asked["folder"])
    half: Saver | Loader = (
        Saver(package, folder, int(asked["seed"]))
        if asked["action"] == "save"
        else Loader(package, folder)
    )
    send(channel, event="ready")
    for index, program in enumerate(asked["programs"]):
        send(channel, event="began", index=index)
        send(channel, event="ended", index=index, **dataclasses.asdict(half.run(program)))
    half.close()
    send(channel, event="done")


if __name__ == "__main__":
    main()
