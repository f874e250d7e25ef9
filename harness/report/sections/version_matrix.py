"""The version matrix: a row for each release, with the torch and the TensorRT that ran.

Rows stand in blocks, within which they can be compared: of one lane and executor, one kind of
environment, and one kind of builder. Each is held against one before it, and says what else was
another in it: the torch, the inliner, or what built its engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from harness.catalogue.releases import version_of
from harness.report import text
from harness.report.frames import tables
from harness.report.frames.environments import builder_kind, kind_of
from harness.report.frames.tables import Harms, MatrixCell, Quartiles, harms_of
from harness.report.reported_run import ReportedRun, Section
from harness.report.sections.matrix import short_id
from harness.report.sections.neighbours import JUDGED, side_by_side
from harness.report.sections.package_lane import CALLS, WHOLE_SAVE, called, compiled, summed
from harness.wire.builders import CUDA, PINNED, SEGMENT, Builder
from harness.wire.record_json import KEY
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Stage, SubjectKind

_BLOCK = ["lane", "executor", "environments", "builds"]
_PLACE = ["release", "builder", "environment"]  # of a row, in its block
_CASE = ["case", "capture", "route"]

MEASURED_BY: Final[Mapping[Lane, Route]] = {
    Lane.GRAPH: Route.LEGACY,
    Lane.PACKAGE: Route.NO_RETRACE,
    Lane.ENGINE: Route.NO_RETRACE,
}
"""The route by which a lane's rows are measured: one that every release has, by its inliner."""

COMPILE_PARTS: Final = {
    "compile": Stage.COMPILE,
    "lowering": Stage.LOWERING,
    "conversion": Stage.CONVERSION,
    "build": Stage.BUILD,
}


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
    """A row compared with an earlier one: that one's name, what differs, and how many cells turned.

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
        """The row's name: ``2.13.0``, or ``2.13.0 tensorrt-rtx-1.5.0.114``."""
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
        """The call or route by which the lane's rows were measured."""
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
        """The last groups, with at most this many rows; always the last group."""
        shown: list[tuple[VersionRow, ...]] = []
        for group in reversed(self.groups):
            if shown and sum(map(len, shown)) + len(group) > most:
                break
            shown.insert(0, group)
        return tuple(shown)


def version_matrix(run: ReportedRun) -> tuple[VersionBlock, ...]:
    """The blocks of all lanes and environments of a run; none where no release was planned."""
    specs = {s.subject: s for s in run.ordered if s.kind is SubjectKind.RELEASE}
    here, samples = _of_releases(run.all_cells, specs), _of_releases(run.all_timings, specs)
    blocks = []
    for name in sorted(set(here[_BLOCK].itertuples(index=False, name=None)), key=_block_order):
        part, taken = (_rows_of(frame, name) for frame in (here, samples))
        lane, executor, environments, builds = map(str, name)
        rows = _rows(part, taken, specs, _that_ran(run.summary, lane))
        families = tuple(cell.family for cell in rows[0].families)
        stepped = tuple(_stepped(rows, part))
        blocks.append(VersionBlock(Lane(lane), executor, environments, builds, families, stepped))
    return tuple(blocks)


def _rows_of(frame: pd.DataFrame, block: Sequence[str]) -> pd.DataFrame:
    inside = (frame[column] == value for column, value in zip(_BLOCK, block, strict=True))
    return frame[np.logical_and.reduce([*inside])]


def _block_order(name: Sequence[str]) -> tuple[Any, ...]:
    lane, executor, environments, builds = name
    return lane, executor, environments != PINNED, builds != SEGMENT, builds


def _of_releases(frame: pd.DataFrame, specs: Mapping[str, SubjectSpec]) -> pd.DataFrame:
    """The gated rows of releases, with their block, and their matrix row's name as subject."""
    here = frame[frame["subject"].isin(list(specs)) & ~frame["hypothetical"]]
    named = here.assign(
        release=here["subject"],
        environments=_named(here, ["environment"], kind_of),
        builds=_named(here, ["builder"], builder_kind),
    )
    return named.assign(subject=_named(named, _PLACE, _name))


def _named(
    frame: pd.DataFrame, columns: list[str], name: Callable[..., str]
) -> pd.Categorical[str]:
    """A name for each row from some of its columns, computed once for rows that are alike."""
    numbers = frame.groupby(columns, sort=False, observed=True).ngroup()
    alike = frame[columns].drop_duplicates().itertuples(index=False, name=None)
    return pd.Categorical([name(*map(str, values)) for values in alike]).take(numbers.to_numpy())


def _name(*place: str) -> str:
    return " ".join(place)


def _that_ran(summary: Mapping[str, Any], lane: str) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The rows of summary.json that tell what ran, by release, builder and environment."""
    rows = [row for row in summary["inliners"] if row["lane"] == lane]
    return {(row["subject"], row["builder"], row["environment"]): row for row in rows}


def _rows(
    cells: pd.DataFrame,
    samples: pd.DataFrame,
    specs: Mapping[str, SubjectSpec],
    ran: Mapping[tuple[str, ...], Mapping[str, Any]],
) -> tuple[VersionRow, ...]:
    """The rows of one block in order, not yet compared with each other."""
    places = sorted(
        {(str(a), str(b), str(c)) for a, b, c in cells[_PLACE].itertuples(index=False)},
        key=lambda place: (version_of(place[0]), *_engines_order(ran[place]), place),
    )
    asked = {place[0] for place in places}
    present = cells["family"].cat.remove_unused_categories()
    named = cells["subject"].cat.remove_unused_categories()
    table = tables.matrix(cells.assign(family=present, subject=named))
    found = tables.matrix_cells(table)
    names = [_name(*place) for place in places]
    failing = cells[cells["standing"] == "failing"]
    harms = {str(name): harms_of(rows) for name, rows in failing.groupby("subject", observed=True)}
    measures = measures_of(cells, samples, names, Lane(cells["lane"].iloc[0]))
    rows = []
    for place, name in zip(places, names, strict=True):
        spec, told = specs[place[0]], ran[place]
        families = tuple(found[name, str(family)] for family in present.cat.categories)
        rows.append(
            VersionRow(
                *place,
                torch_pinned=spec.torch_pinned or "",
                torch=told["torch"]["running"] or "",
                tensorrt=told["tensorrt"]["running"] or "",
                inliner=short_id(spec),
                shares=_sharing(spec, specs, asked),
                whole=tables.whole(name, families),
                families=families,
                harms=harms.get(name, Harms()),
                measures=measures[name],
                environment_bytes=told["environment_bytes"],
            )
        )
    return tuple(rows)


def _engines_order(ran: Mapping[str, Any]) -> tuple[Any, ...]:
    return (version_of(ran["tensorrt"]["running"] or ""),)


def _sharing(
    spec: SubjectSpec, specs: Mapping[str, SubjectSpec], asked: set[str]
) -> tuple[str, ...]:
    """The releases of the block with the inliner of this one."""
    return tuple(
        other.subject
        for other in specs.values()
        if other.subject in asked and other.inliner_id == spec.inliner_id
    )


def _stepped(rows: Sequence[VersionRow], cells: pd.DataFrame) -> Iterator[VersionRow]:
    """Each row compared with one before it."""
    judged = cells[cells["standing"].isin(JUDGED)]
    before = [_before(row, rows[:number]) for number, row in enumerate(rows)]
    held = [(row, one) for row, one in zip(rows, before, strict=True) if one is not None]
    pairs = [(one.whole.subject, row.whole.subject) for row, one in held]
    both = side_by_side(judged, pairs, _CASE)
    fates = Counter(zip(both["pair"], both["fate"], strict=True))
    compared = Counter(both["pair"])
    lane = Lane(cells["lane"].iloc[0])
    steps = {
        row.whole.subject: Step(
            against=one.name,
            changed=changed(one, row, lane),
            compared=compared[pair],
            fixed=fates[pair, "fixed"],
            worse=fates[pair, "worse"],
            broken=fates[pair, "broken"],
        )
        for pair, (row, one) in enumerate(held)
    }
    for row in rows:
        yield replace(row, step=steps.get(row.whole.subject))


def _before(row: VersionRow, earlier: Sequence[VersionRow]) -> VersionRow | None:
    """The row that differs least: the same release with another TensorRT-RTX.

    For the first row of a release: that of the release before with the same TensorRT-RTX, or else
    the last row of that.
    """
    if not earlier or earlier[-1].release == row.release:
        return earlier[-1] if earlier else None
    previous = [each for each in earlier if each.release == earlier[-1].release]
    return next((each for each in previous if each.builder == row.builder), previous[-1])


def changed(before: VersionRow, row: VersionRow, lane: Lane) -> str:
    """What differs between two rows, in words.

    A TensorRT that builds no engines is left out. Of whole packages the code around the inliner is
    another in every release, and named where nothing else is.
    """
    parts = []
    if row.torch != before.torch:
        parts.append("torch")
    if row.inliner != before.inliner:
        parts.append("inliner")
    if row.builder != SEGMENT and row.engines != before.engines:
        parts.append(row.engines.partition(" ")[0] or row.builder)
    if parts:
        return text.joined(parts)
    return "nothing" if lane is Lane.GRAPH else "the package around the inliner"


def measures_of(
    cells: pd.DataFrame, samples: pd.DataFrame, names: Sequence[str], lane: Lane
) -> dict[str, Measures]:
    """The measures of each row, by its name.

    Args:
        cells, samples: those of one block, a row's name in place of the subject.
        lane: theirs; in the graph lane there is no compile of the release.
    """
    route = MEASURED_BY[lane]
    saved = cells[cells["route"] == route.value]
    taken = samples[samples["route"] == route.value]
    load = summed(taken, (Stage.LOAD,))
    # A save is whole only where the load, which comes after it, began.
    save = summed(taken, WHOLE_SAVE).merge(load[list(KEY)], on=list(KEY))
    files = saved.dropna(subset=["archive_bytes"]).astype({"archive_bytes": "float64"})
    bare = files.assign(
        bare=files["archive_bytes"] - files["carried_bytes"].fillna(0).astype(float)
    )
    # A run of the graph lane compiles with emulated engines, and with no release's own compile.
    parts = COMPILE_PARTS if lane is not Lane.GRAPH else {}
    found = {
        "save": _quartiles(save, "seconds"),
        "load": _quartiles(load, "seconds"),
        **{name: _quartiles(compiled(samples, part), "seconds") for name, part in parts.items()},
        "archive": _quartiles(files, "archive_bytes"),
        "bare": _quartiles(bare, "bare"),
    }
    return {
        name: Measures(**{what: of.get((name,)) for what, of in found.items()}) for name in names
    }


def _quartiles(frame: pd.DataFrame, column: str) -> Mapping[tuple[str, ...], Quartiles]:
    # All rows are of one route, so they form one group.
    return tables.compared_quartiles(frame.assign(all=""), ["all"], ["subject"], column)


VERSIONS: Final = Section("versions", version_matrix, template="versions", link="Versions")
