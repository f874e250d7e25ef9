"""What is kept is found as it was, and whatever happens to a store, nothing wrong is served."""

import dataclasses
import hashlib
import os
import signal
import sqlite3
import sys
import zlib

import pytest

from harness.runs.kept_store import Entry, Found, KeptRun, KeptStore, StoreUnusable
from harness.wire.oracles import Oracle
from tests.commands import python
from tests.record_builders import failed, key, record

RUN = KeptRun("20261123T000000Z-aaaaaa", 1.0e9, {"operating system": "Linux"})
PART = "the graph lane in pinned"


def digest(text):
    return hashlib.sha256(text.encode()).digest()


def entry(case, part=PART, **fields):
    said = failed(Oracle.VALUES, f"wrong in {case}")
    fields = {"seconds": {"export": 0.5}, "ended_at_unix_s": 123.0, **fields}
    return Entry(digest(case), part, record(key(case), said, **fields))


def wanted(*cases):
    return {digest(case): key(case) for case in cases}


@pytest.fixture
def store(tmp_path):
    made = KeptStore(tmp_path / "kept")
    made.keep(RUN, [entry("a"), entry("b")])
    return made


def test_a_record_is_found_as_it_was_but_for_its_seconds_and_says_where_it_comes_from(store):
    expected = dataclasses.replace(entry("a").record, seconds={}, kept_from=RUN.run_id)
    assert store.take(wanted("a")) == Found({expected.key.cell_id: expected})


def test_nothing_is_found_under_another_digest(store):
    assert store.take({digest("other"): key("a")}) == Found({})


def test_a_store_that_is_not_there_gives_nothing_and_is_not_made(tmp_path):
    assert KeptStore(tmp_path / "kept").take(wanted("a")) == Found({})
    assert not (tmp_path / "kept").exists()


def test_what_is_kept_again_takes_the_place_of_what_was_kept(store):
    later = KeptRun("20261124T000000Z-bbbbbb", 2.0e9, {})
    store.keep(later, [entry("a")])
    (found,) = store.take(wanted("a")).records.values()
    assert found.kept_from == later.run_id
    assert store.run(later.run_id) == later


def changed(store, statement, *values):
    with sqlite3.connect(store.path) as database:
        assert database.execute(statement, values).rowcount == 1


def test_a_record_that_is_damaged_anywhere_is_counted_and_not_served(store):
    with sqlite3.connect(store.path) as database:
        ((text,),) = database.execute("SELECT record FROM records WHERE digest = ?", (digest("a"),))
    for place in range(0, len(text), 7):
        damaged = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
        changed(store, "UPDATE records SET record = ? WHERE digest = ?", damaged, digest("a"))
        found = store.take(wanted("a", "b"))
        assert found.damaged == 1
        assert [each.key.case for each in found.records.values()] == ["b"]


@pytest.mark.parametrize("column", ["checksum", "run"])
def test_a_damaged_column_is_counted_and_its_record_not_served(store, column):
    changed(store, f"UPDATE records SET {column} = 'x' WHERE digest = ?", digest("a"))
    assert store.take(wanted("a")) == Found({}, damaged=1)


def test_a_row_under_the_digest_of_another_cell_is_not_served(store):
    changed(store, "DELETE FROM records WHERE digest = ?", digest("b"))
    changed(store, "UPDATE records SET digest = ? WHERE digest = ?", digest("b"), digest("a"))
    assert store.take(wanted("b")) == Found({}, damaged=1)


def test_a_whole_record_of_another_cell_is_not_served(store):
    assert store.take({digest("a"): key("c")}) == Found({}, damaged=1)


def test_a_verdict_that_was_changed_by_hand_is_not_served(store):
    with sqlite3.connect(store.path) as database:
        ((text,),) = database.execute("SELECT record FROM records WHERE digest = ?", (digest("a"),))
    forged = zlib.compress(zlib.decompress(text).replace(b'"failed"', b'"ok"'))
    changed(store, "UPDATE records SET record = ? WHERE digest = ?", forged, digest("a"))
    assert store.take(wanted("a")) == Found({}, damaged=1)


def foreign_database(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE records (digest, run, checksum, record, part, used, bytes)")


def newer_store(path):
    KeptStore(path.parent).keep(RUN, [entry("a")])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("no database at all, and long enough to be read as one" * 40),
        foreign_database,
        newer_store,
        lambda path: path.mkdir(),
    ],
    ids=["text", "another database", "another version", "a folder"],
)
def test_a_foreign_store_gives_nothing_says_why_and_is_left_alone(tmp_path, make):
    store = KeptStore(tmp_path)
    make(store.path)
    before = store.path.read_bytes() if store.path.is_file() else b""
    for use in (
        lambda: store.take(wanted("a")),
        lambda: store.keep(RUN, [entry("a")]),
        lambda: store.used([digest("a")]),
        lambda: store.empty([PART]),
        lambda: store.run(RUN.run_id),
    ):
        with pytest.raises(StoreUnusable, match=r"verdicts\.sqlite"):
            use()
    assert before == (store.path.read_bytes() if store.path.is_file() else b"")


def test_a_store_whose_pages_are_damaged_serves_nothing_wrong(tmp_path):
    store = KeptStore(tmp_path)
    names = [f"case_{number}" for number in range(200)]
    store.keep(RUN, [entry(name) for name in names])
    whole = store.path.read_bytes()
    right = store.take(wanted(*names)).records
    assert len(right) == len(names)
    for place in range(0, len(whole), 1531):
        store.path.write_bytes(whole[:place] + b"\xff" * 64 + whole[place + 64 :])
        try:
            found = store.take(wanted(*names)).records
        except StoreUnusable:
            continue
        assert found.items() <= right.items()


def test_a_store_that_was_cut_short_serves_nothing_wrong(tmp_path):
    store = KeptStore(tmp_path)
    names = [f"case_{number}" for number in range(100)]
    store.keep(RUN, [entry(name) for name in names])
    whole = store.path.read_bytes()
    right = store.take(wanted(*names)).records
    for length in range(0, len(whole), 4093):
        store.path.write_bytes(whole[:length])
        try:
            found = store.take(wanted(*names)).records
        except StoreUnusable:
            continue
        assert found.items() <= right.items()


def test_a_file_whose_maker_was_killed_at_once_is_an_empty_store(tmp_path):
    store = KeptStore(tmp_path)
    store.path.touch()
    assert store.take(wanted("a")) == Found({})
    store.keep(RUN, [entry("a")])
    assert len(store.take(wanted("a")).records) == 1


_WRITER = """
import os, sys
from pathlib import Path
from harness.runs.kept_store import KeptStore
from tests.runs.test_kept_store import RUN, entry
store = KeptStore(Path(sys.argv[1]))
names = sys.argv[3:]
def entries():
    for name in names:
        yield entry(name)
if sys.argv[2] == "killed":
    with store._written() as database:
        database.execute("DELETE FROM records")
        database.execute("PRAGMA cache_spill = ON")
        os.kill(os.getpid(), 9)
if sys.argv[2] == "full":
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    room = store.path.stat().st_size + 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
store.keep(RUN, entries())
"""


def test_a_writer_that_is_killed_leaves_what_was_there(store):
    before = store.take(wanted("a", "b"))
    ended = python("-c", _WRITER, store.path.parent, "killed")
    assert ended.returncode == -signal.SIGKILL
    assert store.take(wanted("a", "b")) == before
    store.keep(RUN, [entry("c")])
    assert len(store.take(wanted("a", "b", "c")).records) == 3


def test_where_the_disk_is_full_what_was_there_stays_and_the_reason_is_told(store):
    before = store.take(wanted("a", "b"))
    ended = python("-c", _WRITER, store.path.parent, "full", *(f"n{n}" for n in range(300)))
    assert "StoreUnusable" in ended.stderr, ended.stderr
    assert store.take(wanted("a", "b")) == before
    assert store.take(wanted("n0")) == Found({})


def test_runs_that_keep_at_once_all_keep_all_of_theirs(tmp_path):
    import subprocess

    names = [[f"w{writer}n{number}" for number in range(40)] for writer in range(4)]
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), "plain", *some])
        for some in names
    ]
    assert [writer.wait(120) for writer in writers] == [0] * len(writers)
    every = [name for some in names for name in some]
    assert len(KeptStore(tmp_path).take(wanted(*every)).records) == len(every)


def test_a_store_of_another_machine_is_read_and_never_written(store):
    path = store.path
    for folder in (path.parent, path):
        os.chmod(folder, 0o555 if folder.is_dir() else 0o444)
    other = KeptStore(path.parent, read_only=True)
    before = path.read_bytes()
    try:
        assert len(other.take(wanted("a")).records) == 1
        for write in (
            lambda: other.keep(RUN, [entry("c")]),
            lambda: other.used([digest("a")]),
            lambda: other.empty([PART]),
        ):
            with pytest.raises(StoreUnusable, match="not ours"):
                write()
    finally:
        os.chmod(path.parent, 0o755)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_part_is_emptied_as_a_whole_and_no_other(tmp_path):
    store = KeptStore(tmp_path)
    store.keep(RUN, [entry("a"), entry("b"), entry("c", part="2.14.0 with segment in pinned")])
    assert store.empty([PART]) == 2
    assert [each.key.case for each in store.take(wanted("a", "b", "c")).records.values()] == ["c"]


def test_a_store_that_is_too_large_forgets_what_was_not_used_for_longest(tmp_path):
    store = KeptStore(tmp_path)
    store.keep(RUN, [entry(name) for name in "abcd"])
    long_ago = [(10.0 * place, digest(name)) for place, name in enumerate("abcd")]
    with sqlite3.connect(store.path) as database:
        database.executemany("UPDATE records SET used = ? WHERE digest = ?", long_ago)
        ((held,),) = database.execute("SELECT sum(bytes) FROM records")
    store.used([digest("a")])  # of long ago; from now on the newest
    store.keep(RUN, [entry("e")], most_bytes=held)
    kept = {each.key.case for each in store.take(wanted(*"abcde")).records.values()}
    assert kept == {"a", "c", "d", "e"}
