"""What makes a cell's engines, what runs them, and in which environment. A row a kind of builder.

Their values are text, as cells, files and tables hold it, that knows its own parts. A new kind of
builder that makes no real engines is a row here and no more.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


class BuilderKind(enum.StrEnum):
    SEGMENT = "segment"  # engine bytes that are the segment itself
    RTX = "tensorrt-rtx"  # builds without a GPU
    TENSORRT = "tensorrt"

    @property
    def row(self) -> BuilderRow:
        return BUILDERS[self]


@dataclass(frozen=True)
class BuilderRow:
    """What is to be known of a kind of builder.

    Attributes:
        title: as a reader knows it.
        real: whether it builds engines; otherwise they are segments.
        distribution: of the whole package that has it, as pip names it; empty where all have it.
        without_gpu: whether the package lane has it.
        bindings: the table of `bindings.toml` that has the TensorRT of its packages.
        pin: the pin of a release in `releases.toml` that names this TensorRT.
    """

    title: str
    real: bool = True
    distribution: str = ""
    without_gpu: bool = True
    bindings: str = "bindings"
    pin: str = "tensorrt"


BUILDERS: Final[Mapping[BuilderKind, BuilderRow]] = {
    BuilderKind.SEGMENT: BuilderRow("TensorRT", real=False),
    BuilderKind.TENSORRT: BuilderRow("TensorRT", distribution="torch-tensorrt", without_gpu=False),
    BuilderKind.RTX: BuilderRow(
        "TensorRT-RTX", distribution="torch-tensorrt-rtx", bindings="rtx", pin="tensorrt_rtx"
    ),
}


class Builder(str):
    """A kind of builder, and its version where it has one: ``tensorrt-rtx-1.6.1.120``."""

    kind: BuilderKind
    version: str

    def __new__(cls, text: str) -> Builder:
        """The builder that a text names.

        Raises:
            ValueError: there is no such kind.
        """
        kinds = [kind for kind in BuilderKind if text == kind or text.startswith(f"{kind}-")]
        if not kinds:
            raise ValueError(f"no builder {text!r}; there are {', '.join(BuilderKind)}")
        builder = str.__new__(cls, text)
        builder.kind = max(kinds, key=len)
        builder.version = text[len(builder.kind) + 1 :]
        return builder

    @classmethod
    def of(cls, kind: BuilderKind, version: str = "") -> Builder:
        return cls(f"{kind}-{version}" if version else kind.value)

    @classmethod
    @functools.cache
    def shared(cls, text: str) -> Builder:
        """One object for all that are equal: a run has few."""
        return cls(text)

    @property
    def real(self) -> bool:
        return self.kind.row.real


class Executor(enum.StrEnum):
    """How engines run."""

    EMULATED = "emulated"  # their segments, on a CPU
    CUDA = "cuda"  # TensorRT, on a GPU


class Environment(str):
    """Where cells run: ``pinned``, or a matched one, such as ``torch-2.14.0``."""

    @property
    def is_pinned(self) -> bool:
        return self == PINNED

    @property
    def kind(self) -> str:
        return PINNED if self.is_pinned else MATCHED

    @property
    def series(self) -> str:
        """It without the patch of its torch, such as ``torch-2.14``, which releases ask for."""
        return PINNED if self.is_pinned else ".".join(self.split(".")[:2])


SEGMENT: Final = Builder.of(BuilderKind.SEGMENT)
#: The environment with one torch for all releases.
PINNED: Final = Environment("pinned")
#: The environments that have the torch which their releases pin.
MATCHED: Final = "matched"
EMULATED: Final = Executor.EMULATED
CUDA: Final = Executor.CUDA
