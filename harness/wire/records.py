"""The plain records in which the controller and a rig meet.

Every record is frozen. Times are in seconds, sizes in bytes, and a field's name ends in its unit.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.wire.builders import CUDA, EMULATED, PINNED, SEGMENT, Builder, Environment, Executor
from harness.wire.oracles import INLINED, Harm, Oracle, Symptom, gates
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import (
    LEFT_TO_PYTORCH,
    NOT_COMPILED,
    STAND_IN_RAISED,
    CellState,
    Outcome,
    Stage,
    SubjectKind,
)


@dataclass(frozen=True, order=True)
class CellKey:
    """The coordinates of one cell."""

    case: str
    capture: str
    subject: str
    route: Route
    lane: Lane = Lane.GRAPH
    builder: Builder = SEGMENT
    executor: Executor = EMULATED
    environment: Environment = PINNED

    @functools.cached_property
    def cell_id(self) -> str:
        """One string, unique in a run, and fit for a file name."""
        parts = (self.case, self.capture, self.subject, self.route)
        setting = (self.lane, self.builder, self.executor, self.environment)
        return "~".join(parts + setting).replace("/", "_").replace(":", "_")


@dataclass(frozen=True)
class Verdict:
    """What one oracle said of one cell.

    ``message`` holds what expectations are matched against: for a failure, the distinct classes
    of finding, sorted and joined by "; ", with no node name, address or path in it, so that it is
    the same on every machine; for n/a, the reason. ``evidence`` is for a person: node names,
    numbers, the tail of a traceback. ``harm`` is what a user sees of a failure; None for what did
    not fail, and in records of before schema 3. ``raised`` tells where upstream raised, as
    ``function (file:line): source line``, and is empty where nothing raised.
    """

    oracle: Oracle
    outcome: Outcome
    symptom: Symptom | None = None
    stage: Stage | None = None
    message: str = ""
    evidence: str = ""
    harm: Harm | None = None
    raised: str = ""

    @property
    def label(self) -> str:
        """``ok``, ``n/a`` or ``symptom@stage``."""
        if self.outcome is not Outcome.FAILED:
            return self.outcome.value
        return f"{self.symptom}@{self.stage}"

    @property
    def said(self) -> str:
        """The message; what the inlined module shows as the loaded program does is told once."""
        parts = self.message.split("; ")
        return "; ".join(part for part in parts if f"{INLINED}{part}" not in parts)

    @property
    def failed(self) -> bool:
        return self.outcome is Outcome.FAILED

    @property
    def graded(self) -> Harm:
        """The harm of a failure, as it was graded or as its oracle's failures usually are."""
        return self.harm or self.oracle.row.usual_harm


def passed(oracle: Oracle) -> Verdict:
    return Verdict(oracle, Outcome.OK)


def not_applicable(oracle: Oracle, reason: str) -> Verdict:
    return Verdict(oracle, Outcome.NOT_APPLICABLE, message=reason)


def completion_alone(ended: Verdict) -> tuple[Verdict, ...]:
    """The verdicts on a cell of which nothing but its early end is known."""
    reason = f"not reached: ended at {ended.stage}"
    others = [oracle for oracle in Oracle if oracle is not Oracle.COMPLETION]
    return (ended, *(not_applicable(oracle, reason) for oracle in others))


@dataclass(frozen=True)
class PackageSpec:
    """A release's whole package as the package lane runs it, with one builder of engines."""

    builder: Builder
    routes: tuple[Route, ...]
    tensorrt_running: str | None = None
    unavailable: str = ""  # why it cannot be asked, or empty
    executor: Executor = EMULATED

    @property
    def lane(self) -> Lane:
        return Lane.ENGINE if self.executor == CUDA else Lane.PACKAGE


@dataclass(frozen=True)
class SubjectSpec:
    """What a rig needs to know to load one subject.

    ``inliner_id`` is the SHA-256 over every module loaded out of a wheel for it: subjects with one
    id are executed once. ``hypothetical_routes`` are those that no user call reaches in it.
    """

    subject: str
    kind: SubjectKind
    routes: tuple[Route, ...]
    hypothetical_routes: tuple[Route, ...] = ()
    release: str | None = None
    wheel_path: str | None = None
    wheel_sha256: str | None = None
    exporter_path: str | None = None
    exporter_sha256: str | None = None  # None in runs of before this was asked
    checkout: str | None = None  # the folder of a working tree, of which the wheel was made
    held_against: str = ""  # of a candidate, if that is not its release
    inliner_id: str | None = None
    torch_pinned: str | None = None
    tensorrt_pinned: str | None = None
    unavailable: str = ""  # why it cannot be asked, or empty
    packages: tuple[PackageSpec, ...] = ()  # of a release; empty if the run leaves that lane out


@dataclass(frozen=True)
class CaseInfo:
    """A case as the controller sees it."""

    name: str
    family: str
    origin: str
    catches: str
    fallback: tuple[str, ...] = ()
    wiring: bool = False
    requires: tuple[str, ...] = ()
    capture: str | None = None  # the one mode that it is captured in; None: whatever a run asks for
    cross: bool = False  # asked by the route `cross` too
    lanes: tuple[Lane, ...] = (Lane.GRAPH,)  # that a run takes it through
    full: tuple[Lane, ...] = ()  # of these, those that only a full run takes it through
    dynamic: bool = False  # has dynamic dimensions
    state: bool = False  # writes to its own buffers
    containers: bool = False  # a user's own is given a list or the like by position
    real_engines: bool = False  # for builders that build real engines, too
    declared_at: str = ""  # file:line, of a case that is not the project's own
    wrong: str = ""  # why a user's own model cannot be asked
    module_of: str = ""  # the user's own model that this is too, its module given to `compile`

    def fits(self, route: Route) -> bool:
        """Whether it has what a route is about: sizes that vary, state, or what `save` rejects."""
        if route.row.state and not self.state:
            return False
        untaken = self.containers and route is Route.NO_RETRACE_NO_INPUTS
        return self.dynamic or untaken or not route.row.dynamic


@dataclass(frozen=True)
class CellRecord:
    """One ended cell: one line of the journal.

    ``carried_bytes`` is the size of the segments that travel behind real engines, so that an
    emulated executor can run them; they are in ``archive_bytes`` and not in ``engine_bytes``.
    ``steps`` is the number of engines and fallbacks of the case's split module, None where there
    was none. ``logged`` is what the release warned of, and logged at level WARNING, while the cell
    ran, each once, without addresses. ``kept_from`` is the run that asked the cell, where that was
    not the run that has the record; such a record has no ``seconds``. ``program`` is a digest over
    the program that was sent to disk, and over all else that the verdicts of a cell are made of; it
    is empty where there is none, or where nothing is shared.
    """

    key: CellKey
    state: CellState
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""
    hypothetical: bool = False
    measured_as: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    archive_bytes: int | None = None
    engine_bytes: int | None = None
    carried_bytes: int | None = None
    steps: int | None = None
    logged: tuple[str, ...] = ()
    attempts: int = 1
    ended_at_unix_s: float = 0.0
    kept_from: str = ""
    program: str = ""

    def verdict(self, oracle: Oracle) -> Verdict:
        """The oracle's verdict; n/a where it was not asked."""
        for verdict in self.verdicts:
            if verdict.oracle is oracle:
                return verdict
        return not_applicable(oracle, "not asked")

    @functools.cached_property
    def failures(self) -> tuple[Verdict, ...]:
        """Failed verdicts that are defects, worst oracle first."""
        failed = [verdict for verdict in self.verdicts if verdict.outcome is Outcome.FAILED]
        if not failed:  # as of most cells
            return ()
        defects = [verdict for verdict in failed if gates(verdict.oracle, self.key.route)]
        return tuple(sorted(defects, key=lambda verdict: verdict.oracle.severity))

    @property
    def user_failure(self) -> Verdict | None:
        """The failure that a user meets: what stopped the program, or else the one that harms most.

        A wrong wire in a program that could not be saved harms nobody silently.
        """
        stopped = self.verdict(Oracle.COMPLETION)
        if stopped.failed:
            return stopped
        return min(self.failures, key=lambda verdict: verdict.graded.severity, default=None)

    @property
    def harm(self) -> Harm | None:
        """The worst that a user sees of the cell; None where nothing fails."""
        return self.user_failure.graded if self.user_failure else None

    @property
    def right(self) -> bool:
        """Whether a user who saves, loads and runs gets all that he should."""
        return self.state is CellState.ENDED and self.harm in (None, Harm.COSMETIC)

    @property
    def rests_on_compile(self) -> bool:
        """Whether it was not asked since `compile` failed, which is told by the route `compile`."""
        return self.state is CellState.UNSUPPORTED and self.reason.startswith(NOT_COMPILED)

    @property
    def left_to_pytorch(self) -> bool:
        """Whether it could not be asked since PyTorch ran, and ran right, what an engine should."""
        return self.state is CellState.UNSUPPORTED and self.reason.startswith(LEFT_TO_PYTORCH)

    @property
    def stand_in_raised(self) -> bool:
        """Whether it could not be asked since what stands in for compiled code raised."""
        return self.state is CellState.UNSUPPORTED and self.reason.startswith(STAND_IN_RAISED)

    def unasked_as(self, other: CellRecord) -> bool:
        """Whether neither could be asked, for the same reason, or since a stand-in raised."""
        if {self.state, other.state} != {CellState.UNSUPPORTED}:
            return False
        return self.reason == other.reason or (self.stand_in_raised and other.stand_in_raised)

    @property
    def label(self) -> str:
        """The worst verdict's label, ``ok`` or ``unsupported``."""
        if self.state is CellState.UNSUPPORTED:
            return CellState.UNSUPPORTED.value
        return self.failures[0].label if self.failures else Outcome.OK.value
