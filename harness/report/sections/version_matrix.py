"""The version matrix: a row for each release, with the torch and the TensorRT that ran.

Rows stand in blocks, within which they can be compared: of one lane and executor, one kind of
environment, and one kind of builder. Each is held against one before it, and says what else was
another in it: the torch, the inliner, or what built its engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.catalogue.subject_order import ordered_subjects, version_of
from harness.report import text
from harness.report.frames.harms import Harms, harms_of
from harness.report.frames.tables import matrix
from harness.report.sections.environment import builder_kind, kind_of
from harness.report.sections.matrix import matrix_cells, short_id, whole
from harness.report.sections.neighbours import JUDGED, side_by_side
from harness.report.sections.version_measures import measures_of
from harness.report.sections.version_views import Step, VersionBlock, VersionRow
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind

_BLOCK = ["lane", "executor", "environments", "builds"]
_PLACE = ["release", "builder", "environment"]  # of a row, in its block
_CASE = ["case", "capture", "route"]


def version_matrix(
    cells: pd.DataFrame,
    timings: pd.DataFrame,
    subjects: Sequence[SubjectSpec],
    summary: Mapping[str, Any],
) -> tuple[VersionBlock, ...]:
    """The blocks of a run; none where no release was planned.

    Args:
        cells, timings: as `frames` makes them, of all lanes and environments.
        summary: the data of summary.json, which knows what ran.
    """
    specs = {s.subject: s for s in ordered_subjects(subjects) if s.kind is SubjectKind.RELEASE}
    here, samples = _of_releases(cells, specs), _of_releases(timings, specs)
    blocks = []
    for name in sorted(set(here[_BLOCK].itertuples(index=False, name=None)), key=_block_order):
        part, taken = (_rows_of(frame, name) for frame in (here, samples))
        lane, executor, environments, builds = map(str, name)
        rows = _rows(part, taken, specs, _that_ran(summary, lane))
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
    """The gated rows of releases, with their block; as subject the name of their matrix row."""
    here = frame[frame["subject"].isin(list(specs)) & ~frame["hypothetical"]]
    named = here.assign(
        release=here["subject"],
        environments=_made(here, ["environment"], kind_of),
        builds=_made(here, ["builder"], builder_kind),
    )
    return named.assign(subject=_made(named, _PLACE, _name))


def _made(frame: pd.DataFrame, columns: list[str], name: Callable[..., str]) -> pd.Categorical[str]:
    """A name for each row, made of some of its columns: once for all rows that are alike."""
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
    """The rows of one block, in order; no one is held against another yet."""
    places = sorted(
        {(str(a), str(b), str(c)) for a, b, c in cells[_PLACE].itertuples(index=False)},
        key=lambda place: (version_of(place[0]), *_engines_order(ran[place]), place),
    )
    asked = {place[0] for place in places}
    present = cells["family"].cat.remove_unused_categories()
    named = cells["subject"].cat.remove_unused_categories()
    table = matrix(cells.assign(family=present, subject=named))
    found = matrix_cells(table)
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
                whole=whole(name, families),
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
    """Each row held against one before it."""
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
    """What is another in a row, in words.

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
