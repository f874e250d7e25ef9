"""Run folders: where a run is kept, how it is found again, and who may write it.

    results/<run id>/run.json          provenance; a folder is a run once this is there
                     plan.jsonl        every cell, written before the first one starts
                     journal.jsonl     one line an ended cell, appended
                     spent.jsonl       one line a job that ended: what it took (harness.runs.costs)
                     cases.json        a user's own cases as they were read, and their files
                     cases/            copies of these files (harness.runs.kept_cases)
                     lacking.jsonl     of a user's own cases what each model surely has not
                     state.json        how far the run is
                     lock              held by the one process that writes
                     candidates/       the files of candidates (harness.runs.candidates)
                     failures/         at the end: one text file a failing case
                     records.parquet   at the end: one row a cell and oracle
                     summary.json      at the end, last of all
    results/latest                     a symbolic link to the newest run

Every file but the journals is replaced whole, so it can be read at any moment. A published run
keeps only its results and is read from records.parquet.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from harness.base.errors import UsageError
from harness.base.files import replace_file, written_to
from harness.base.fork import forked
from harness.runs.commands import HERE, RESULTS, Places, explain_command
from harness.runs.journal import Journal, read_journal, read_journal_as
from harness.runs.plan import PlannedCell, plan_from_jsonl, plan_to_jsonl
from harness.runs.provenance import Provenance
from harness.runs.record_table import parquet_bytes, read_parquet
from harness.runs.run_directory import RunDirectory, foreign_or_damaged
from harness.wire.record_json import SCHEMA, cell_from_text, cell_to_text, words
from harness.wire.records import CaseInfo, CellRecord
from harness.wire.vocabulary import Outcome

#: A power cut may lose the cells of so long, and a resumed run asks them again. To wait for the
#: disk at each cell takes 7 ms on some, which is too slow for the workers of a cluster.
_SYNC_EVERY_S: Final = 0.2
#: Records that are JSON text in memory at a time.
_AT_ONCE: Final = 1000


_LACKING: Final = "lacking.jsonl"


class RunState(enum.StrEnum):
    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class RunFolder(RunDirectory):
    """One run of cells. `create` makes it and `open` finds it; the first write takes the lock.

    Reading changes nothing, and may be done while another process writes.
    """

    KIND = COMMAND = "run"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._table = path / "records.parquet"
        self._journal: Journal | None = None

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: Sequence[PlannedCell]) -> RunFolder:
        """Make a new run under ``out`` and hold its lock; its plan is written first."""
        if not plan:
            raise UsageError("a run needs at least one cell")
        folder = cls.make(
            out,
            provenance,
            {
                "plan.jsonl": plan_to_jsonl(plan).encode(),
                "journal.jsonl": b"",
                "state.json": {"state": RunState.PLANNED},
            },
        )
        folder._writing()
        return folder

    @property
    def published(self) -> bool:
        """Whether only its results were kept."""
        kept = any((self.path / name).exists() for name in ("plan.jsonl", "journal.jsonl"))
        return self._table.is_file() and not kept

    def schema(self) -> int:
        """The schema of its records."""
        return self.read("run.json", lambda data: int(data["schema"]))

    def plan(self) -> tuple[PlannedCell, ...]:
        """Raises UsageError if plan.jsonl is missing, damaged or of an unknown schema."""
        return self._published[0] if self.published else self._plan

    def records(self) -> dict[str, CellRecord]:
        """The ended cells by ``cell_id``. If a cell has several records, the last one counts."""
        if self.published:
            return dict(self._published[1])
        planned = {words(cell.key): cell.key for cell in self.plan()}

        def read(line: bytes, where: str) -> tuple[str, CellRecord]:
            with foreign_or_damaged(where):
                record = cell_from_text(line, where, planned)
            if words(record.key) not in planned:
                raise UsageError(f"{where}: foreign: {record.key.cell_id} is not in this plan")
            return record.key.cell_id, record

        return dict(read_journal_as(self.path / self.JOURNAL, read).payloads)

    def state(self) -> RunState:
        """How far the run is. If no process holds a running one, it was interrupted."""
        name = "summary.json" if self.published else "state.json"
        state = self.read(name, lambda data: RunState(data["state"]))
        if state is RunState.RUNNING and self._journal is None and not self.is_written():
            return RunState.INTERRUPTED
        return state

    def append(self, *records: CellRecord) -> None:
        """Add ended cells. They are in the file when this returns, and on the disk soon."""
        journal = self._writing()
        for start in range(0, len(records), _AT_ONCE):
            journal.append_texts(*map(cell_to_text, records[start : start + _AT_ONCE]))

    def shorten(self, plan: Sequence[PlannedCell]) -> None:
        """Forget the cells that a run had no time for.

        Raises:
            UsageError: none is left.
        """
        if not plan:
            raise UsageError("--budget: no cell ended in that time; give more seconds")
        self._writing()
        self.write("plan.jsonl", plan_to_jsonl(plan))
        self.__dict__.pop("_plan", None)

    def add_lacking(self, case: str, lacks: Sequence[str]) -> None:
        """Keep what a user's model surely has not, by the names of `harness.register.defects`."""
        with Journal(self.path / _LACKING) as journal:
            journal.append({"schema": SCHEMA, "case": case, "lacks": list(lacks)})

    def lacking(self) -> dict[str, tuple[str, ...]]:
        """What `add_lacking` was told, by case. Of a run of before nothing is known."""
        path = self.path / _LACKING
        if not path.exists():
            return {}
        with foreign_or_damaged(path):
            told = read_journal(path).payloads
            return {each["case"]: tuple(map(str, each["lacks"])) for each in told}

    def write_state(self, state: RunState) -> None:
        """Raises as `append`."""
        self._writing()
        self.write("state.json", {"state": state})

    @property
    def places(self) -> Places:
        """What printed commands need to find this run from the current folder."""
        provenance, out = self.provenance(), os.path.relpath(self.path.parent)
        files = (spec.subject for spec in provenance.subjects if spec.kind.brought)
        return Places(
            corpus=provenance.corpus,
            run=self.run_id,
            seed=provenance.seeds[0],
            out="" if out == RESULTS else out,
            candidates=frozenset(files),
        )

    def write_results(
        self,
        summary: Mapping[str, Any],
        cases: Sequence[CaseInfo],
        records: Mapping[str, CellRecord],
    ) -> None:
        """Write what is made at the end: failures/, records.parquet and, last, summary.json.

        Args:
            records: as `records` gives them.
        """
        self._writing()
        places = self.places
        with forked(lambda: write_failures(self.path / "failures", records.values(), places)):
            self.write(self._table.name, parquet_bytes(self.plan(), records, cases, self.run_id))
        self.write("summary.json", summary)

    def close(self) -> None:
        """Close the journal and let go of the lock; further writes take it again."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self.unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def _plan(self) -> tuple[PlannedCell, ...]:
        path = self.path / "plan.jsonl"
        with foreign_or_damaged(path):
            return plan_from_jsonl(path.read_text(encoding="utf-8"), str(path))

    @cached_property
    def _published(self) -> tuple[tuple[PlannedCell, ...], dict[str, CellRecord]]:
        return read_parquet(self._table)

    def _writing(self) -> Journal:
        if self.published:
            raise UsageError(f"{self.path}: published, and so finished", "start a new run")
        if self._journal is None:
            self.lock()
            try:
                self._journal = Journal(self.path / self.JOURNAL, _SYNC_EVERY_S)
            except BaseException:
                self.unlock()
                raise
        return self._journal


_LONGEST_NAME = 200  # below the 255 bytes of common file systems


def write_failures(folder: Path, records: Iterable[CellRecord], places: Places = HERE) -> None:
    """One file for each case that fails, with its failing cells, and no file for any other."""
    failing: dict[str, list[CellRecord]] = {}
    for record in records:
        if record.failures:
            failing.setdefault(_file_name(record.key.case), []).append(record)
    with written_to(folder):
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.txt"):
            if old.name not in failing:  # from before a resume in which the case passed
                old.unlink()
    for name, cells in failing.items():
        text = "\n".join(evidence_text(record, places) for record in cells)
        replace_file(folder / name, text.encode(errors="replace"), durable=False)


def _file_name(case: str) -> str:
    """The file's name: the case's, shortened by a digest where it is too long for a name."""
    if len(case.encode()) > _LONGEST_NAME:
        digest = hashlib.sha256(case.encode()).hexdigest()[:16]
        case = case.encode()[: _LONGEST_NAME - 17].decode(errors="ignore") + "~" + digest
    return f"{case}.txt"


def evidence_text(record: CellRecord, places: Places = HERE) -> str:
    """All verdicts, failures first and with their evidence."""
    key = record.key
    lines = [
        f"{key.case} [{key.subject} {key.route} {key.capture}]: {record.label}",
        f"cell: {key.cell_id}",
        f"measured as: {record.measured_as or key.subject}; attempts: {record.attempts}",
        f"show it: {explain_command(key, places)}",
        "",
    ]
    for verdict in record.failures:
        lines += [f"{verdict.oracle}: {verdict.label}: {verdict.message}"]
        lines += [f"    {line}" for line in verdict.evidence.splitlines()]
        lines += [""]
    for verdict in record.verdicts:
        if verdict not in record.failures:
            reason = f": {verdict.message}" if verdict.outcome is not Outcome.OK else ""
            lines += [f"{verdict.oracle}: {verdict.label}{reason}"]
    return "\n".join(lines) + "\n"


def read_summary(folder: Path) -> dict[str, Any] | None:
    """A run's summary.json, or None for a run that did not come to its end."""
    path = folder / "summary.json"
    if not path.is_file():
        return None
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return summary
