"""The words that a record is written in: stages, routes, lanes, oracles, symptoms, outcomes.

What this module, `records` and `record_json` define is all that the controller imports of the rig,
beside the records of the bench. They import the standard library alone: a report opens without
torch, and a rig runs in a bare environment.
"""

from __future__ import annotations

import enum

# What an `_exporter.py` must define: the controller reads the file for them, the rig calls them.
REQUIRED_CALLS = (
    "transform",
    "inline_trt_modules",
    "inline_torch_modules",
    "create_trt_exp_program",
)

# What `transform` calls the argument that asks for another platform's program, from 2.6 on.
CROSS_ARGUMENTS = ("cross_compile_flag", "cross_compile_module")


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

    # transform, then create_trt_exp_program; given what `save(retrace=False)` gives them: inputs,
    LEGACY = "legacy"
    LEGACY_NO_INPUTS = "legacy-no-inputs"  # ... none, as a user may from 2.11 on,
    LEGACY_DYNAMIC = "legacy-dynamic"  # ... or inputs and dynamic shapes; from 2.11
    EXPORT = "export"  # transform, then torch.export.export, with inputs and dynamic shapes
    DIRECT = "direct"  # torch.export.export of the split module: no inliner
    PLAIN = "plain"  # torch.export.export of the model, no engines: torch's own control
    CROSS = "cross"  # as legacy or export, with placeholders for engines, and back after loading
    # Of the package lane: `torch_tensorrt.dynamo.compile`, and the module that it returns.
    COMPILE = "compile"
    # Then what a user calls, `torch_tensorrt.save(module, file, ...)`.
    NO_RETRACE = "no-retrace"  # retrace=False
    NO_RETRACE_NO_INPUTS = "no-retrace-no-inputs"  # ... without inputs; from 2.11
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

    @property
    def lane(self) -> Lane:
        """Whose it is, the graph lane's or the package lane's."""
        return Lane.GRAPH if self in _OF_INLINERS else Lane.PACKAGE

    @property
    def is_legacy(self) -> bool:
        """Whether `create_trt_exp_program` makes the program, whatever it is given."""
        return self.reaches in _LEGACY


_LEGACY = frozenset({Route.LEGACY, Route.LEGACY_NO_INPUTS, Route.LEGACY_DYNAMIC})
_OF_INLINERS = _LEGACY | {Route.EXPORT, Route.DIRECT, Route.PLAIN, Route.CROSS}
_REACHES = {
    Route.NO_RETRACE: Route.LEGACY,
    Route.NO_RETRACE_NO_INPUTS: Route.LEGACY_NO_INPUTS,
    Route.NO_RETRACE_EXPORT: Route.EXPORT,
    Route.RETRACE: Route.DIRECT,
    Route.RETRACE_DYNAMIC: Route.EXPORT,
    Route.RETRACE_DYNAMIC_LEGACY: Route.LEGACY_DYNAMIC,
}
# Those that only a model with dynamic dimensions is asked to be saved by.
DYNAMIC_ROUTES = frozenset(
    {
        Route.LEGACY_NO_INPUTS,
        Route.LEGACY_DYNAMIC,
        Route.NO_RETRACE_NO_INPUTS,
        Route.RETRACE_DYNAMIC,
        Route.RETRACE_DYNAMIC_LEGACY,
    }
)


class Lane(enum.StrEnum):
    GRAPH = "graph"
    PACKAGE = "package"
    ENGINE = "engine"  # the package lane with builder and executor real, on a GPU


#: How the reason of a cell begins whose `compile` failed: that is told by the route `compile`.
NOT_COMPILED = "compile:"
#: And how that of a cell whose case ended before any inliner, by what the case is: then its stage.
ENDS_AT = "at "

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

    @property
    def usual_harm(self) -> Harm:
        """The harm of its failures where a record of before schema 3 does not grade them."""
        if self in (Oracle.VALUES, Oracle.WIRING):
            return Harm.SILENT
        return Harm.ERROR if self is Oracle.COMPLETION else Harm.INTERFACE


_SEVERITIES = {oracle: severity for severity, oracle in enumerate(Oracle)}


def is_asked(oracle: Oracle, route: Route) -> bool:
    """Whether an oracle has a question about what comes of a route.

    The plain control has no split module to hold its wiring against, and a compiled module in
    memory is no program yet.
    """
    if route == Route.COMPILE:
        return oracle in (Oracle.VALUES, Oracle.COMPLETION)
    return oracle is not Oracle.WIRING or route != Route.PLAIN


def gates(oracle: Oracle, route: Route) -> bool:
    """Whether a failure is a defect; to be unflattened after inlining is a capability to report."""
    return oracle is not Oracle.UNFLATTEN or route.reaches is Route.DIRECT


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


class Harm(enum.StrEnum):
    """What a person who calls the product sees of a failure, worst first."""

    SILENT = "silent"  # runs, without an error or a warning, and returns or leaves something else
    WARNED = "warned"  # the same, announced by a warning or documented by the release
    ERROR = "error"  # no program, or one that raises
    INTERFACE = "interface"  # the numbers are right; how they are packed, or what may be given, not
    COSMETIC = "cosmetic"  # seen on an object in memory alone, which no consumer reads otherwise

    @property
    def severity(self) -> int:
        """0 for the worst."""
        return list(Harm).index(self)


class Reach(enum.StrEnum):
    """Who makes such a split, as observed; the widest first."""

    PRODUCT = (
        "product"  # a release's `torch_tensorrt.dynamo.compile` makes this split of this model
    )
    EXPORTED = "exported"  # `torch.export` and the splitter make it
    HANDMADE = "handmade"  # neither does


class SplitSeen(enum.StrEnum):
    """What a release's package makes of a model, beside the graph lane's split of it."""

    SAME = "same"  # the same children, ops and edges, and a program of them
    DIFFERENT = "different"
    REFUSED = "refused"  # it does not compile the model


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
