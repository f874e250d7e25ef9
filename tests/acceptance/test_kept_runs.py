"""Kept verdicts in whole runs, by the command line, with real workers and released inliners."""

import dataclasses
import json
import os
import shutil
import sqlite3

import pytest

from harness.runs.kept_store import Entry, KeptRun, KeptStore
from harness.runs.run_folder import RunFolder
from harness.toolchain.cache import KEPT
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.oracles import Oracle
from tests import commands
from tests.record_builders import failed

ASKED = ("run", "-k", "relu_once or pr_4360", "--releases", "2.13.0,2.14.0", "--jobs", "1")


@dataclasses.dataclass
class Machine:
    """A cache with a store of its own, and all else of the project's; and its runs."""

    folder: os.PathLike
    run_id: str = ""

    def run(self, *more, **environment):
        environment = {
            "INLINER_REGRESS_CACHE": str(self.folder / "cache"),
            "INLINER_REGRESS_KEPT": "",
            **environment,
        }
        out = self.folder / "out"
        ended = commands.harness(*ASKED, "--out", out, *more, **environment)
        self.run_id = (out / "latest").resolve().name
        return ended

    @property
    def path(self):
        return self.folder / "out" / self.run_id

    @property
    def records(self):
        return RunFolder.open(self.path).records()

    @property
    def store(self):
        return KeptStore(self.folder / "cache" / KEPT)


def said(records):
    return {
        cell_id: (record.state, record.verdicts, record.reason, record.steps, record.measured_as)
        for cell_id, record in records.items()
    }


@pytest.fixture(scope="module")
def first(tmp_path_factory, library, release_specs):
    """A machine that has run once."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "cache").mkdir()
    for name in ("wheels", "native", "packages", "engines", "answers", "fingerprints", "locks"):
        (PROJECT_ROOT / ".cache" / name).mkdir(exist_ok=True)
        (folder / "cache" / name).symlink_to(PROJECT_ROOT / ".cache" / name)
    machine = Machine(folder)
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return machine


@pytest.fixture
def machine(first, tmp_path):
    """The same machine, to be changed."""
    shutil.copytree(first.folder, tmp_path / "machine", symlinks=True)
    return Machine(tmp_path / "machine", first.run_id)


def test_a_second_run_has_the_same_verdicts_and_says_of_each_where_it_comes_from(machine):
    before = machine.records
    ended = machine.run()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    now = machine.records
    assert said(now) == said(before)
    kept = {cell_id for cell_id, record in now.items() if record.kept_from}
    assert kept
    assert len(kept) < len(now)  # some were asked again
    for cell_id, record in now.items():
        assert record.kept_from == (first_id(machine) if cell_id in kept else "")
        if cell_id in kept:
            assert record.ended_at_unix_s == before[cell_id].ended_at_unix_s
            assert not record.seconds
    assert "cells kept from 1 run; " in ended.stderr
    assert f"{len(kept)} from run {first_id(machine)}" in ended.stdout
    told = json.loads((machine.path / "summary.json").read_text())["kept"]
    assert told["cells"] == len(kept)
    assert list(told["runs"]) == [first_id(machine)]


def first_id(machine):
    return sorted(path.name for path in machine.path.parent.iterdir() if path.name != "latest")[0]


def test_a_wrong_verdict_in_the_store_is_found_by_asking_again_and_is_never_served(machine):
    wrong = failed(Oracle.VALUES, "numbers that nobody ever saw")
    with sqlite3.connect(machine.store.path) as store:
        digests = [row[0] for row in store.execute("SELECT digest FROM records")]
        run = store.execute("SELECT id FROM runs").fetchone()[0]
    by_digest = {}
    for digest in digests:
        for record in machine.records.values():
            if machine.store.take({digest: record.key}).records:
                by_digest[digest] = record
    forged = [
        Entry(digest, "the graph lane in pinned", dataclasses.replace(
            record, verdicts=(wrong, *record.verdicts[1:])))
        for digest, record in by_digest.items()
    ]  # fmt: skip
    machine.store.keep(KeptRun(run, 1.0, {}), forged)
    before = machine.records
    ended = machine.run()
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert "asked again end in another way" in ended.stderr
    assert "numbers that nobody ever saw" in ended.stderr
    assert not any(record.kept_from for record in machine.records.values())
    resumed = commands.harness(
        "run", "--resume", machine.run_id, "--out", machine.path.parent,
        INLINER_REGRESS_CACHE=str(machine.folder / "cache"), INLINER_REGRESS_KEPT="",
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert said(machine.records) == said(before)


@pytest.mark.slow
def test_a_rerun_with_another_seed_asks_all_anew(machine):
    ended = machine.run("--rerun", "--seed", "7")
    assert ended.returncode == 0
    assert not any(record.kept_from for record in machine.records.values())


@pytest.mark.slow
def test_a_store_of_another_machine_serves_and_is_not_written(machine, tmp_path):
    shutil.move(machine.folder / "cache" / KEPT, tmp_path / "theirs")
    before = (tmp_path / "theirs" / "verdicts.sqlite").read_bytes()
    ended = machine.run("--kept", tmp_path / "theirs", "--audit", "50%")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert any(record.kept_from for record in machine.records.values())
    assert (tmp_path / "theirs" / "verdicts.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--audit", "2"), "such as 2%"),
        (("--audit", "200%"), "such as 2%"),
        (("--kept", "/no/such/folder"), "no such folder"),
        (("--rerun", "--audit", "2%"), "--rerun takes no kept verdict"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, more, told):
    ended = commands.harness(*ASKED, "--out", tmp_path, *more)
    assert ended.returncode == 2
    assert told in ended.stderr
