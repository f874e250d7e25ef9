"""A bench's folder."""

import json

import pyarrow.parquet as pq
import pytest

from harness.base.errors import UsageError
from harness.bench.bench import BenchFolder, reopen
from harness.report.benching import write_bench
from tests.bench.simulated import plan_of, provenance_of, record


def test_a_bench_is_found_by_its_path_its_id_and_as_the_latest(tmp_path):
    judged = record(tmp_path, plan_of("a"))
    for which in (judged.folder.path, judged.folder.run_id, judged.folder.path.name, "latest"):
        found = BenchFolder.open(which, tmp_path)
        assert found.path == judged.folder.path
        assert (found.plan(), found.provenance()) == (judged.plan, judged.provenance)


def test_a_folder_that_is_no_bench_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no bench 'yesterday'"):
        BenchFolder.open("yesterday", tmp_path)


def test_two_benches_of_one_second_have_folders_of_their_own(tmp_path):
    plan = plan_of("a")
    one, other = (BenchFolder.create(tmp_path, provenance_of(plan), plan) for _ in range(2))
    assert one.path != other.path


def test_one_process_writes_at_a_time(tmp_path):
    plan = plan_of("a")
    folder = BenchFolder.create(tmp_path, provenance_of(plan), plan)
    other = BenchFolder.open(folder.path, tmp_path)
    with (
        folder.writing(),
        pytest.raises(UsageError, match="written by another process"),
        other.writing(),
    ):
        pass


@pytest.mark.parametrize("text", ["{}", '{"schema": 99}', '{"schema": 3}', "[]", ""])
def test_a_damaged_plan_is_told_with_its_place(tmp_path, text):
    judged = record(tmp_path, plan_of("a"))
    (judged.folder.path / "plan.json").write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json: (foreign or damaged|schema)"):
        reopen(judged.folder.path, tmp_path)


def test_a_line_that_was_cut_short_costs_its_block_alone(tmp_path):
    judged = record(tmp_path, plan_of("a"), noise=0.1)
    journal = judged.folder.path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    again = reopen(judged.folder.path, tmp_path)
    cut = len(judged.samples.cells["a~legacy"].blocks) - len(again.samples.cells["a~legacy"].blocks)
    assert cut == 1


def test_every_sample_is_in_the_table_and_the_verdicts_in_the_summary(tmp_path):
    judged = record(tmp_path, plan_of("a", "b"), slower={"candidate": 1.3})
    write_bench(judged)
    table = pq.read_table(judged.folder.path / "samples.parquet").to_pandas()
    kept = table[~table.warm_up & (table.metric == "save") & (table.arm == "candidate")]
    cells = judged.samples.cells
    assert len(kept) == sum(
        len(calls) for cell in cells.values() for calls in cell.workers("save", "candidate")
    )
    assert table.warm_up.any()
    summary = json.loads((judged.folder.path / "bench.json").read_text())
    assert summary["report"]["gate"] == "red"
    changes = {stage["effect"]["change"] for stage in summary["report"]["stages"]}
    assert changes == {"regressed"}
