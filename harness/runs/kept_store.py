"""Kept verdicts on the disk: one SQLite file, in which a record lies under the digest of its key.

A digest covers everything that a cell's record is a function of (`harness.run.kept_key`), so that a
record is found as long as all of that is the same. Nothing here is believed: a row has a checksum
over its digest and its text, a record has to be the cell's that is asked for, and a file that is
foreign, damaged or not there gives nothing.

A transaction is all there or not at all, whoever is killed and whatever disk is full; runs that
write at once wait for each other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.wire.record_json import cell_from_text, to_json, words
from harness.wire.records import CellKey, CellRecord

FILE: Final = "verdicts.sqlite"
MOST_BYTES: Final = 400 * 10**6  # some hundred default runs that have nothing in common
_APPLICATION: Final = 0x494E4C52  # what SQLite's header says of a file of ours
_SCHEMA: Final = 1
_WAIT_S: Final = 30.0
_AT_ONCE: Final = 500  # digests in one question
_DAY_S: Final = 86400.0  # how exactly it is known when a record was last used
_TABLES: Final = """
CREATE TABLE runs (id TEXT PRIMARY KEY, at REAL NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    digest BLOB PRIMARY KEY, part TEXT NOT NULL, run TEXT NOT NULL, used REAL NOT NULL,
    bytes INTEGER NOT NULL, checksum BLOB NOT NULL, record BLOB NOT NULL
);
CREATE INDEX by_use ON records (used, bytes);
CREATE INDEX by_part ON records (part);
"""


class StoreUnusable(Exception):
    """A store that cannot be read or written: which, and why. It never ends a run."""


@dataclass(frozen=True)
class KeptRun:
    """A run that records were kept from.

    ``facts`` is what is known of its surroundings and is not in the key, for the day on which a
    record proves wrong. ``at`` is in seconds since 1970.
    """

    run_id: str
    at: float
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """A record to be kept: its key's digest, and the part of the store that it belongs to."""

    digest: bytes
    part: str
    record: CellRecord


@dataclass(frozen=True)
class Found:
    """What a store has of the cells that were asked for, by ``cell_id``.

    ``damaged`` is the number of rows that were there and were not believed.
    """

    records: Mapping[str, CellRecord]
    damaged: int = 0


class KeptStore:
    """The store in one folder. Every method raises StoreUnusable and leaves the file as it was.

    Args:
        folder: where it lies; it is made when the first record is kept.
        read_only: whether it belongs to another machine, and nothing may be written to it.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder / FILE
        self.read_only = read_only

    def take(self, wanted: Mapping[bytes, CellKey]) -> Found:
        """The records under these digests, each of them of the cell that it is wanted for."""
        if not self._there():
            return Found({})
        keys = {words(key): key for key in wanted.values()}
        records: dict[str, CellRecord] = {}
        damaged = 0
        with self._open() as store:
            for digest, run, checksum, text in _rows(store, wanted):
                record = None
                if checksum == _checksum(digest, run, text):
                    record = _record(text, keys)
                if record is None or record.key != wanted[digest] or record.kept_from != run:
                    damaged += 1
                else:
                    records[record.key.cell_id] = record
        return Found(records, damaged)

    def keep(self, run: KeptRun, entries: Iterable[Entry], most_bytes: int = MOST_BYTES) -> None:
        """Keep records, each in the place of what was there, and forget those not used for long."""
        now = time.time()
        rows = [_row(run, entry, now) for entry in entries]
        if not rows:
            return
        with self._written() as store:
            store.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?)",
                (run.run_id, run.at, json.dumps(dict(run.facts), sort_keys=True)),
            )
            store.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            _forget_least_used(store, most_bytes)

    def used(self, digests: Collection[bytes]) -> None:
        """Remember that these were used now, to a day."""
        now = time.time()
        with self._written() as store:
            store.executemany(
                "UPDATE records SET used = ? WHERE digest = ? AND used < ?",
                [(now, digest, now - _DAY_S) for digest in digests],
            )

    def empty(self, parts: Collection[str]) -> int:
        """Forget all records of these parts; returns how many they were."""
        if not self._there():
            return 0
        with self._written() as store:
            return sum(
                store.execute("DELETE FROM records WHERE part = ?", (part,)).rowcount
                for part in parts
            )

    def run(self, run_id: str) -> KeptRun | None:
        """A run that records were kept from, if it is known."""
        if not self._there():
            return None
        with self._open() as store:
            row = store.execute("SELECT at, facts FROM runs WHERE id = ?", (run_id,)).fetchone()
        return None if row is None else KeptRun(run_id, row[0], json.loads(row[1]))

    def _there(self) -> bool:
        """Whether there is a file, and not one whose maker was killed before anything was in it."""
        with self._told():
            return self.path.exists() and self.path.stat().st_size > 0

    def newest(self) -> KeptRun | None:
        """The run that last began of those that records were kept from."""
        if not self._there():
            return None
        with self._open() as store:
            row = store.execute(
                "SELECT id, at, facts FROM runs ORDER BY at DESC LIMIT 1"
            ).fetchone()
        return None if row is None else KeptRun(row[0], row[1], json.loads(row[2]))

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The store as it is, to be read."""
        with self._told(), contextlib.closing(self._connected("ro")) as store:
            self._check(store)
            yield store

    @contextlib.contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        """The store in a transaction, which is undone if it does not get to its end."""
        if self.read_only:
            raise StoreUnusable(f"{self.path}: it is not ours to be written")
        with self._told():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(self._connected("rwc")) as store:
                store.execute("BEGIN IMMEDIATE")  # waits for others, who may be making it
                if not store.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    for statement in filter(str.strip, _TABLES.split(";")):
                        store.execute(statement)
                    store.execute(f"PRAGMA application_id = {_APPLICATION}")
                    store.execute(f"PRAGMA user_version = {_SCHEMA}")
                self._check(store)
                yield store
                store.execute("COMMIT")

    def _connected(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None)

    def _check(self, store: sqlite3.Connection) -> None:
        found = [store.execute(f"PRAGMA {of}").fetchone()[0] for of in _HEADER]
        if found != [_APPLICATION, _SCHEMA]:
            raise StoreUnusable(f"{self.path}: no store of this harness, or of another version")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StoreUnusable(f"{self.path}: {error}") from error


_HEADER: Final = ("application_id", "user_version")


def _rows(
    store: sqlite3.Connection, digests: Iterable[bytes]
) -> Iterator[tuple[bytes, str, bytes, bytes]]:
    left = iter(digests)
    while some := tuple(itertools.islice(left, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        yield from store.execute(
            f"SELECT digest, run, checksum, record FROM records WHERE digest IN ({marks})", some
        )


def _row(run: KeptRun, entry: Entry, now: float) -> tuple[object, ...]:
    # Without seconds: they measured that run, and are none of the run that the record is given to.
    record = dataclasses.replace(entry.record, kept_from=run.run_id, seconds={})
    text = json.dumps(to_json(record), sort_keys=True, separators=(",", ":"), allow_nan=False)
    packed = zlib.compress(text.encode())
    checksum = _checksum(entry.digest, run.run_id, packed)
    return entry.digest, entry.part, run.run_id, now, len(packed), checksum, packed


def _checksum(digest: bytes, run: str, packed: bytes) -> bytes:
    return hashlib.sha256(b"\0".join((digest, run.encode(), packed))).digest()


def _record(packed: bytes, keys: Mapping[tuple[str, ...], CellKey]) -> CellRecord | None:
    """The record that a row holds; None for what is none."""
    try:
        return cell_from_text(zlib.decompress(packed), "kept record", keys)
    except (zlib.error, AttributeError, KeyError, TypeError, ValueError):
        return None


def _forget_least_used(store: sqlite3.Connection, most_bytes: int) -> None:
    """Delete those that were not used for longest, until the others take so many bytes at most."""
    (held,) = store.execute("SELECT coalesce(sum(bytes), 0) FROM records").fetchone()
    if held <= most_bytes:
        return
    doomed = []
    for row, size in store.execute("SELECT rowid, bytes FROM records ORDER BY used, rowid"):
        doomed.append((row,))
        held -= size
        if held <= most_bytes:
            break
    store.executemany("DELETE FROM records WHERE rowid = ?", doomed)
    store.execute("DELETE FROM runs WHERE id NOT IN (SELECT DISTINCT run FROM records)")
