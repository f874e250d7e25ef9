"""The folder of a crossing: what it asks, and every row that has ended.

crossing.json       provenance, and each release's torch, TensorRT and engine ABI
crossing.jsonl      every saved program and every pair as it ended (`harness.runs.journal`)
programs/SAVER/     the programs, with what they are compared with
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.files import written_to
from harness.crossing.judge import Pair, Program, Saved
from harness.runs.journal import Journal
from harness.runs.provenance import (
    Provenance,
    provenance_from_json,
    provenance_to_json,
    resume_mismatch,
    resume_warnings,
)
from harness.runs.run_directory import RunDirectory, foreign_or_damaged
from harness.subjects.stations import Station
from harness.wire.record_json import decode, to_json

DESCRIPTION: Final = "crossing.json"


class _Folder(RunDirectory):
    """A crossing goes on in the folder that it is given, and has no id of its own."""

    KIND = COMMAND = "crossing"
    JOURNAL = "crossing.jsonl"
    LOCK = "crossing.lock"


def open_crossing(
    folder: Path, now: Provenance, stations: Mapping[str, Station]
) -> tuple[Provenance, list[str]]:
    """Make the folder of a crossing, or check that the existing one asked the same.

    Returns:
        The provenance of the run that began it, and warnings about what differs now.
    """
    path = folder / DESCRIPTION
    releases = {version: station.described for version, station in stations.items()}
    run = _Folder(folder)
    if not path.exists():
        with written_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
        run.write(DESCRIPTION, {"provenance": provenance_to_json(now), "releases": releases})
        return now, []
    with foreign_or_damaged(path, "choose another --out"):
        said = json.loads(path.read_bytes())
        before = provenance_from_json(said["provenance"], str(path))
        had: dict[str, Any] = dict(said["releases"])
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
    """The rows of a crossing that have ended."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.saved: dict[Program, Saved] = {}
        self.loaded: dict[tuple[Program, str], Pair] = {}

    def add(self, row: Saved | Pair) -> None:
        kind = "saved" if isinstance(row, Saved) else "pair"
        self._journal.append({"kind": kind, **to_json(row)})
        self.keep(row)

    def keep(self, row: Saved | Pair) -> None:
        if isinstance(row, Saved):
            self.saved[row.program] = row
        else:
            self.loaded[row.program, row.loader] = row


@contextmanager
def crossing_journal(folder: Path) -> Iterator[CrossingJournal]:
    """The journal in a folder, or a new one; nobody else writes it meanwhile."""
    run = _Folder(folder)
    with run.writing() as journal:
        rows = CrossingJournal(journal)
        with foreign_or_damaged(folder / run.JOURNAL, "start a new run"):
            for row in run.journal().payloads:
                kind = {"saved": Saved, "pair": Pair}[row["kind"]]
                rows.keep(decode(kind, {name: row[name] for name in row if name != "kind"}))
        yield rows
