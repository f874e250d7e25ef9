"""The two lanes: each prepares a case and runs its cells, for workers and for questions alike."""

from __future__ import annotations

import functools
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from corpus import elsewhere
from corpus.case import Case, find_case
from harness.rig.cell.disk import RoundTrip, is_full_disk
from harness.rig.cell.pipeline import ended_before_routes, run_cell
from harness.rig.cell.prepare import NotPrepared, PreparedCase, prepare
from harness.rig.cell.sharing import Shared
from harness.rig.channel import Reporter
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.inliners.loader import load_inliner
from harness.rig.inliners.protocol import Inliner, Inlining, LoadError
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import captured_beside_eager, prepare_with
from harness.rig.package.executor import executor_of
from harness.rig.package.loading import FreshLoader, Loader
from harness.rig.package.opening import open_package
from harness.rig.package.saving import save_like_a_user
from harness.rig.package.spawning import SpawningLoader
from harness.rig.package.torch_compile import run_torch_compile_cell
from harness.wire.record_json import subject_from_json
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane as LaneName
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage


class GraphLane:
    """Inliners alone, on splits made here and emulated engines.

    Its setup: {"lane": "graph", "library": PATH of the runtime, "subjects": [SubjectSpec...],
    "corpus": [PLACE...], "seed": N, "share": whether equal programs are judged once}.

    Attributes:
        load_errors: by subject, why it cannot be asked.
        compiles: whether compiling is the subject's own work, so that a case which does not compile
            is a verdict on the subject.
    """

    compiles = False

    def __init__(self, setup: Mapping[str, Any]) -> None:
        warnings.filterwarnings("ignore")
        torch.set_num_threads(1)
        load_runtime(Path(setup["library"]))
        elsewhere.load(setup["corpus"])
        self.seed = int(setup["seed"])
        self._share = bool(setup.get("share"))
        self.load_errors: dict[str, str] = {}
        self.subjects: dict[str, SubjectSpec] = {}
        self.inliners: dict[str, Inliner] = {}
        for spec in map(subject_from_json, setup["subjects"]):
            if spec.unavailable:
                continue
            self.subjects[spec.subject] = spec
            try:
                self.inliners[spec.subject] = load_inliner(spec)
            except LoadError as error:
                self.load_errors[spec.subject] = str(error)

    def key(self, case: str, capture: str, subject: str, route: Route) -> CellKey:
        """The cell of this lane that has these parts."""
        return CellKey(case, capture, subject, route)

    def prepare(self, case: Case, capture: str, clock: StageClock) -> PreparedCase:
        """Capture, split and compile a case.

        Raises:
            NotPrepared: a stage raised; with the exception and the stage.
        """
        prepared = prepare(case, capture, self.seed, clock)
        prepared.shared = Shared() if self._share else None
        return prepared

    def run_cell(
        self, prepared: PreparedCase, key: CellKey, clock: StageClock, like: str = ""
    ) -> CellRecord:
        """Run one cell and judge it. What an oracle raises is the harness's own fault."""
        return run_cell(prepared, self.inliners[key.subject], key, clock, like)

    def run_unprepared(
        self, case: Case, capture: str, key: CellKey, reason: NotPrepared, clock: StageClock
    ) -> CellRecord:
        """The record of a cell whose case was not prepared, as `PackageLane` has it."""
        return ended_before_routes(key, reason.cause, reason.stage)

    def export(
        self, prepared: PreparedCase, subject: str, route: Route, inlining: Inlining
    ) -> None:
        """Inline and export, and judge nothing; ``inlining`` is filled in as far as that gets."""
        captured = prepared.captured
        self.inliners[subject].produce(
            prepared.split,
            route,
            captured.given_to_save,
            captured.shapes_given(route),
            StageClock(),
            inlining,
        )

    def close(self) -> None:
        """Nothing outlives a cell."""


class PackageLane:
    """One release's whole package, called as its users call it; asked as the graph lane is.

    Its setup: {"lane": "package", "site": FOLDER or null for the package that is installed,
    "release": VERSION, "subject": NAME if that is another, "builder": NAME of the site's,
    "engines": FOLDER that keeps built engines, "corpus": [PLACE...], "seed": N, "executor": NAME,
    "device": NAME}. Engines are emulated unless
    an executor is named.
    """

    compiles = True

    def __init__(self, setup: Mapping[str, Any]) -> None:
        self.seed = int(setup["seed"])
        self._builder = setup["builder"]
        self.load_errors: dict[str, str] = {}
        self.unusable: Exception | None = None
        self._loader: Loader | None = None
        try:
            self.package = open_package(setup)
        except (ImportError, OSError) as error:  # the machine lacks something: ends the run
            traceback.print_exc()
            whose = setup.get("subject", setup["release"])
            self.load_errors[whose] = f"torch_tensorrt {whose} cannot be imported: {error}"
        except Exception as error:  # noqa: BLE001 - the package does not fit this TensorRT: a verdict
            traceback.print_exc()
            self.unusable = error
        else:
            features = getattr(self.package, "ENABLED_FEATURES", None)
            self.executor = executor_of(setup, rtx=getattr(features, "tensorrt_rtx", False))
            # Before any case of the project is imported: programs are loaded where none was.
            forks = self.executor.forks
            self._loader = FreshLoader(self.package) if forks else SpawningLoader(setup)
        elsewhere.load(setup["corpus"])

    def key(self, case: str, capture: str, subject: str, route: Route) -> CellKey:
        return CellKey(case, capture, subject, route, lane=LaneName.PACKAGE, builder=self._builder)

    def prepare(self, case: Case, capture: str, clock: StageClock) -> PreparedCase:
        if self.unusable is not None:
            raise NotPrepared(self.unusable, Stage.COMPILE)
        return prepare_with(self.package, case, capture, self.seed, clock, self.executor)

    def run_cell(
        self, prepared: PreparedCase, key: CellKey, clock: StageClock, like: str = ""
    ) -> CellRecord:
        assert not like, "each package is measured as itself"
        assert self._loader is not None
        return run_package_cell(self.package, prepared, key, self._loader, clock, self.executor)

    def run_unprepared(
        self, case: Case, capture: str, key: CellKey, reason: NotPrepared, clock: StageClock
    ) -> CellRecord:
        """The record of a cell whose case was not prepared.

        `torch.compile` is asked all the same where `compile` alone raised.
        """
        record = ended_before_routes(key, reason.cause, reason.stage)
        if not record.rests_on_compile or key.route.by_compile or self.unusable is not None:
            return record
        how = self.package, case, capture, self.seed, clock, self.executor
        captured, eager = captured_beside_eager(*how)
        asked = captured, eager, key, clock, self.executor
        return run_torch_compile_cell(*asked, engines=True)

    def export(
        self, prepared: PreparedCase, subject: str, route: Route, inlining: Inlining
    ) -> None:
        back = RoundTrip()
        with tempfile.TemporaryDirectory(prefix="export-") as folder:
            archive = Path(folder) / "program.pt2"
            try:
                save_like_a_user(
                    self.package, prepared, route, archive, StageClock(), inlining, back
                )
            finally:
                inlining.exported = back.exported

    def close(self) -> None:
        if self._loader is not None:
            self._loader.close()


Lane = GraphLane | PackageLane


def open_lane(setup: Mapping[str, Any]) -> Lane:
    """The lane that a setup describes. One process, one lane.

    Raises:
        NoCorpus: a place of ``corpus`` holds no cases.
    """
    return GraphLane(setup) if LaneName(setup["lane"]) is LaneName.GRAPH else PackageLane(setup)


def serve_cells(
    lane: Lane,
    asked: str | Case,
    capture: str,
    cells: Sequence[CellKey],
    report: Reporter,
    likes: Mapping[str, str] | None = None,
    on_prepared: Callable[[Case, PreparedCase | NotPrepared], None] = lambda *_: None,
) -> float:
    """Prepare a case once and run its cells one by one; each ends in a record or in `broken`.

    ``asked`` is a case's name, or a case of no registry. ``likes`` has the programs of cells that
    were judged already, by the ``cell_id`` of those that are held against them. ``on_prepared``
    is told how the case was prepared, before its cells are run.

    Returns the seconds that were spent inside of stages.
    """
    clock = StageClock(lambda stage: report.at(None, stage))
    try:
        case = find_case(asked) if isinstance(asked, str) else asked
        try:
            prepared = lane.prepare(case, capture, clock)
        except NotPrepared as error:
            on_prepared(case, error)
            raise
        on_prepared(case, prepared)
    except NotPrepared as error:
        if is_full_disk(error.cause):  # as in a cell, it is no fact about the case
            for key in cells:
                report.broken(key)
        else:
            spent = clock.spent_seconds
            for key in cells:
                run = functools.partial(lane.run_unprepared, case, capture, key, error)
                spent += _serve(report, key, run)
            return spent
        return clock.spent_seconds
    except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
        for key in cells:
            report.broken(key)
        return clock.spent_seconds
    spent = clock.spent_seconds
    in_common = clock.seconds
    for key in cells:
        like = (likes or {}).get(key.cell_id, "")
        run = functools.partial(lane.run_cell, prepared, key, like=like)
        spent += _serve(report, key, run, in_common)
        in_common = {}  # what the cells of a case share is told once, in the first record
        if prepared.damaged:  # that cell's verdict says so; the next ones get a sound case
            clock = StageClock(functools.partial(report.at, key))
            prepared = lane.prepare(case, capture, clock)
            spent += clock.spent_seconds
    return spent


def _serve(
    report: Reporter,
    key: CellKey,
    run: Callable[[StageClock], CellRecord],
    in_common: Mapping[Stage, float] | None = None,
) -> float:
    """Run one cell, which ends in a record or in `broken`, and give the seconds of its stages."""
    clock = StageClock(functools.partial(report.at, key))
    clock.credit(in_common or {})
    try:
        record = run(clock)
    except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
        report.broken(key)
    else:
        report.ended([record])
    return clock.spent_seconds


@contextmanager
def lane_of(request: Mapping[str, Any]) -> Iterator[Lane]:
    """The lane of a question, all of whose subjects have to be there."""
    lane = open_lane(request)
    try:
        for error in lane.load_errors.values():
            raise LoadError(error)
        yield lane
    finally:
        lane.close()
