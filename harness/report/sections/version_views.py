"""What the version matrix shows, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.report.frames.harms import Harms
from harness.report.frames.matrix_views import MatrixCell
from harness.report.frames.measure_views import Quartiles
from harness.report.sections.package_lane import CALLS, called
from harness.wire.builders import CUDA, PINNED, SEGMENT, Builder
from harness.wire.routes import Lane, Route

MEASURED_BY: Final[Mapping[Lane, Route]] = {
    Lane.GRAPH: Route.LEGACY,
    Lane.PACKAGE: Route.NO_RETRACE,
    Lane.ENGINE: Route.NO_RETRACE,
}
"""The route by which a lane's rows are measured: one that every release has, by its inliner."""


@dataclass(frozen=True)
class Measures:
    """Seconds and bytes of one row; None where nothing was measured.

    ``save`` is all from the split module to the file, ``bare`` the file without the segments that
    it carries behind real engines, for the emulated executor. ``lowering``, ``conversion`` and
    ``build`` are parts of ``compile``, of which the graph lane has none.
    """

    save: Quartiles | None
    load: Quartiles | None
    archive: Quartiles | None
    bare: Quartiles | None
    compile: Quartiles | None = None
    lowering: Quartiles | None = None
    conversion: Quartiles | None = None
    build: Quartiles | None = None


@dataclass(frozen=True)
class Step:
    """A row held against one before it: its name, what was another, and cells that turned.

    ``worse`` fail in both, and now by a worse oracle, such as silently where it was an error.
    """

    against: str
    changed: str
    compared: int
    fixed: int
    worse: int
    broken: int


@dataclass(frozen=True)
class VersionRow:
    """One release as it ran. A version is empty where there is none, or none was recorded.

    ``families`` are in the order of the block's. ``harms`` are of its failing cells. ``shares`` are
    the releases of the block with the same inliner, this one too; ``step`` is None in a block's
    first row.
    """

    release: str
    builder: str
    environment: str
    torch_pinned: str
    torch: str
    tensorrt: str
    inliner: str
    shares: tuple[str, ...]
    whole: MatrixCell
    families: tuple[MatrixCell, ...]
    harms: Harms
    measures: Measures
    environment_bytes: int | None
    step: Step | None = None

    @property
    def name(self) -> str:
        """Such as ``2.13.0`` and ``2.13.0 tensorrt-rtx-1.5.0.114``."""
        return called(self.release, self.builder)

    @property
    def engines(self) -> str:
        """What made the engines: ``TensorRT-RTX 1.5.0.114``; what was imported with segments."""
        if not self.tensorrt:
            return ""
        return f"{Builder.shared(self.builder).kind.row.title} {self.tensorrt}"


@dataclass(frozen=True)
class VersionBlock:
    """Rows that can be compared, the oldest release first."""

    lane: Lane
    executor: str
    environments: str  # pinned or matched
    builds: str  # segment, tensorrt-rtx or tensorrt
    families: tuple[str, ...]
    rows: tuple[VersionRow, ...]

    @property
    def title(self) -> str:
        """Such as ``package lane, matched environments, engines by tensorrt-rtx, emulated``."""
        how = "run on a GPU" if self.executor == CUDA else self.executor
        which = "pinned environment" if self.environments == PINNED else "matched environments"
        engines = "segments as engines" if self.builds == SEGMENT else f"engines by {self.builds}"
        return f"{self.lane} lane, {which}, {engines}, {how}"

    @property
    def measured_by(self) -> str:
        """How what was measured was saved, in the words of the lane."""
        route = MEASURED_BY[self.lane]
        return CALLS.get(route, f"route {route}")

    @property
    def groups(self) -> tuple[tuple[VersionRow, ...], ...]:
        """Neighbouring rows with one inliner."""
        found: list[list[VersionRow]] = []
        for row in self.rows:
            if found and row.inliner and found[-1][-1].inliner == row.inliner:
                found[-1].append(row)
            else:
                found.append([row])
        return tuple(map(tuple, found))

    def newest(self, most: int) -> tuple[tuple[VersionRow, ...], ...]:
        """The last groups, of so many rows at most; the last one in any case."""
        shown: list[tuple[VersionRow, ...]] = []
        for group in reversed(self.groups):
            if shown and sum(map(len, shown)) + len(group) > most:
                break
            shown.insert(0, group)
        return tuple(shown)
