"""An append-only file of JSON lines that survives a kill at any moment.

A line is ``<length> <crc32> <json>``: the length of the JSON in bytes, its CRC-32 as 8 hex digits,
and the JSON itself without a line break. It is written by one call, and is in the file when
``append`` returns. So a kill loses nothing of it, and can only damage the last line. It is on the
disk, and safe from a power cut, when ``append`` returns, too, unless the journal is opened to wait
for the disk less often than that.

There are therefore two kinds of damage. A broken *last* line is a write that was cut short, and is
dropped and reported. A broken line anywhere else means that something other than this module wrote
into the file, and nothing in it can be trusted.
"""

from __future__ import annotations

import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from harness.base.errors import SurroundingsError, UsageError
from harness.base.files import written_to
from harness.wire.record_json import UnknownSchema, check_schema

T = TypeVar("T")


@dataclass(frozen=True)
class JournalReading(Generic[T]):
    """A journal's payloads in order, how many bytes of it are good, and what was dropped if any."""

    payloads: tuple[T, ...]
    good_bytes: int
    dropped: str = ""


def encode_line(payload: Mapping[str, Any]) -> bytes:
    """One line of the journal, with its line feed.

    Raises:
        ValueError: a number in it is not finite, which JSON cannot say.
    """
    # ASCII: no payload can then hold a line break or half a character.
    return _line(
        json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    )


def parse_journal(
    lines: Iterable[bytes], size: int, where: str, each: Callable[[bytes, str], T]
) -> JournalReading[T]:
    """Read a journal's lines; ``where`` names the file in messages.

    Args:
        size: the bytes of all lines.
        each: turns a line's JSON text, and its place for messages, into the value that is kept. A
            ValueError says that the line is broken.
    """
    payloads: list[T] = []
    good_bytes = 0
    for number, line in enumerate(lines, start=1):
        here = f"{where}:{number}"
        payload = _decode(line[:-1], here, each) if line.endswith(b"\n") else None
        if payload is None:
            if good_bytes + len(line) == size:
                return _cut(payloads, good_bytes, len(line), here)
            raise UsageError(
                f"{here}: foreign or damaged: not a line that this harness wrote; start a new run"
            )
        payloads.append(payload)
        good_bytes += len(line)
    return JournalReading(tuple(payloads), good_bytes)


def read_journal(path: Path) -> JournalReading[dict[str, Any]]:
    """Read a journal file without changing it."""
    return read_journal_as(path, payload_of)


def read_journal_as(path: Path, each: Callable[[bytes, str], T]) -> JournalReading[T]:
    """As `read_journal`, with the values that ``each`` makes of the lines (see `parse_journal`).

    The payloads of a large run take more memory than its records, and are never all in memory.
    """
    try:
        with path.open("rb") as lines:
            # What somebody appends meanwhile is not read: its last line may not be whole yet.
            size = os.fstat(lines.fileno()).st_size
            return parse_journal(_up_to(size, lines), size, str(path), each)
    except OSError as error:
        raise UsageError(f"cannot read the journal {path}: {error.strerror}") from error


def _up_to(size: int, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of the first ``size`` bytes."""
    for line in lines:
        if size <= 0:
            return
        yield line[:size]
        size -= len(line)


class Journal:
    """Appends to a journal, after cutting off what a kill left of the last line.

    ``dropped`` says what was cut off, and is empty if nothing was. Whoever opens a journal holds a
    lock, so that there is one writer at a time.
    """

    def __init__(self, path: Path, sync_every_s: float = 0.0) -> None:
        """Open ``path``, which may be absent.

        Args:
            sync_every_s: an `append` waits for the disk if the last wait is so long ago. A disk may
                take longer for a line than a worker for a cell.
        """
        self._path = path
        self._sync_every_s = sync_every_s
        self._synced = -math.inf
        self._descriptor = -1
        # What the lines say is for whoever reads them: here they have to be whole.
        reading = read_journal_as(path, _whole) if path.exists() else JournalReading((), 0)
        self.dropped = reading.dropped
        with written_to(path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            if reading.dropped:
                os.ftruncate(self._descriptor, reading.good_bytes)
                os.fsync(self._descriptor)

    def append(self, *payloads: Mapping[str, Any]) -> None:
        """Add a line for each, and return when they are in the file.

        Raises:
            ValueError: a payload is not JSON, or the journal is closed.
            SurroundingsError: as `append_texts`.
        """
        self._append(map(encode_line, payloads))

    def append_texts(self, *texts: bytes) -> None:
        """As `append`, of payloads that are JSON text as `encode_line` makes it.

        Raises:
            ValueError: the journal is closed.
            SurroundingsError: it cannot be written. The journal is then closed, because another
                line after a half-written one would make the file a damaged one.
        """
        self._append(map(_line, texts))

    def _append(self, lines: Iterable[bytes]) -> None:
        if self._descriptor < 0:
            raise ValueError(f"{self._path}: the journal is closed")
        whole = b"".join(lines)
        try:
            with written_to(self._path):
                _write_all(self._descriptor, whole)
                now = time.monotonic()
                if now - self._synced >= self._sync_every_s:
                    os.fsync(self._descriptor)
                    self._synced = now
        except SurroundingsError:
            self.close()
            raise

    def close(self) -> None:
        if self._descriptor >= 0:
            try:
                with written_to(self._path):
                    os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _whole(_: bytes, __: str) -> bool:
    return True


def _line(body: bytes) -> bytes:
    return _framed(body) + b"\n"


def _framed(body: bytes) -> bytes:
    return b"%d %08x %s" % (len(body), zlib.crc32(body), body)


def payload_of(body: bytes, where: str) -> dict[str, Any]:
    """A line's JSON as data.

    Raises:
        UnknownSchema, ValueError: of an unknown schema, or no JSON of a payload.
    """
    payload = json.loads(body)
    if not isinstance(payload, dict):
        raise ValueError("not an object")
    check_schema(payload, where)
    return payload


def _decode(line: bytes, where: str, each: Callable[[bytes, str], T]) -> T | None:
    """The value that ``each`` makes of one line, or None if the line is broken."""
    body = line.split(b" ", 2)[-1]
    if line != _framed(body):
        return None
    try:
        return each(body, where)
    except UnknownSchema as error:
        # Its checksum is right: it was written whole, by another version of this harness.
        raise UsageError(str(error)) from error
    except ValueError:
        return None


def _cut(payloads: list[T], good_bytes: int, lost: int, where: str) -> JournalReading[T]:
    message = f"{where}: dropped {lost} bytes of a line that was cut short in writing"
    return JournalReading(tuple(payloads), good_bytes, message)


def _write_all(descriptor: int, line: bytes) -> None:
    written = 0
    while written < len(line):
        written += os.write(descriptor, line[written:])
