"""The folder of a crossing: what it asks, and what of that has ended, kept row by row.

crossing.json       provenance, and each release's torch, TensorRT and engine ABI
crossing.jsonl      every saved program and every pair as it ended (`harness.runs.journal`)
programs/SAVER/     the programs, with what they are held against
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from filelock import FileLock, Timeout

from harness.base.errors import UsageError
from harness.base.files import replace_file, written_to
from harness.crossing.judge import Pair, Program, Saved
from harness.runs.journal import Journal, read_journal
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    resume_mismatch,
    resume_warnings,
)
from harness.subjects.stations import Station
from harness.wire.record_json import SCHEMA

JOURNAL: Final = "crossing.jsonl"
DESCRIPTION: Final = "crossing.json"
_LOCK_WAIT_S: Final = 1.0


def open_crossing(
    folder: Path, now: Provenance, stations: Mapping[str, Station]
) -> tuple[Provenance, list[str]]:
    """Make the folder of a crossing, or see that the one that is there asked the same.

    Returns:
        The provenance of the run that began it, and what is unlike in this one and does not matter.

    Raises:
        UsageError: it is of another corpus, torch, TensorRT or release, or damaged.
        SurroundingsError: it cannot be written.
    """
    path = folder / DESCRIPTION
    releases = {version: station.described for version, station in stations.items()}
    if not path.exists():
        with written_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
        said = {"provenance": provenance_to_json(now), "releases": releases}
        replace_file(path, (json.dumps(said, indent=2) + "\n").encode())
        return now, []
    try:
        said = json.loads(path.read_bytes())
        before = provenance_from_json(said["provenance"], str(path))
        had: dict[str, Any] = dict(said["releases"])
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: foreign or damaged: {error!r}; choose another --out") from error
    unlike = resume_mismatch(before, now)
    unlike += [
        f"{version}: it has {had.get(version)}, this is {described}"
        for version, described in releases.items()
        if had.get(version) != described
    ]
    if unlike:
        raise UsageError(f"{folder} is of another crossing, choose another --out: {unlike[0]}")
    return before, resume_warnings(before, now)


class CrossingJournal:
    """What has ended of a crossing, kept row by row. One writer at a time."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in a folder, or begin one.

        Raises:
            UsageError: it is damaged, or another process writes it.
            SurroundingsError: it cannot be written.
        """
        path = folder / JOURNAL
        self._lock = FileLock(folder / "crossing.lock")
        with written_to(folder):
            try:
                self._lock.acquire(timeout=_LOCK_WAIT_S)
            except Timeout as error:
                raise UsageError(
                    f"{folder} is being written by another process; wait for it or stop it"
                ) from error
        self._journal = Journal(path)
        self.saved: dict[Program, Saved] = {}
        self.loaded: dict[tuple[Program, str], Pair] = {}
        try:
            for row in read_journal(path).payloads:
                self._keep(row)
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path}: foreign or damaged: {error!r}; start a new run") from error

    def add(self, row: Saved | Pair) -> None:
        kind = "saved" if isinstance(row, Saved) else "pair"
        payload = {"schema": SCHEMA, "kind": kind, **asdict(row)}
        self._journal.append(payload)
        self._keep(payload)

    def _keep(self, row: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in row.items() if name not in ("schema", "kind")}
        if row["kind"] == "saved":
            made = Saved(**{**fields, "program": Program(**fields["program"])})
            self.saved[made.program] = made
        else:
            pair = Pair(**fields)
            self.loaded[pair.program, pair.loader] = pair

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._journal.close()
        self._lock.release()
