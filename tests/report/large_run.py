"""A run as large as one can get: a published one, its releases over and over under other names.

`python -m tests.report.large_run FOLDER` writes it, for a look at what `report` takes.
"""

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.runs.journal import encode_line
from harness.runs.plan import PlannedCell, plan_to_jsonl
from harness.runs.provenance import provenance_from_json, provenance_to_json
from harness.runs.record_table import read_parquet
from harness.runs.run_folder import RunState
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.record_json import to_json
from harness.wire.records import CellRecord, SubjectSpec
from harness.wire.vocabulary import SubjectKind

CELLS: Final = 100_000
PUBLISHED: Final = PROJECT_ROOT / "results" / "published"


def newest_published() -> Path:
    return sorted(PUBLISHED.glob("*-all-releases"))[-1]


def write_large_run(out: Path, source: Path, cells: int = CELLS) -> int:
    """Write a finished run of at least so many cells, as `run` leaves it; returns how many.

    Each copy of a release has an inliner of its own, so that no two stand together in a row.
    """
    plan, records = read_parquet(source / "records.parquet")
    before = provenance_from_json(json.loads((source / "run.json").read_bytes()), "run.json")
    releases = [spec for spec in before.subjects if spec.kind is SubjectKind.RELEASE]
    names = {spec.subject for spec in releases}
    copied = [cell for cell in plan if cell.key.subject in names]
    times = -(-(cells - len(plan)) // len(copied)) + 1
    written = [*plan, *_copies(copied, times)]
    subjects = [*before.subjects, *(_again(spec, n) for n in range(1, times) for spec in releases)]
    provenance = dataclasses.replace(before, subjects=tuple(subjects), run_id=out.name)
    out.mkdir(parents=True)
    (out / "run.json").write_text(json.dumps(provenance_to_json(provenance)))
    (out / "plan.jsonl").write_text(plan_to_jsonl(written))
    with (out / "journal.jsonl").open("wb") as journal:
        for n in range(times):
            for cell in plan if n == 0 else copied:
                journal.write(encode_line(to_json(_record_again(records[cell.key.cell_id], n))))
    shutil.copy(source / "summary.json", out)
    state = {"schema": provenance_to_json(provenance)["schema"], "state": RunState.COMPLETE.value}
    (out / "state.json").write_text(json.dumps(state))
    return len(written)


def _copies(cells: Sequence[PlannedCell], times: int) -> Iterator[PlannedCell]:
    for n in range(1, times):
        for cell in cells:
            key = dataclasses.replace(cell.key, subject=_named(cell.key.subject, n))
            yield dataclasses.replace(cell, key=key, measured_as=_named(cell.measured_as, n))


def _record_again(record: CellRecord, n: int) -> CellRecord:
    key = dataclasses.replace(record.key, subject=_named(record.key.subject, n))
    # What is published has no evidence; a run has a traceback's tail for each failure.
    verdicts = tuple(
        dataclasses.replace(verdict, evidence=verdict.message * 3) for verdict in record.verdicts
    )
    measured_as = _named(record.measured_as, n)
    return dataclasses.replace(record, key=key, verdicts=verdicts, measured_as=measured_as)


def _again(spec: SubjectSpec, n: int) -> SubjectSpec:
    name = _named(spec.subject, n)
    return dataclasses.replace(
        spec, subject=name, release=name, inliner_id=f"{n:04x}{(spec.inliner_id or '')[4:]}"
    )


def _named(subject: str, n: int) -> str:
    """2.13.0.post7 lies between 2.13.0 and 2.14.0, and most rows of the table cover it."""
    return f"{subject}.post{n}" if n and subject else subject


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(f"{folder}: {write_large_run(folder, newest_published()):,} cells")
