"""The tables of the package lane and of the engine lane, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.report.frames.matrix_views import MatrixCell
from harness.report.frames.measure_views import Quartiles
from harness.report.sections.views import FailingSubject
from harness.wire.routes import Lane


@dataclass(frozen=True)
class PackageCall:
    """A route of these lanes: what a user writes, and what the package comes to by it."""

    route: str
    call: str
    reaches: str
    inlines: bool


@dataclass(frozen=True)
class PackageRow:
    """A release's package, what it pins, and its cell by every call of the lane.

    ``name`` is the release's, and the builder's of its engines where that is a real one.
    ``tensorrt_ran`` is the TensorRT that was imported, or empty.
    """

    release: str
    name: str
    torch: str
    tensorrt: str
    tensorrt_ran: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class PackageMeasure:
    """Seconds and bytes of one call in one release; None where nothing was measured.

    ``save`` is the whole call, ``inline`` the inliner's part of it.
    """

    name: str
    call: PackageCall
    save: Quartiles | None
    inline: Quartiles | None
    load: Quartiles | None
    archive: Quartiles | None
    engines: Quartiles | None


@dataclass(frozen=True)
class CompileMeasure:
    """Seconds of `torch_tensorrt.dynamo.compile`, and of its parts; None where not measured.

    Of an engine that was kept from an earlier run conversion and build are what they took then.
    """

    whole: Quartiles
    lowering: Quartiles | None
    conversion: Quartiles | None
    build: Quartiles | None


@dataclass(frozen=True)
class PackageLane:
    """What users of a release meet in one lane. ``compile`` is by a package's name.

    ``emulated``: of some cell the engines were. ``older`` counts the releases that are left out
    because there are too many, and ``older_failing`` their failing cells.
    """

    lane: Lane
    emulated: bool
    calls: tuple[PackageCall, ...]
    cases: int
    rows: tuple[PackageRow, ...]
    measures: tuple[PackageMeasure, ...]
    compile: Mapping[str, CompileMeasure]
    failing: tuple[FailingSubject, ...]
    older: int = 0
    older_failing: int = 0

    @property
    def title(self) -> str:
        """The section's title."""
        if self.lane is Lane.ENGINE:
            return "In the engine lane by call: whole packages, with engines that run on a GPU"
        return "What users of a release meet: its whole package"
