"""Run folders: made, found, resumed, and written by one process at a time."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys

import pandas as pd
import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.runs.journal import Journal
from harness.runs.plan import make_plan
from harness.runs.run_folder import RunFolder, RunState
from harness.wire.oracles import Harm, Oracle
from harness.wire.record_json import SCHEMA, to_json
from harness.wire.vocabulary import Stage
from tests.record_builders import case, failed, key, provenance, record, stopped, subject
from tests.record_builders import unsupported as not_asked

SUBJECT = subject("2.13.0")
CASES = [case("a"), case("b", "other", "handmade"), case("c")]


@pytest.fixture
def plan():
    return make_plan(CASES, [SUBJECT], ["nonstrict"])


@pytest.fixture
def origin():
    return provenance(SUBJECT)


@pytest.fixture
def run(tmp_path, origin, plan):
    return RunFolder.create(tmp_path / "results", origin, plan)


def test_a_new_run_holds_its_plan_its_provenance_and_no_record(run, origin, plan):
    run.close()
    found = RunFolder.open(run.path)
    assert (found.plan(), found.provenance()) == (plan, origin)
    assert found.records() == {}
    assert found.state() is RunState.PLANNED
    assert found.run_id == "20260102T030405Z-abcdef"


def test_two_runs_of_one_id_get_two_folders_and_each_knows_its_own(tmp_path, run, origin, plan):
    second = RunFolder.create(tmp_path / "results", origin, plan)
    assert second.path != run.path
    assert second.provenance().run_id == second.run_id
    assert re.fullmatch(r"20260102T030405Z-[0-9a-f]{6}", second.run_id)


def test_a_run_is_found_by_path_by_id_and_as_the_latest(tmp_path, run, origin, plan):
    out = tmp_path / "results"
    assert RunFolder.open("latest", out).path == run.path
    second = RunFolder.create(out, origin, plan)
    assert RunFolder.open("latest", out).path == second.path
    assert RunFolder.open(run.run_id, out).path == run.path
    assert RunFolder.open(run.path, tmp_path / "elsewhere").path == run.path
    assert os.readlink(out / "latest") == second.run_id  # relative: results/ may be moved
    run.be_latest()
    assert RunFolder.open("latest", out).path == run.path
    second.be_latest()


def test_what_is_not_a_run_is_refused_and_the_message_says_what_would_be(tmp_path):
    (tmp_path / "notes").mkdir()
    with pytest.raises(UsageError, match="notes is not a run"):
        RunFolder.open("notes", tmp_path)
    with pytest.raises(UsageError, match=r"no run 'nowhere'.*latest"):
        RunFolder.open("nowhere", tmp_path)
    with pytest.raises(UsageError, match="no run 'latest'"):
        RunFolder.open("latest", tmp_path)


def test_a_run_without_cells_is_refused(tmp_path, origin):
    with pytest.raises(UsageError, match="at least one cell"):
        RunFolder.create(tmp_path / "results", origin, ())
    assert not (tmp_path / "results").exists()


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path, origin, plan):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SurroundingsError, match=r"cannot write .*file/results: .*--out DIR"):
        RunFolder.create(tmp_path / "file" / "results", origin, plan)


def test_a_folder_named_latest_is_not_replaced_and_no_temporary_link_is_left(
    tmp_path, origin, plan
):
    (tmp_path / "latest").mkdir()
    with pytest.raises(SurroundingsError, match="latest"):
        RunFolder.create(tmp_path, origin, plan)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(run):
    (run.path / "summary.json").mkdir()
    with pytest.raises(SurroundingsError, match="cannot write"):
        run.write_results({"schema": SCHEMA}, CASES, run.records())
    assert not [path for path in run.path.iterdir() if path.name.startswith(".")]


def test_of_two_records_of_a_cell_the_last_counts(run):
    run.append(not_asked(key("a")))
    run.append(record(key("a")))
    assert run.records() == {key("a").cell_id: record(key("a"))}


def test_a_record_of_another_plan_is_foreign(run):
    run.append(record(key("a")))
    run.append(record(key("not-planned")))
    with pytest.raises(UsageError, match=r"journal.jsonl:2: foreign: not-planned"):
        run.records()


def test_a_journal_line_that_is_no_record_is_foreign(run):
    run.close()
    with Journal(run.path / "journal.jsonl") as journal:
        journal.append({"schema": SCHEMA, "key": {}})
    with pytest.raises(UsageError, match=r"journal.jsonl:1: foreign or damaged"):
        run.records()


def test_after_a_kill_in_mid_write_the_last_record_is_missing_and_the_next_one_fits(run):
    run.append(record(key("a")))
    run.append(record(key("b")))
    run.close()
    journal = run.path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-5])
    again = RunFolder.open(run.path)
    assert set(again.records()) == {key("a").cell_id}
    assert "journal.jsonl:2: dropped" in again.journal().dropped
    again.append(record(key("c")))
    assert set(again.records()) == {key("a").cell_id, key("c").cell_id}


def test_whoever_goes_on_is_told_what_differs_and_refused_where_results_would_be_mixed(run):
    before, told = run.provenance(), list[str]()
    run.refuse_mixing(dataclasses.replace(before, python="CPython 3.9.9"), told.append)
    assert told == [f"resumed: Python: the run has {before.python}, this is CPython 3.9.9"]
    with pytest.raises(UsageError, match=r"mixed: seeds: .*; start a new run"):
        run.refuse_mixing(dataclasses.replace(before, seeds=(9,)), told.append)
    with pytest.raises(UsageError, match="mixed: clock: another"):
        run.refuse_mixing(before, told.append, "clock: another")


def test_two_writers_never_write_one_run(run):
    other = RunFolder.open(run.path)
    with pytest.raises(UsageError, match="being written by another process"):
        other.append(record(key("a")))
    run.close()
    other.append(record(key("a")))
    with pytest.raises(UsageError, match="being written by another process"):
        run.write_state(RunState.RUNNING)


_HOLDER = """
import sys, time
from pathlib import Path
from harness.runs.run_folder import RunFolder, RunState
run = RunFolder.open(Path(sys.argv[1]))
run.write_state(RunState.RUNNING)
print("held", flush=True)
time.sleep(60)
"""


def test_a_killed_process_leaves_an_interrupted_run_that_can_be_written_again(run):
    run.close()
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(run.path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    again = RunFolder.open(run.path)
    assert again.state() is RunState.RUNNING
    with pytest.raises(UsageError, match="another process"):
        again.append(record(key("a")))
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert again.state() is RunState.INTERRUPTED
    again.write_state(RunState.RUNNING)
    again.append(record(key("a")))
    assert again.state() is RunState.RUNNING  # this process holds it
    again.write_state(RunState.COMPLETE)
    again.close()
    assert RunFolder.open(run.path).state() is RunState.COMPLETE


@pytest.mark.parametrize("name", ["run.json", "state.json", "plan.jsonl"])
@pytest.mark.parametrize("content", ["", "{", "[1]", '{"schema": 1}', '{"schema": 99}', "\x00"])
def test_a_damaged_file_is_named(run, name, content):
    run.close()
    (run.path / name).write_text(content)
    again = RunFolder.open(run.path)
    read = {"run.json": again.provenance, "state.json": again.state, "plan.jsonl": again.plan}
    if name == "plan.jsonl" and not content:
        assert again.plan() == ()  # which the gate calls a failure
        return
    expected = "schema 99" if "99" in content else "foreign or damaged"
    with pytest.raises(UsageError, match=rf"{re.escape(name)}.*{expected}"):
        read[name]()


def test_the_table_has_a_typed_row_for_each_cell_and_oracle_and_loses_no_cell(run):
    run.append(record(key("a"), failed(Oracle.VALUES, "off"), seconds={"inline-engines": 0.25}))
    run.append(not_asked(key("b"), "no compiler"))
    run.write_results({"schema": SCHEMA}, CASES, run.records())
    table = pd.read_parquet(run.path / "records.parquet")
    assert list(table.groupby("case").size()) == [len(Oracle), 1, 1]
    values = table[(table["case"] == "a") & (table["oracle"] == "values")].iloc[0]
    assert (values["label"], values["message"]) == ("wrong-values@run", "off")
    assert (values["symptom"], values["stage"]) == ("wrong-values", "run")
    assert values["seconds_inline_engines"] == 0.25
    assert pd.isna(values["seconds_save"])
    assert pd.isna(values["archive_bytes"])
    asked = table[table["case"] == "b"].iloc[0]
    assert (asked["outcome"], asked["message"]) == ("unsupported", "no compiler")
    assert (asked["family"], asked["origin"]) == ("other", "handmade")
    assert list(table[table["case"] == "c"]["outcome"]) == ["missing"]
    assert table["seconds_save"].dtype == "float64"  # also where no cell has one
    assert set(table.columns) >= {f"seconds_{stage.replace('-', '_')}" for stage in Stage}


def test_each_failing_case_leaves_what_its_cells_say_and_one_that_passes_now_leaves_nothing(
    tmp_path, origin
):
    plan = make_plan(CASES, [subject("2.13.0", "legacy", "export")], ["nonstrict"])
    run = RunFolder.create(tmp_path, origin, plan)
    swapped, legacy = key("b"), key("b", route="legacy")
    run.append(stopped(key("a"), "lint: used before it has been defined"))
    run.append(record(swapped, failed(Oracle.WIRING, "swapped")))
    run.append(record(legacy, failed(Oracle.WIRING, "another engine")))
    run.append(record(key("c")))
    run.write_results({"schema": SCHEMA}, CASES, run.records())
    folder = run.path / "failures"
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]
    text = (folder / "b.txt").read_text()
    assert "wiring: wrong-wiring@run: swapped\n    evidence of swapped\n" in text
    assert "wiring: wrong-wiring@run: another engine\n" in text
    assert "python -m harness explain b --subject 2.13.0 --route export" in text
    run.append(record(swapped), record(legacy))
    run.write_results({"schema": SCHEMA}, CASES, run.records())
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_a_case_whose_name_is_too_long_for_a_file_name_still_leaves_its_evidence(tmp_path, origin):
    names = ["x" * 300, "x" * 299 + "y"]
    plan = make_plan([case(name) for name in names], [SUBJECT], ["nonstrict"])
    run = RunFolder.create(tmp_path, origin, plan)
    for name in names:
        run.append(stopped(key(name)))
    run.write_results({"schema": SCHEMA}, [case(name) for name in names], run.records())
    assert len(list((run.path / "failures").iterdir())) == 2


def test_results_are_replaced_whole_and_leave_no_temporary_file(run):
    for gate in ("red", "green"):
        run.write_results({"schema": SCHEMA, "gate": gate}, CASES, run.records())
    assert json.loads((run.path / "summary.json").read_text())["gate"] == "green"
    assert not [path for path in run.path.iterdir() if path.name.startswith(".")]
    mode = (run.path / "summary.json").stat().st_mode & 0o777
    assert mode == (run.path / "journal.jsonl").stat().st_mode & 0o777


def test_a_record_survives_the_journal_without_loss(run):
    made = record(key("a"), failed(Oracle.METADATA, 'a "quoted"\nmessage \u2028 \x00'), attempts=2)
    run.append(made)
    (found,) = run.records().values()
    assert to_json(found) == to_json(made)


def test_a_published_run_is_read_from_its_results_all_but_the_evidence(run, plan):
    off = dataclasses.replace(
        failed(Oracle.VALUES, "off"), harm=Harm.SILENT, raised="lift (dynamo/_exporter.py:1): x"
    )
    made = record(
        key("a"),
        off,
        seconds={"save": 0.5},
        archive_bytes=7,
        steps=3,
        logged=("it is going to be off",),
        attempts=2,
        ended_at_unix_s=1.5,
    )
    run.append(made)
    run.append(not_asked(key("b"), "no compiler"))
    run.write_results({"schema": SCHEMA, "state": "complete"}, CASES, run.records())
    run.close()
    for name in ("plan.jsonl", "journal.jsonl", "state.json"):
        (run.path / name).unlink()
    found = RunFolder.open(run.path)
    assert [cell.key for cell in found.plan()] == [cell.key for cell in plan]
    bare = tuple(dataclasses.replace(verdict, evidence="") for verdict in made.verdicts)
    assert found.records() == {
        made.key.cell_id: dataclasses.replace(made, verdicts=bare),
        key("b").cell_id: not_asked(key("b"), "no compiler"),
    }
    assert found.state() is RunState.COMPLETE
    with pytest.raises(UsageError, match="published, and so finished"):
        found.append(made)


def test_a_published_table_of_other_columns_or_none_is_refused(run):
    run.write_results({"schema": SCHEMA}, CASES, run.records())
    run.close()
    for name in ("plan.jsonl", "journal.jsonl"):
        (run.path / name).unlink()
    path = run.path / "records.parquet"
    pd.DataFrame({"case": ["a"]}).to_parquet(path)
    with pytest.raises(UsageError, match=r"records.parquet: not the columns"):
        RunFolder.open(run.path).plan()
    path.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"records.parquet: foreign or damaged"):
        RunFolder.open(run.path).records()
