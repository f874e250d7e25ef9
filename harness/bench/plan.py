"""The plan of a bench, which is made before the first worker starts and kept with the samples."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.base.errors import UsageError
from harness.bench.measures import ALL_STAGES
from harness.stats.blocks import log_ratio
from harness.wire.bench_records import IMPORTED, Arm, BenchCase, passes_for
from harness.wire.builders import SEGMENT
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane

BASELINE, CANDIDATE, AGAIN = "baseline", "candidate", "again"
ARMS: Final = (BASELINE, CANDIDATE, AGAIN)

SWEEPS: Final[Mapping[str, tuple[int, ...]]] = {
    "steps": (10, 20, 50, 100, 200, 400),
    "fan-out": (4, 8, 16, 32, 64),
    "ballast": (10**3, 10**6, 16 * 10**6, 64 * 10**6, 256 * 10**6),
    "parameters": (10**3, 10**4, 10**5, 10**6, 10**7),
}
MORE_IN_FULL: Final[Mapping[str, tuple[int, ...]]] = {
    "steps": (1000,),
    "fan-out": (128, 256),
    "ballast": (10**9,),
    "parameters": (10**8,),
}
# Above this a block's workers do not live at once.
TOGETHER_BYTES: Final = 50 * 10**6
# What saving and loading take at their peak, as a multiple of the engine bytes: base64 text, the
# archive in memory, and copies of both.
PEAK_MULTIPLE: Final = 12


@dataclass(frozen=True)
class BenchCell:
    """One case by one route; all arms of a cell share both."""

    case: BenchCase
    route: str
    family: str = ""
    # Judge it although it belongs to a sweep. This is not in the text from which seeds are drawn,
    # so that benches that began before this field existed keep their seeds.
    judged: bool = field(default=False, repr=False)

    @property
    def cell_id(self) -> str:
        return f"{self.case.name}~{self.route}"

    @property
    def gates(self) -> bool:
        """Whether it gates. A sweep is measured for its exponent and does not gate by itself."""
        return self.judged or not self.case.sweep

    @property
    def fresh(self) -> bool:
        """Whether each call is a process of its own, so that nothing can be warmed up."""
        return self.case == IMPORTED

    @property
    def bytes_needed(self) -> int:
        """The memory that saving and loading take, as far as it can be known beforehand."""
        if self.case.sweep == "ballast":
            return self.case.size * PEAK_MULTIPLE
        return self.case.size * 4 * PEAK_MULTIPLE if self.case.sweep == "parameters" else 0

    @property
    def together(self) -> bool:
        return self.bytes_needed <= TOGETHER_BYTES * PEAK_MULTIPLE


#: The import of the package itself.
IMPORT_CELL: Final = BenchCell(IMPORTED, "import")


@dataclass(frozen=True)
class Bands:
    """The largest accepted slowdown in per cent; the most particular band counts."""

    default: float = 5.0
    particular: tuple[tuple[str, float], ...] = ()  # "save" or "family/save" to per cent

    def of(self, family: str, stage: str) -> float:
        """The band of a stage of a case, as a log-ratio."""
        by_key = dict(self.particular)
        for key in (f"{family}/{stage}", stage):
            if key in by_key:
                return log_ratio(by_key[key])
        return log_ratio(self.default)


@dataclass(frozen=True)
class BenchPlan:
    """``metrics`` are measured, and the ``gating`` ones among them decide. ``alpha`` is the
    probability that identical code is called regressed or improved anywhere in the run."""

    baseline: str
    candidate: str
    cells: tuple[BenchCell, ...]
    metrics: tuple[str, ...]
    gating: tuple[str, ...]
    bands: Bands
    budget_s: float
    seed: int
    alpha: float = 0.002
    control_alpha: float = 0.001
    spawn: bool = False
    sizes: bool = True  # ask for bytes, too
    sizes_of_each: int = 3  # workers that tell bytes, an arm
    delayed: str = ""  # a metric of the candidate that is made slower on purpose: a selftest's
    delay_s: float = 0.0
    lane: str = Lane.GRAPH
    builder: str = SEGMENT  # of the package lane's engines

    @property
    def place(self) -> str:
        """`graph lane`, or `package lane, builder segment`."""
        whole = f", builder {self.builder}" if self.lane == Lane.PACKAGE else ""
        return f"{self.lane} lane{whole}"

    @property
    def passes(self) -> tuple[str, ...]:
        return passes_for(self.metrics)

    def arms(self, route: str) -> tuple[Arm, ...]:
        return (
            Arm(BASELINE, self.baseline, route),
            Arm(CANDIDATE, self.candidate, route, self.delayed, self.delay_s),
            Arm(AGAIN, self.baseline, route),
        )

    @property
    def gates(self) -> bool:
        """Whether any cell gates; sweeps alone do not."""
        return any(cell.gates for cell in self.cells)

    def cell(self, cell_id: str) -> BenchCell:
        return next(cell for cell in self.cells if cell.cell_id == cell_id)

    def draw(self, *what: object) -> int:
        """A seed for one thing of this run, the same when it is resumed."""
        text = "\0".join(map(str, (self.seed, *what)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def make_cells(
    cases: Sequence[CaseInfo], routes: Sequence[str], sweeps: Sequence[str], *, full: bool
) -> tuple[BenchCell, ...]:
    """The cells of all cases by all routes, then the cells of sweeps."""
    cells = [
        BenchCell(BenchCase(case.name), route, case.family) for case in cases for route in routes
    ]
    for text in sweeps:
        sweep, sizes = _sizes(text, full=full)
        cells += [
            BenchCell(BenchCase(f"{sweep}@{size}", sweep, size), route, "sweep")
            for size in sizes
            for route in routes
        ]
    if not cells:
        raise UsageError("nothing to measure: give --cases or --sweep")
    return tuple(cells)


def _sizes(asked: str, *, full: bool) -> tuple[str, tuple[int, ...]]:
    """`steps`, or `steps=10/20/50` for sizes of one's own."""
    sweep, _, sizes = asked.partition("=")
    if sweep not in SWEEPS:
        raise UsageError(f"--sweep: no sweep is named {sweep!r}; there are: {', '.join(SWEEPS)}")
    if not sizes:
        return sweep, (*SWEEPS[sweep], *(MORE_IN_FULL[sweep] if full else ()))
    if not all(part.isdigit() and int(part) > 0 for part in sizes.split("/")):
        raise UsageError(f"--sweep {asked!r}: sizes above zero, such as {sweep}=10/100/1000")
    return sweep, tuple(dict.fromkeys(int(part) for part in sizes.split("/")))


_BAND = re.compile(r"(?:(?P<key>[^=]+)=)?(?P<percent>\d+(?:\.\d+)?)\s*%?")


def bands(text: str) -> Bands:
    """``5%``, ``5%,fsync=50%`` or ``5%,real architectures/save=3%``."""
    default, particular = Bands.default, []
    for part in (piece.strip() for piece in text.split(",") if piece.strip()):
        match = _BAND.fullmatch(part)
        if match is None or not float(match["percent"]) > 0:
            raise UsageError(f"--max-slowdown {part!r}: per cent above zero, such as 5% or save=3%")
        if match["key"] is None:
            default = float(match["percent"])
        else:
            stage = match["key"].strip().rpartition("/")[2]
            if stage not in ALL_STAGES:
                raise UsageError(f"--max-slowdown {part!r}: no stage is named {stage!r}")
            particular.append((match["key"].strip(), float(match["percent"])))
    return Bands(default, tuple(particular))
