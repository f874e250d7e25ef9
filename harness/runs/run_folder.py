"""Run folders: where a run is kept, how it is found again, and who may write it.

    results/<run id>/run.json          provenance; a folder is a run once this is there
                     plan.jsonl        every cell, written before the first one starts
                     journal.jsonl     one line an ended cell, appended and fsynced
                     spent.jsonl       one line a job that ended: what it took (harness.runs.spent)
                     state.json        how far the run is
                     lock              held by the one process that writes
                     failures/         at the end: one text file a failing cell
                     records.parquet   at the end: one row a cell and oracle
                     summary.json      at the end, last of all
    results/latest                     a symbolic link to the newest run

But for the journal, every file is replaced whole, so what is there can be read at any moment. Of a
published run only the results were kept: it is read from records.parquet.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from harness.base.errors import UsageError
from harness.base.files import replace_file, replace_link, sync_folder, written_to
from harness.base.program import PROGRAM
from harness.runs.evidence import write_failures
from harness.runs.journal import Journal, JournalReading, read_journal, read_journal_as
from harness.runs.plan import PlannedCell, plan_from_jsonl, plan_to_jsonl
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    with_fresh_id,
)
from harness.runs.record_table import parquet_bytes, read_parquet
from harness.wire.record_json import (
    SCHEMA,
    UnknownSchema,
    cell_from_text,
    check_schema,
    to_json,
    words,
)
from harness.wire.records import CaseInfo, CellRecord

LATEST = "latest"
_LOCK_WAIT_S = 1.0  # long enough for a reader that probes the lock to let go of it again


class RunState(enum.StrEnum):
    PLANNED = "planned"
    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class RunFolder:
    """One run. `create` makes it and `open` finds it; the first write takes the lock.

    Reading changes nothing, and may be done while another process writes.
    """

    def __init__(self, path: Path) -> None:
        """``path`` is an existing run folder; use `create` or `open`."""
        self.path = path
        self._table = path / "records.parquet"
        # Not thread-local: the lock belongs to this object, whichever thread calls it.
        self._lock = FileLock(path / "lock", thread_local=False)
        self._journal: Journal | None = None
        self._plan: tuple[PlannedCell, ...] | None = None
        self.repaired = ""  # what opening the journal for append had to cut off, if anything

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: Sequence[PlannedCell]) -> RunFolder:
        """Make a new run under ``out`` and hold its lock; its plan is written first.

        The run id becomes another one where a folder of that name exists.

        Raises:
            SurroundingsError: ``out`` cannot be written.
            UsageError: the plan is empty.
        """
        if not plan:
            raise UsageError("a run needs at least one cell")
        path, provenance = _new_folder(out, provenance)
        folder = cls(path)
        replace_file(path / "plan.jsonl", plan_to_jsonl(plan).encode())
        folder.write_state(RunState.PLANNED)
        _write_json(path / "run.json", provenance_to_json(provenance))
        replace_link(out / LATEST, path.name)
        with written_to(out):
            sync_folder(out)
        return folder

    @classmethod
    def open(cls, which: str | Path, out: Path = Path("results")) -> RunFolder:
        """Find a run by its folder's path, by its id under ``out``, or as ``latest``.

        Raises:
            UsageError: there is no such run, or that folder is not a run.
        """
        candidates = [out / which] if str(which) == LATEST else [Path(which), out / which]
        for candidate in candidates:
            if (candidate / "run.json").is_file():
                # Resolved: "latest" may point elsewhere a moment later.
                return cls(candidate.resolve())
        there = next((candidate for candidate in candidates if candidate.exists()), None)
        if there is not None:
            raise UsageError(f"{there} is not a run: it has no run.json")
        raise UsageError(
            f"no run {str(which)!r}: give a run's folder, its id under {out}, or {LATEST!r}; "
            f"`{PROGRAM} run` makes one"
        )

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def published(self) -> bool:
        """Whether only its results were kept."""
        kept = any((self.path / name).exists() for name in ("plan.jsonl", "journal.jsonl"))
        return self._table.is_file() and not kept

    def provenance(self) -> Provenance:
        """Raises UsageError if run.json is damaged or of an unknown schema."""
        path = self.path / "run.json"
        try:
            return provenance_from_json(_read_json(path), str(path))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from error

    def schema(self) -> int:
        """That of its records. Raises UsageError as `provenance`."""
        return int(_read_json(self.path / "run.json")["schema"])

    def plan(self) -> tuple[PlannedCell, ...]:
        """Raises UsageError if plan.jsonl is missing, damaged or of an unknown schema."""
        if self.published:
            return self._published[0]
        if self._plan is None:
            path = self.path / "plan.jsonl"
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise _damaged(path, error) from error
            self._plan = plan_from_jsonl(text, str(path))
        return self._plan

    def journal(self) -> JournalReading[dict[str, Any]]:
        """The journal as it stands, with what was dropped of a last line that was cut short.

        Raises:
            UsageError: it is damaged elsewhere, or of an unknown schema.
        """
        return read_journal(self.path / "journal.jsonl")

    def records(self) -> dict[str, CellRecord]:
        """The ended cells by ``cell_id``; of several records of a cell, the last counts.

        Raises:
            UsageError: as `journal`; or a line is no record, or not of this plan.
        """
        if self.published:
            return dict(self._published[1])
        path = self.path / "journal.jsonl"
        planned = {words(cell.key): cell.key for cell in self.plan()}

        def read(line: bytes, where: str) -> tuple[str, CellRecord]:
            try:
                record = cell_from_text(line, where, planned)
            except UnknownSchema:
                raise
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise UsageError(f"{where}: foreign or damaged: {error}") from error
            if words(record.key) not in planned:
                raise UsageError(f"{where}: foreign: {record.key.cell_id} is not in this plan")
            return record.key.cell_id, record

        return dict(read_journal_as(path, read).payloads)

    def state(self) -> RunState:
        """How far the run is; a running one that no process holds was killed: interrupted.

        Raises:
            UsageError: state.json is damaged or of an unknown schema.
        """
        path = self.path / ("summary.json" if self.published else "state.json")
        try:
            state = RunState(_read_json(path)["state"])
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from error
        if state is RunState.RUNNING and self._journal is None and self._is_unlocked():
            return RunState.INTERRUPTED
        return state

    def append(self, *records: CellRecord) -> None:
        """Add ended cells; they are on the disk when this returns.

        Raises:
            UsageError: another process writes this run, or its journal is damaged, or it is a
                published one.
            SurroundingsError: it cannot be written.
        """
        self._writing().append(*map(to_json, records))

    def write_state(self, state: RunState) -> None:
        """Raises as `append`."""
        self._writing()
        _write_json(self.path / "state.json", {"schema": SCHEMA, "state": state.value})

    def write_results(self, summary: Mapping[str, Any], cases: Sequence[CaseInfo]) -> None:
        """Write what is made at the end: failures/, records.parquet and, last, summary.json.

        Raises:
            UsageError, SurroundingsError: as `append`.
        """
        self._writing()
        records = self.records()
        write_failures(self.path / "failures", records.values())
        replace_file(self._table, parquet_bytes(self.plan(), records, cases, self.run_id))
        _write_json(self.path / "summary.json", summary)

    def close(self) -> None:
        """Close the journal and let go of the lock; further writes take it again."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @cached_property
    def _published(self) -> tuple[tuple[PlannedCell, ...], dict[str, CellRecord]]:
        return read_parquet(self._table)

    def _writing(self) -> Journal:
        if self.published:
            raise UsageError(f"{self.path}: published, and so finished; start a new run")
        if self._journal is None:
            with written_to(self.path):
                try:
                    self._lock.acquire(timeout=_LOCK_WAIT_S)
                except Timeout as error:  # inside: a Timeout is an OSError too
                    raise UsageError(
                        f"{self.path} is being written by another process; wait for it or stop it"
                    ) from error
            try:
                self._journal = Journal(self.path / "journal.jsonl")
            except BaseException:
                self._lock.release()
                raise
            self.repaired = self._journal.dropped
        return self._journal

    def _is_unlocked(self) -> bool:
        if not Path(self._lock.lock_file).exists():
            return True
        try:
            self._lock.acquire(timeout=0)
        except OSError:  # a Timeout, as it is held; or a place that we may only read
            return False
        self._lock.release()
        return True


def _new_folder(out: Path, provenance: Provenance) -> tuple[Path, Provenance]:
    with written_to(out):
        out.mkdir(parents=True, exist_ok=True)
        while True:
            path = out.resolve() / provenance.run_id
            try:
                path.mkdir()
            except FileExistsError:
                provenance = with_fresh_id(provenance)
            else:
                return path, provenance


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    replace_file(path, text.encode())


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(data, dict):
        raise _damaged(path, TypeError("not an object"))
    try:
        check_schema(data, str(path))
    except UnknownSchema as error:
        raise UsageError(str(error)) from error
    return data


def _damaged(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: foreign or damaged: {error}")
