"""A bench's folder.

results/bench-<run id>/run.json         provenance
                       plan.json        what is measured against what
                       journal.jsonl    raw samples: a line a block, appended and fsynced
                       samples.parquet  at the end: a row a sample
                       bench.json       at the end: the verdicts, and how they came about
                       bench.html bench.md
results/latest-bench                    a symbolic link to the newest one
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from harness.base.errors import UsageError
from harness.base.files import replace_file, replace_link, written_to
from harness.base.program import PROGRAM
from harness.bench.plan import BenchPlan, plan_from_json, plan_to_json
from harness.runs.journal import Journal, JournalReading, read_journal
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    with_fresh_id,
)
from harness.wire.record_json import SCHEMA, UnknownSchema

LATEST = "latest-bench"
PREFIX = "bench-"
JOURNAL = "journal.jsonl"
_LOCK_WAIT_S = 1.0
T = TypeVar("T")


class BenchFolder:
    """One bench, being written or read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / "lock", thread_local=False)

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: BenchPlan) -> BenchFolder:
        """Raises SurroundingsError if ``out`` cannot be written."""
        with written_to(out):
            out.mkdir(parents=True, exist_ok=True)
            path = out.resolve() / f"{PREFIX}{provenance.run_id}"
            while path.exists():
                provenance = with_fresh_id(provenance)
                path = out.resolve() / f"{PREFIX}{provenance.run_id}"
            path.mkdir()
        folder = cls(path)
        folder.write("plan.json", plan_to_json(plan))
        folder.write("run.json", provenance_to_json(provenance))
        replace_link(out / LATEST, path.name)
        return folder

    @classmethod
    def open(cls, which: str | Path, out: Path) -> BenchFolder:
        """A bench by its path, its id, or as `latest`.

        Raises:
            UsageError: there is none.
        """
        path = cls.find(which, out)
        if path is None:
            raise UsageError(
                f"no bench {str(which)!r}: give its folder, its id under {out}, or `latest`; "
                f"`{PROGRAM} bench` makes one"
            )
        return cls(path)

    @staticmethod
    def find(which: str | Path, out: Path) -> Path | None:
        """Where the bench of that name lies, if there is one."""
        name = LATEST if str(which) == "latest" else str(which)
        for candidate in (Path(name), out / name, out / f"{PREFIX}{name}"):
            if (candidate / "plan.json").is_file():
                return candidate.resolve()
        return None

    @property
    def run_id(self) -> str:
        return self.path.name.removeprefix(PREFIX)

    def plan(self) -> BenchPlan:
        """Raises UsageError if it is missing, damaged or of an unknown schema."""
        return self._read("plan.json", plan_from_json)

    def provenance(self) -> Provenance:
        """Raises UsageError if it is missing, damaged or of an unknown schema."""
        return self._read("run.json", provenance_from_json)

    def journal(self) -> JournalReading[dict[str, Any]]:
        """Raises UsageError if it is damaged elsewhere than at its end."""
        path = self.path / JOURNAL
        return read_journal(path) if path.exists() else JournalReading((), 0)

    def writing(self) -> Journal:
        """The journal to append to, and the lock of this folder until `release`.

        Raises:
            UsageError: another process writes it.
        """
        with written_to(self.path):
            try:
                self._lock.acquire(timeout=_LOCK_WAIT_S)
            except Timeout as error:
                raise UsageError(
                    f"{self.path} is being written by another process; wait for it or stop it"
                ) from error
        return Journal(self.path / JOURNAL)

    def release(self) -> None:
        self._lock.release()

    def write(self, name: str, data: Mapping[str, Any] | bytes | str) -> Path:
        """Write one file whole. A mapping becomes JSON."""
        path = self.path / name
        if isinstance(data, Mapping):
            data = json.dumps({"schema": SCHEMA, **data}, indent=2, allow_nan=False) + "\n"
        replace_file(path, data.encode() if isinstance(data, str) else data)
        return path

    def _read(self, name: str, parse: Callable[[Any, str], T]) -> T:
        path = self.path / name
        try:
            return parse(json.loads(path.read_bytes()), str(path))
        except UnknownSchema as error:
            raise UsageError(str(error)) from error
        except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}: foreign or damaged: {error}") from error
