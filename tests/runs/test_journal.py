"""The journal: what was acknowledged is there, whatever kill came after."""

import io
import os
import random
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import SurroundingsError, UsageError
from harness.runs.journal import (
    Journal,
    JournalReading,
    encode_line,
    parse_journal,
    payload_of,
    read_journal,
)
from harness.wire.record_json import SCHEMA

payloads = st.lists(
    st.dictionaries(st.text(max_size=4), st.text(max_size=12) | st.integers() | st.none()).map(
        lambda data: {**data, "schema": SCHEMA}
    ),
    max_size=5,
)


def parsed(data: bytes, where: str) -> JournalReading[dict[str, Any]]:
    return parse_journal(io.BytesIO(data), len(data), where, payload_of)


def line(**data: Any) -> bytes:
    return encode_line({"schema": SCHEMA, **data})


@given(payloads)
def test_what_is_written_is_read_back(written):
    data = b"".join(map(encode_line, written))
    reading = parsed(data, "journal")
    assert list(reading.payloads) == written
    assert (reading.good_bytes, reading.dropped) == (len(data), "")


@given(payloads, st.data())
def test_a_cut_at_any_byte_loses_at_most_the_record_it_falls_into(written, data):
    lines = [encode_line(payload) for payload in written]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    reading = parsed(whole[:cut], "journal")
    ends = [sum(map(len, lines[: n + 1])) for n in range(len(lines))]
    complete = sum(end <= cut for end in ends)
    assert list(reading.payloads) == written[:complete]
    assert reading.good_bytes == ([0, *ends])[complete]
    assert bool(reading.dropped) == (cut != reading.good_bytes)


@given(payloads.filter(bool), st.data())
def test_a_changed_byte_is_never_read_as_a_record(written, data):
    whole = bytearray(b"".join(map(encode_line, written)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        reading = parsed(bytes(whole), "journal")
    except UsageError:
        return
    assert list(reading.payloads) == written[: len(reading.payloads)]
    assert len(reading.payloads) < len(written)
    assert reading.dropped


def test_a_broken_last_line_is_dropped_and_reported():
    for tail in (line(n=2)[:-1], line(n=2)[:10], b"garbage", b"garbage\n", b"\0" * 40):
        reading = parsed(line(n=1) + tail, "some/journal")
        assert [payload["n"] for payload in reading.payloads] == [1]
        assert "some/journal:2" in reading.dropped
        assert f"dropped {len(tail)} bytes" in reading.dropped


@pytest.mark.parametrize("broken", [b"garbage\n", b"\n", line(n=9).replace(b"9", b"8")])
def test_a_broken_line_elsewhere_is_foreign_or_damaged_by_file_and_line(broken):
    with pytest.raises(UsageError, match="some/journal:2: foreign or damaged"):
        parsed(line(n=1) + broken + line(n=3), "some/journal")
    with pytest.raises(UsageError, match="some/journal:2: foreign or damaged"):
        parsed(line(n=1) + broken + line(n=3)[:-4], "some/journal")


@pytest.mark.parametrize("schema", [None, 0, SCHEMA + 1, "1"])
def test_an_unknown_schema_is_refused_even_in_the_last_line(schema):
    with pytest.raises(UsageError, match=f"j:2: schema {schema!r}"):
        parsed(line(n=1) + encode_line({"schema": schema}), "j")


def test_a_number_that_json_cannot_say_is_refused_before_anything_is_written(tmp_path):
    with Journal(tmp_path / "j") as journal, pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"schema": SCHEMA, "seconds": float("nan")})
    assert (tmp_path / "j").read_bytes() == b""


def test_opening_for_append_cuts_off_the_broken_tail_first(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(line(n=1) + line(n=2)[:-3])
    with Journal(path) as journal:
        assert "j:2" in journal.dropped
        journal.append({"schema": SCHEMA, "n": 3})
    assert [payload["n"] for payload in read_journal(path).payloads] == [1, 3]


def test_a_reader_changes_nothing(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(line(n=1) + b"half")
    read_journal(path)
    assert path.read_bytes() == line(n=1) + b"half"


def test_a_damaged_journal_is_not_opened_for_append(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(b"a diary\nof someone else\n" + line(n=1))
    with pytest.raises(UsageError, match="foreign"):
        Journal(path)
    assert path.read_bytes().startswith(b"a diary")


def test_after_a_failed_write_no_other_line_is_put_behind_the_half_one(tmp_path, monkeypatch):
    path = tmp_path / "j"
    real = os.write
    journal = Journal(path)
    journal.append({"schema": SCHEMA, "n": 1})

    def half(descriptor: int, data: bytes) -> int:
        real(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(SurroundingsError, match=r"j: No space left on device; .*--out"):
        journal.append({"schema": SCHEMA, "n": 2})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="closed"):
        journal.append({"schema": SCHEMA, "n": 3})
    with Journal(path) as again:
        again.append({"schema": SCHEMA, "n": 4})
    assert [payload["n"] for payload in read_journal(path).payloads] == [1, 4]


def test_a_write_in_several_parts_is_one_line(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    with Journal(tmp_path / "j") as journal:
        journal.append({"schema": SCHEMA, "n": 1})
    assert [payload["n"] for payload in read_journal(tmp_path / "j").payloads] == [1]


_WRITER = """
import sys
from pathlib import Path
from harness.runs.journal import Journal
from harness.wire.record_json import SCHEMA
start = int(sys.argv[2])
with Journal(Path(sys.argv[1])) as journal:
    for n in range(start, start + 10_000_000):
        journal.append({"schema": SCHEMA, "n": n, "text": "x" * 20_000})
        print(n, flush=True)
"""


def test_no_acknowledged_record_is_lost_to_kill_9(tmp_path):
    path = tmp_path / "journal.jsonl"
    chance = random.Random(7)
    acknowledged = -1
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), str(acknowledged + 1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        first = process.stdout.readline()  # it is writing now
        time.sleep(chance.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        printed = [first, *process.stdout.readlines()]
        process.wait()
        process.stdout.close()
        # The pipe may hold half of the last number.
        told = [int(number) for number in printed if number.endswith("\n")]
        numbers = [payload["n"] for payload in read_journal(path).payloads]
        assert numbers == list(range(len(numbers)))
        assert numbers[-1] >= told[-1] > acknowledged
        acknowledged = numbers[-1]
