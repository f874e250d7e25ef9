"""The plain records in which a bench and its workers meet; standard library alone."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Metric(enum.StrEnum):
    """What one call of a worker gives a number for, in seconds; the order is that of the data."""

    INLINE_ENGINES = "inline-engines"
    INLINE_FALLBACKS = "inline-fallbacks"
    CLEAN = "clean"
    INLINE = "inline"  # the three before it together: `transform`
    EXPORT = "export"
    SAVE = "save"  # torch.export.save to a path, as a user calls it
    SERIALIZE = "serialize"  # torch.export.save into memory
    WRITE = "write"  # those bytes to a file
    FSYNC = "fsync"  # ... and the file to the disk
    LOAD_COLD = "load-cold"  # after the file was dropped from the page cache
    LOAD_WARM = "load-warm"
    MODULE = "module"  # ExportedProgram.module()
    FIRST_CALL = "first-call"
    STEADY_CALL = "steady-call"


INLINE_PARTS = (Metric.INLINE_ENGINES, Metric.INLINE_FALLBACKS, Metric.CLEAN)

# What is measured in one go: who asks for one of a row has to run the whole of it.
PASSES: Mapping[str, tuple[Metric, ...]] = {
    "inline": (*INLINE_PARTS, Metric.INLINE, Metric.EXPORT),
    "save": (Metric.SAVE,),
    "write": (Metric.SERIALIZE, Metric.WRITE, Metric.FSYNC),
    "load": (Metric.LOAD_COLD, Metric.LOAD_WARM),
    "call": (Metric.MODULE, Metric.FIRST_CALL, Metric.STEADY_CALL),
}


class UserMetric(enum.StrEnum):
    """The package lane's measures: seconds of a user's own calls of a whole package, unwrapped."""

    SAVE = "user-save"  # torch_tensorrt.save to a path
    LOAD_COLD = "user-load-cold"  # torch_tensorrt.load after the file was dropped from the cache
    LOAD_WARM = "user-load-warm"
    IMPORT_TORCH = "import-torch"  # `import torch`, in a fresh Python process
    IMPORT = "import"  # `import torch_tensorrt` behind it


USER_PASSES: Mapping[str, tuple[UserMetric, ...]] = {
    "user-save": (UserMetric.SAVE,),
    "user-load": (UserMetric.LOAD_COLD, UserMetric.LOAD_WARM),
    "import": (UserMetric.IMPORT_TORCH, UserMetric.IMPORT),
}


class Size(enum.StrEnum):
    """What is measured in bytes, by a worker of its own."""

    FILE = "file"
    ENGINES = "engines"
    SAVE_PEAK = "save-peak"  # above what the process had before
    LOAD_PEAK = "load-peak"
    AFTER_LOAD = "after-load"


@dataclass(frozen=True)
class BenchCase:
    """A case of the corpus, or with a ``sweep`` one of a size that no corpus needs."""

    name: str
    sweep: str = ""
    size: int = 0


# Stands for a case if the import of the package itself is measured.
IMPORTED = BenchCase("torch_tensorrt")


@dataclass(frozen=True)
class Arm:
    """One of the workers of a block.

    The worker waits ``delay_s`` inside of the timed region of ``delayed``, as a known regression.
    """

    name: str
    subject: str
    route: str
    delayed: str = ""
    delay_s: float = 0.0


def passes_for(metrics: Sequence[str]) -> tuple[str, ...]:
    """The passes that measure these metrics."""
    passes: Mapping[str, Sequence[str]] = {**PASSES, **USER_PASSES}
    return tuple(
        name for name, measured in passes.items() if any(metric in metrics for metric in measured)
    )


def case_of(data: Mapping[str, Any]) -> BenchCase:
    return BenchCase(**data)


def arm_of(data: Mapping[str, Any]) -> Arm:
    return Arm(**data)
