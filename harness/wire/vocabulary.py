"""The words that a record is written in; oracles and routes have modules of their own."""

from __future__ import annotations

import enum

#: In a worker's temporary folder: the stage that it is in.
STAGE_FILE = "stage"

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

    def at_least(self, other: Stage) -> bool:
        """Whether who came to this stage came as far as the other."""
        return list(Stage).index(self) >= list(Stage).index(other)


COMPILE_PARTS = (Stage.LOWERING, Stage.CONVERSION, Stage.BUILD)

#: How the reason of a cell begins whose `compile` failed: that is told by the route `compile`.
NOT_COMPILED = "compile:"
#: And how that of a cell whose case ended before any inliner, by what the case is: then its stage.
ENDS_AT = "at "
#: How the reason of a cell begins in which what stands in for compiled code raised.
STAND_IN_RAISED = "what stands in for upstream's raised"
#: What the reason says of a case whose ops lowering renames, so that a release leaves none of them.
FALLS_BACK_TO_NOTHING = "falls back to nothing"
#: How that of a cell begins whose release logs why it builds no engine, and goes on in PyTorch.
LEFT_TO_PYTORCH = "PyTorch runs what an engine should"
#: How torch begins where it has traced a model, and found that a size cannot vary as stated.
SIZES_VIOLATED = "Constraints violated"
#: What the reason of a cell says that needs an engine which TensorRT itself deserialized.
NOT_EMULATED = "cannot be asked of emulated engines"


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
    BASE = "base"  # the revision that a checkout is held against
    FILE = "file"  # a candidate: an _exporter.py, a wheel, a checkout
    BUILTIN = "builtin"  # this project's own writing of an algorithm
    TORCH = "torch"  # no inliner: the control

    @property
    def brought(self) -> bool:
        """Whether a user brought its code, which no table knows."""
        return self in (SubjectKind.BASE, SubjectKind.FILE)


def exception_of(message: str) -> str:
    """The exception that a user sees, of the words by which a call ended.

    In place of the emulated engine's own it is the one that TensorRT's runtime raises.
    """
    error = message.partition(":")[0].partition(" ")[0]
    return "RuntimeError" if error == "EngineRefusal" else error
