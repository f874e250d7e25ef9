"""A run as six frames: for a notebook, and as CSV and Parquet files in the run's folder."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from harness.base.errors import UsageError
from harness.base.program import PROGRAM
from harness.gate.defect_table import DefectTable
from harness.report.frames.frames import STANDINGS
from harness.report.frames.tables import LATENCY_STAGES, UNEXPECTED, WORST_FIRST, Quartiles
from harness.report.reported_run import ReportedRun
from harness.report.sections.latency import LATENCY, MeasureRow
from harness.report.sections.matrix import MATRIX, Matrix, short_id
from harness.wire.records import SubjectSpec

FRAMES_FOLDER = "frames"
MOST_CSV_ROWS = 250_000
"""A longer frame is written as Parquet alone: a CSV of it fits no spreadsheet."""

_SHARED_COLUMNS = ("subject", "kind", "environment", "inliner")
_CELL_COLUMNS = (*STANDINGS, "total", "unexpected", "worst")
_SUMMARY_COLUMNS = [
    "subject", "kind", "torch", "tensorrt", "inliner", "lane", "route", "hypothetical",
    "measured_as", *_CELL_COLUMNS, *(f"{name}_s" for name in LATENCY_STAGES),
    "archive_bytes", "engine_bytes",
]  # fmt: skip
_DEFECT_COLUMNS = [
    "defect", "title", "part", "reach", "calls", "since", "fixed_in", "fixed_by",
    "release", "state", "harm", "cells", "behind",
]  # fmt: skip


@dataclass(frozen=True)
class RunFrames:
    """Every number of a run. Seconds are wall time of one sample; bytes are bytes on the disk.

    A cell's coordinates are ``case``, ``capture``, ``subject``, ``route``, ``lane``, ``builder``,
    ``executor`` and ``environment``; ``cell_id`` is all of them in one. ``family`` and ``origin``
    are its case's. ``hypothetical`` cells run by a route that no user of the subject reaches, and
    count nowhere. A cell that was copied, because its inliner is the same code, tells in
    ``measured_as`` the subject that really ran. A verdict's ``label`` is ``ok``, ``n/a`` or
    ``symptom@stage``. ``harm`` is what a person who calls the product sees of a failure: silent,
    warned, error, interface or cosmetic; of a cell it is that of the failure that a user meets.
    ``steps`` are the engines and fallbacks of the split.

    cells: a row a planned cell. ``standing`` is ok, failing, unsupported or missing; ``oracle``,
        ``label`` and ``message`` are those of the failure that a user meets; ``class`` is the
        gate's word for it; ``archive_bytes`` is the saved program's size, ``engine_bytes`` that of
        the engines in it, and ``carried_bytes`` that of the segments that travel behind real
        engines for the emulated executor; missing where none was made.
    verdicts: a row a cell and ``oracle``. ``outcome`` is ok, failed, n/a, or unable: a failure that
        is no defect by this route. ``message`` holds no name or number of one machine,
        ``evidence`` does.
    timings: a row a cell and ``stage`` that ran to its end, with its ``seconds``. Of programs that
        are equal, one was exported, saved, loaded and run, and each tells that time; capture,
        split and compile are told by the first cell of a case alone.
    matrix: a row a subject and family, of the graph lane where the run has it. ``kind`` is
        release, file, builtin or torch; ``inliner`` begins the hash of its code; ``ok``,
        ``failing``, ``unsupported``, ``missing``, their ``total`` and ``unexpected`` count cells;
        ``worst`` is the label of the failure that harms most.
    summary: a row a subject, route and ``lane``, with the same counts, the ``torch``
        and ``tensorrt`` that a release pins, and medians: ``inline_s``, ``export_s``, ``save_s``,
        ``load_s`` in seconds, ``archive_bytes`` and ``engine_bytes``, all over the cases that every
        subject finished by that route; missing where nothing was measured, of hypothetical routes,
        and of whole packages.
    defects: a row a known ``defect``, with its ``title``, and ``release``, as the table has it and
        not as this run saw it. ``state`` is shown, hidden, absent or not asked; ``cells`` show it;
        ``harm`` is what it does there by itself, and ``behind`` which defects hide it. ``part`` is
        that of the page's table; ``reach`` says who makes the splits, and ``calls`` are those of a
        user that meet it, in the newest release that has it. It has been there ``since`` a release,
        or always, and is gone in ``fixed_in`` by upstream's ``fixed_by``. Empty for a user's own
        cases.
    """

    cells: pd.DataFrame
    verdicts: pd.DataFrame
    timings: pd.DataFrame
    matrix: pd.DataFrame
    summary: pd.DataFrame
    defects: pd.DataFrame


def run_frames(run: ReportedRun) -> RunFrames:
    """The frames of a run."""
    measures = run.view(LATENCY)
    return RunFrames(
        cells=run.all_cells,
        verdicts=run.all_verdicts,
        timings=run.all_timings,
        matrix=matrix_frame(run.view(MATRIX)),
        summary=summary_frame(run.cells_of_lanes, run.ordered, measures or ()),
        defects=defects_frame(run.defect_table),
    )


def frame_files(frames: RunFrames) -> dict[str, bytes]:
    """Each frame as a Parquet file and, unless it is too long, a CSV, by name."""
    files = {}
    for name in _names():
        frame: pd.DataFrame = getattr(frames, name)
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        if _fits_a_sheet(frame):
            files[f"{name}.csv"] = frame.to_csv(index=False).encode()
        files[f"{name}.parquet"] = buffer.getvalue()
    return files


def file_of(frames: RunFrames, name: str) -> str:
    """The path of a frame beside the page: its CSV, or its Parquet file where it has no CSV."""
    ending = "csv" if _fits_a_sheet(getattr(frames, name)) else "parquet"
    return f"{FRAMES_FOLDER}/{name}.{ending}"


def _fits_a_sheet(frame: pd.DataFrame) -> bool:
    return len(frame) <= MOST_CSV_ROWS


def read_frames(run: Path) -> RunFrames:
    """The frames as a run's report left them."""
    found = {}
    for name in _names():
        path = run / FRAMES_FOLDER / f"{name}.parquet"
        try:
            found[name] = pd.read_parquet(path)
        except (OSError, ValueError) as error:  # pyarrow's errors are these
            raise UsageError(
                f"{path}: cannot be read: {error}; `{PROGRAM} report {run}` writes it"
            ) from error
    return RunFrames(**found)


def matrix_frame(matrix: Matrix) -> pd.DataFrame:
    """The matrix in long form: a row a (subject, family)."""
    rows = [
        [
            *(getattr(row, name) for name in _SHARED_COLUMNS),
            cell.family,
            *(getattr(cell, name) for name in _CELL_COLUMNS),
        ]
        for row in matrix.rows
        for cell in row.cells
    ]
    frame = pd.DataFrame(rows, columns=[*_SHARED_COLUMNS, "family", *_CELL_COLUMNS])
    return _in_order(frame, "subject", "family")


def summary_frame(
    cells: pd.DataFrame, subjects: Sequence[SubjectSpec], measures: Sequence[MeasureRow]
) -> pd.DataFrame:
    """A row a (subject, route, lane): counts of cells, the worst label, and medians."""
    spec_of = {spec.subject: spec for spec in subjects}
    measured = {(name, row.route): row for row in measures for name in row.members}
    place = ["subject", "route", "lane"]
    cells = cells.assign(unexpected=cells["class"].isin(UNEXPECTED))
    told = cells.groupby(place, observed=True).agg(
        hypothetical=("hypothetical", "all"),
        total=("hypothetical", "size"),
        unexpected=("unexpected", "sum"),
    )
    counts = cells.groupby([*place, "standing"], observed=True).size().to_dict()
    failing = cells[cells["standing"] == "failing"].sort_values([*WORST_FIRST])
    worst = failing.drop_duplicates(place).set_index(place)["label"].to_dict()
    sources: dict[Any, set[str]] = {}
    for *where, source in cells[[*place, "measured_as"]].drop_duplicates().itertuples(index=False):
        sources.setdefault(tuple(where), set()).add(source)
    rows = []
    for where, row in zip(told.index, told.to_dict("records"), strict=True):
        subject, route, lane = where
        about = spec_of[str(subject)]
        rows.append(
            {
                "subject": str(subject),
                "kind": about.kind.value,
                "torch": about.torch_pinned or "",
                "tensorrt": about.tensorrt_pinned or "",
                "inliner": short_id(about),
                "lane": str(lane),
                "route": str(route),
                "hypothetical": bool(row["hypothetical"]),
                "measured_as": ", ".join(sorted(sources[where] - {""})),
                **{name: int(counts.get((*where, name), 0)) for name in STANDINGS},
                "total": int(row["total"]),
                "unexpected": int(row["unexpected"]),
                "worst": str(worst.get(where, "")),
                **_medians(measured.get((str(subject), str(route)))),
            }
        )
    frame = pd.DataFrame(rows, columns=_SUMMARY_COLUMNS)
    return _in_order(frame, "subject", "route")


def defects_frame(table: DefectTable | None) -> pd.DataFrame:
    """The table of defects in long form: a row a (defect, release)."""
    rows = [
        {
            "defect": row.defect.id,
            "title": row.defect.title,
            "part": row.part.value,
            "reach": row.reach.value,
            "calls": ", ".join(row.calls),
            "since": row.defect.since,
            "fixed_in": row.defect.fixed_in,
            "fixed_by": row.defect.fixed_by,
            "release": each.release,
            "state": each.state.value,
            "harm": each.harm,
            "cells": each.cells,
            "behind": ", ".join(each.behind),
        }
        for row in (table.rows if table else ())
        for each in row.standings
    ]
    return pd.DataFrame(rows, columns=_DEFECT_COLUMNS)


def _in_order(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """The frame with these columns ordered as their rows stand: 2.10.0 comes after 2.9.0."""
    kinds = {
        name: pd.CategoricalDtype(list(dict.fromkeys(frame[name])), ordered=True) for name in names
    }
    return frame.astype(kinds)


def _medians(row: MeasureRow | None) -> dict[str, float | None]:
    stages: Mapping[str, Quartiles | None] = row.stages if row else {}
    medians = {f"{name}_s": _median(stages.get(name)) for name in LATENCY_STAGES}
    return {
        **medians,
        "archive_bytes": _median(row.archive if row else None),
        "engine_bytes": _median(row.engines if row else None),
    }


def _median(quartiles: Quartiles | None) -> float | None:
    return quartiles.median if quartiles else None


def _names() -> list[str]:
    return [field.name for field in fields(RunFrames)]
