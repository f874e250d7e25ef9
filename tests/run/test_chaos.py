"""Disturbed runs: what counts as a fault, and a short campaign of real kills."""

import dataclasses
import json

import pytest

from harness.base.errors import ExitCode
from harness.run.chaos import faults_in, told_of
from harness.wire.oracles import Oracle, Symptom
from tests.cli.test_bench import invoke
from tests.record_builders import by_id, failed, key, record

RECORDS = by_id(record(key("a")), record(key("b"), failed(Oracle.VALUES)))
IDS = [*RECORDS]
CALM = told_of(RECORDS)


def faults(journalled=IDS, records=RECORDS, killed=0):
    return faults_in(IDS, journalled, records, CALM, killed)


def test_a_run_as_undisturbed_has_no_fault():
    assert faults() == ([], 0)


def test_a_cell_that_is_lost_or_doubled_or_was_not_planned_is_a_fault():
    assert faults(IDS[:1]) == ([f"lost: {IDS[1]}"], 0)
    assert faults([*IDS, IDS[0]]) == ([f"doubled: {IDS[0]}"], 0)
    assert faults([*IDS, "other"]) == (["not planned: other"], 0)


def test_a_cell_that_ended_otherwise_is_a_fault():
    changed = {**RECORDS, IDS[0]: record(key("a"), failed(Oracle.WIRING))}
    (found,), struck = faults(records=changed)
    assert found.startswith(f"ended otherwise: {IDS[0]}")
    assert struck == 0


@pytest.mark.parametrize("symptom", [Symptom.FLAKY, Symptom.KILLED])
def test_as_many_cells_may_tell_that_their_worker_was_killed_as_workers_were(symptom):
    died = dataclasses.replace(failed(Oracle.COMPLETION), symptom=symptom)
    changed = {**RECORDS, IDS[0]: record(key("a"), died)}
    assert faults(records=changed, killed=1) == ([], 1)
    assert len(faults(records=changed, killed=0)[0]) == 1


@pytest.mark.usefixtures("release_specs")
def test_a_run_that_is_struck_again_and_again_has_every_cell_once_and_as_undisturbed(tmp_path):
    code, told = invoke(
        "chaos", "--seconds", "1", "-k", "relu_once", "--releases", "2.14.0", "--jobs", "1",
        "--out", str(tmp_path / "chaos"),
    )  # fmt: skip
    assert code == ExitCode.GREEN, told
    assert "0 faults" in told
    written = json.loads((tmp_path / "chaos" / "chaos.json").read_text())
    assert written["turns"] == 1
    assert written["strikes"]
    assert written["faults"] == []
