"""When engines last ran on a GPU: the newest such cell of all runs that are kept here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.base.errors import UsageError
from harness.runs.provenance import Provenance
from harness.runs.run_folder import RunFolder
from harness.wire.builders import CUDA
from harness.wire.records import CellRecord
from harness.wire.vocabulary import CellState

PUBLISHED = "published"


@dataclass(frozen=True)
class GpuRun:
    """The last run with cells that ran on a GPU. ``day`` is ISO 8601 in UTC."""

    run_id: str
    day: str
    gpu: str
    subjects: tuple[str, ...]
    cells: int


def last_gpu_run(places: Iterable[Path]) -> tuple[GpuRun | None, tuple[str, ...]]:
    """The newest such run below some results folders, and messages about unreadable runs."""
    runs: list[tuple[float, GpuRun]] = []
    unread: list[str] = []
    for folder in _runs(places):
        try:
            provenance = folder.provenance()
            if not _planned(provenance):
                continue  # its records may be a million
            records = [record for record in folder.records().values() if on_gpu(record)]
        except UsageError as error:
            unread.append(str(error))
            continue
        if records:
            runs.append(_run(folder.run_id, provenance, records))
    newest = max(runs, default=None, key=lambda each: each[0])
    return (newest[1] if newest else None), tuple(unread)


def on_gpu(record: CellRecord) -> bool:
    """Whether a cell's engines ran on a GPU."""
    return record.key.executor == CUDA and record.state is CellState.ENDED


def _runs(places: Iterable[Path]) -> Iterator[RunFolder]:
    """The runs in results folders, and the published ones below them."""
    folders = [folder for place in places for folder in (place, place / PUBLISHED)]
    files = [file.resolve() for folder in folders for file in folder.glob("*/run.json")]
    for file in dict.fromkeys(files):
        yield RunFolder(file.parent)


def _planned(provenance: Provenance) -> bool:
    """Whether a run, or one that was merged into it, was planned for a GPU."""
    runs = [provenance, *(source.run for source in provenance.sources)]
    return any(
        package.executor == CUDA
        for run in runs
        for subject in run.subjects
        for package in subject.packages
    )


def _run(
    run_id: str, provenance: Provenance, records: Sequence[CellRecord]
) -> tuple[float, GpuRun]:
    ended = max(record.ended_at_unix_s for record in records)
    run = GpuRun(
        run_id=run_id,
        day=datetime.fromtimestamp(ended, UTC).date().isoformat(),
        gpu=provenance.gpu or "a GPU that NVML does not name",
        subjects=tuple(dict.fromkeys(record.key.subject for record in records)),
        cells=len(records),
    )
    return ended, run
