"""The plain records in which the controller and a rig meet, and their JSON form.

Beside `harness.rig.bench.records` and `turns`, this is the only module of the rig that the
controller imports, and it imports the standard library alone: a report opens without torch, and a
rig runs in a bare environment. Every record is frozen, and goes to JSON and back without loss.
Times are in seconds, sizes in bytes, and a field's name ends in its unit.

History of ``SCHEMA``:
    1  the first: one verdict an oracle, stage seconds, archive and engine bytes.
    2  the oracles state, unflatten and determinism, and ``steps``. A record of schema 1 is read as
       one that was not asked these and does not know the other.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

SCHEMA = 2
READABLE = frozenset({1, SCHEMA})

# What an `_exporter.py` must define: the controller reads the file for them, the rig calls them.
REQUIRED_CALLS = (
    "transform",
    "inline_trt_modules",
    "inline_torch_modules",
    "create_trt_exp_program",
)

# What `transform` calls the argument that asks for another platform's program, from 2.6 on.
CROSS_ARGUMENTS = ("cross_compile_flag", "cross_compile_module")


class UnknownSchema(ValueError):
    """A record was written by a schema that this reader does not know."""


class Stage(enum.StrEnum):
    """Where on its way a cell was. Order is the way of the data (DESIGN.md, section 4)."""

    CAPTURE = "capture"
    SPLIT = "split"
    COMPILE = "compile"
    # Parts of a package's compile, told beside the whole; no cell is ever in one.
    LOWERING = "compile-lowering"  # all that comes before the partitioner
    CONVERSION = "compile-conversion"  # segments into networks
    BUILD = "compile-build"  # networks into engines
    INLINE_ENGINES = "inline-engines"
    INLINE_FALLBACKS = "inline-fallbacks"
    CLEAN = "clean"
    EXPORT = "export"
    SAVE = "save"
    LOAD = "load"
    RUN = "run"


COMPILE_PARTS = (Stage.LOWERING, Stage.CONVERSION, Stage.BUILD)


class Route(enum.StrEnum):
    """How a split module becomes a program."""

    LEGACY = "legacy"  # transform, then create_trt_exp_program
    EXPORT = "export"  # transform, then torch.export.export
    DIRECT = "direct"  # torch.export.export of the split module: no inliner
    PLAIN = "plain"  # torch.export.export of the model, no engines: torch's own control
    CROSS = "cross"  # as legacy or export, with placeholders for engines, and back after loading
    # Of the package lane: what a user calls, `torch_tensorrt.save(module, file, ...)`.
    NO_RETRACE = "no-retrace"  # retrace=False
    NO_RETRACE_EXPORT = "no-retrace-export"  # retrace=False, use_legacy_exporter=False; from 2.11
    RETRACE = "retrace"  # retrace=True; a dynamic model is specialised to its example
    RETRACE_DYNAMIC = "retrace-dynamic"  # retrace=True, dynamic_shapes=...; from 2.11
    RETRACE_DYNAMIC_LEGACY = "retrace-dynamic-legacy"  # ... and use_legacy_exporter=True

    @property
    def reaches(self) -> Route:
        """The route of the graph lane that a call of the package comes to; itself for the others.

        Source: `save` in torch_tensorrt/_compile.py of 2.6.0 to 2.14.0.
        """
        return _REACHES.get(self, self)


_REACHES = {
    Route.NO_RETRACE: Route.LEGACY,
    Route.NO_RETRACE_EXPORT: Route.EXPORT,
    Route.RETRACE: Route.DIRECT,
    Route.RETRACE_DYNAMIC: Route.EXPORT,
    Route.RETRACE_DYNAMIC_LEGACY: Route.LEGACY,
}
# Those that only a model with dynamic dimensions can be saved by.
DYNAMIC_ROUTES = frozenset({Route.RETRACE_DYNAMIC, Route.RETRACE_DYNAMIC_LEGACY})


class Lane(enum.StrEnum):
    GRAPH = "graph"
    PACKAGE = "package"
    ENGINE = "engine"  # the package lane with builder and executor real, on a GPU


SEGMENT = "segment"
PINNED = "pinned"  # the environment with one torch for all releases
# Of a cell's builder the beginning, such as `tensorrt-rtx-1.6.1.120`.
RTX = "tensorrt-rtx"
TENSORRT = "tensorrt"
# How engines run: their segments on a CPU, or TensorRT on a GPU.
EMULATED = "emulated"
CUDA = "cuda"


class Oracle(enum.StrEnum):
    """The checks, worst first: the order is the order of severity."""

    VALUES = "values"
    WIRING = "wiring"
    COMPLETION = "completion"
    STRUCTURE = "structure"
    SIGNATURE = "signature"
    STATE = "state"
    METADATA = "metadata"
    UNFLATTEN = "unflatten"
    DETERMINISM = "determinism"

    @property
    def severity(self) -> int:
        """0 for the worst."""
        return _SEVERITIES[self]


_SEVERITIES = {oracle: severity for severity, oracle in enumerate(Oracle)}
# Oracles that records of schema 1 know nothing of.
SINCE_SCHEMA_2 = (Oracle.STATE, Oracle.UNFLATTEN, Oracle.DETERMINISM)


def gates(oracle: Oracle, route: str) -> bool:
    """Whether a failure is a defect; to be unflattened after inlining is a capability to report."""
    return oracle is not Oracle.UNFLATTEN or Route(route).reaches is Route.DIRECT


class Symptom(enum.StrEnum):
    WRONG_VALUES = "wrong-values"
    WRONG_WIRING = "wrong-wiring"
    ERROR = "error"
    TIMEOUT = "timeout"
    KILLED = "killed"
    FLAKY = "flaky"
    WRONG_STRUCTURE = "wrong-structure"
    WRONG_SIGNATURE = "wrong-signature"
    LOST_STATE = "lost-state"
    WRONG_METADATA = "wrong-metadata"
    NOT_UNFLATTENABLE = "not-unflattenable"
    NONDETERMINISTIC = "nondeterministic"


class Outcome(enum.StrEnum):
    """What an oracle said."""

    OK = "ok"
    NOT_APPLICABLE = "n/a"
    FAILED = "failed"


class CellState(enum.StrEnum):
    ENDED = "ended"
    UNSUPPORTED = "unsupported"  # the question could not be asked; never a pass


class SubjectKind(enum.StrEnum):
    RELEASE = "release"  # the inliner out of a released wheel
    FILE = "file"  # an _exporter.py, with a release's wheel around it
    BUILTIN = "builtin"  # this project's own writing of an algorithm
    TORCH = "torch"  # no inliner: the control


@dataclass(frozen=True, order=True)
class CellKey:
    """The coordinates of one cell."""

    case: str
    capture: str
    subject: str
    route: str
    lane: str = Lane.GRAPH.value
    builder: str = "segment"
    executor: str = EMULATED
    environment: str = PINNED

    @functools.cached_property
    def cell_id(self) -> str:
        """One string, unique in a run, and fit for a file name."""
        parts = (self.case, self.capture, self.subject, self.route)
        setting = (self.lane, self.builder, self.executor, self.environment)
        return "~".join(parts + setting).replace("/", "_").replace(":", "_")


@dataclass(frozen=True)
class Verdict:
    """What one oracle said of one cell.

    ``message`` holds what a ledger entry is matched against: for a failure, the distinct classes
    of finding, sorted and joined by "; ", with no node name, address or path in it, so that it is
    the same on every machine; for n/a, the reason. ``evidence`` is for a person: node names,
    numbers, the tail of a traceback.
    """

    oracle: Oracle
    outcome: Outcome
    symptom: Symptom | None = None
    stage: Stage | None = None
    message: str = ""
    evidence: str = ""

    @property
    def label(self) -> str:
        """``ok``, ``n/a`` or ``symptom@stage``."""
        if self.outcome is not Outcome.FAILED:
            return self.outcome.value
        return f"{self.symptom}@{self.stage}"

    @property
    def failed(self) -> bool:
        return self.outcome is Outcome.FAILED


def passed(oracle: Oracle) -> Verdict:
    return Verdict(oracle, Outcome.OK)


def not_applicable(oracle: Oracle, reason: str) -> Verdict:
    return Verdict(oracle, Outcome.NOT_APPLICABLE, message=reason)


TOO_OLD = "not asked: recorded before this oracle existed"


def with_later_oracles(verdicts: tuple[Verdict, ...], schema: int) -> tuple[Verdict, ...]:
    """A cell's verdicts as this schema has them: what was not asked at the time is n/a."""
    if schema == SCHEMA or not verdicts:
        return verdicts
    return (*verdicts, *(not_applicable(oracle, TOO_OLD) for oracle in SINCE_SCHEMA_2))


@dataclass(frozen=True)
class PackageSpec:
    """A release's whole package as the package lane runs it, with one builder of engines."""

    builder: str
    routes: tuple[str, ...]
    tensorrt_running: str | None = None
    unavailable: str = ""  # why it cannot be asked, or empty
    executor: str = EMULATED

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
    routes: tuple[str, ...]
    hypothetical_routes: tuple[str, ...] = ()
    release: str | None = None
    wheel_path: str | None = None
    wheel_sha256: str | None = None
    exporter_path: str | None = None
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
    quick: bool = False
    full: bool = False  # only in a full run
    requires: tuple[str, ...] = ()
    capture: str | None = None  # the one mode that it is captured in; None: whatever a run asks for
    cross: bool = False  # asked by the route `cross` too
    lane: str = Lane.GRAPH.value
    dynamic: bool = False  # has dynamic dimensions; stated for cases of the package lane only
    real_engines: bool = False  # for builders that build real engines, too


@dataclass(frozen=True)
class CellRecord:
    """One ended cell: one line of the journal.

    ``carried_bytes`` is the size of the segments that travel behind real engines, so that an
    emulated executor can run them; they are in ``archive_bytes`` and not in ``engine_bytes``.
    ``steps`` is the number of engines and fallbacks of the case's split module, None where there
    was none.
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
    attempts: int = 1
    ended_at_unix_s: float = 0.0

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
    def met(self) -> Verdict | None:
        """The failure that a user meets: what stopped the program, or else the worst one.

        A wrong wire in a program that could not be saved harms nobody silently.
        """
        stopped = self.verdict(Oracle.COMPLETION)
        if stopped.failed:
            return stopped
        return self.failures[0] if self.failures else None

    @property
    def label(self) -> str:
        """The worst verdict's label, ``ok`` or ``unsupported``."""
        if self.state is CellState.UNSUPPORTED:
            return CellState.UNSUPPORTED.value
        return self.failures[0].label if self.failures else Outcome.OK.value


def to_json(record: Any) -> dict[str, Any]:
    """A record as JSON data, with its schema's number."""
    return {"schema": SCHEMA, **dataclasses.asdict(record)}


def check_schema(data: Mapping[str, Any], where: str) -> None:
    """Raise UnknownSchema unless ``data`` is of a schema that this module reads."""
    found = data.get("schema")
    if found not in READABLE:
        readable = " and ".join(map(str, sorted(READABLE)))
        raise UnknownSchema(
            f"{where}: schema {found!r}, but this harness reads schema {readable}; "
            "read it with the harness version that wrote it"
        )


def key_from_json(data: Mapping[str, str]) -> CellKey:
    """A CellKey that shares its few different words with all others."""
    return CellKey(**{name: sys.intern(word) for name, word in data.items()})


_told = operator.itemgetter("oracle", "outcome", "symptom", "stage", "message", "evidence")


def verdict_from_json(data: Mapping[str, Any]) -> Verdict:
    return _verdict(*_told(data))


@functools.cache
def _verdict(
    oracle: str, outcome: str, symptom: str | None, stage: str | None, message: str, evidence: str
) -> Verdict:
    """One object for all that are equal: of a run's million verdicts few differ."""
    return Verdict(
        oracle=Oracle(oracle),
        outcome=Outcome(outcome),
        symptom=Symptom(symptom) if symptom else None,
        stage=Stage(stage) if stage else None,
        message=message,
        evidence=evidence,
    )


def cell_from_json(
    data: Mapping[str, Any],
    where: str = "record",
    keys: Mapping[CellKey, CellKey] = MappingProxyType({}),
) -> CellRecord:
    """A CellRecord from its JSON form.

    Args:
        keys: those that are there already, to be shared: a large run has each of them once.

    Raises:
        UnknownSchema: written by another schema.
        KeyError, ValueError: a field is missing or has an unknown value.
    """
    check_schema(data, where)
    verdicts = tuple(map(verdict_from_json, data["verdicts"]))
    key = key_from_json(data["key"])
    return CellRecord(
        key=keys.get(key, key),
        state=CellState(data["state"]),
        verdicts=with_later_oracles(verdicts, data["schema"]),
        reason=data["reason"],
        hypothetical=data["hypothetical"],
        measured_as=data["measured_as"],
        seconds={sys.intern(stage): seconds for stage, seconds in data["seconds"].items()},
        archive_bytes=data["archive_bytes"],
        engine_bytes=data["engine_bytes"],
        carried_bytes=data.get("carried_bytes"),
        steps=data.get("steps"),
        attempts=data["attempts"],
        ended_at_unix_s=data["ended_at_unix_s"],
    )


def subject_from_json(data: Mapping[str, Any]) -> SubjectSpec:
    check_schema(data, "subject")
    fields = {name: value for name, value in data.items() if name != "schema"}
    fields["kind"] = SubjectKind(fields["kind"])
    fields["routes"] = tuple(fields["routes"])
    fields["hypothetical_routes"] = tuple(fields["hypothetical_routes"])
    fields["packages"] = tuple(
        PackageSpec(**{**each, "routes": tuple(each["routes"])})
        for each in fields.get("packages", ())
    )
    return SubjectSpec(**fields)


def case_from_json(data: Mapping[str, Any]) -> CaseInfo:
    check_schema(data, "case")
    fields = {name: value for name, value in data.items() if name != "schema"}
    fields["fallback"] = tuple(fields["fallback"])
    fields["requires"] = tuple(fields["requires"])
    return CaseInfo(**fields)
