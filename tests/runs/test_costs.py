"""What workers spent: summed over jobs and over a resume, and never guessed."""

import pytest

from harness.base.errors import UsageError
from harness.runs.costs import COSTS_FILE, Cost, cost_log, read_costs
from harness.runs.journal import Journal
from harness.wire.record_json import SCHEMA
from tests.commands import python


def test_what_jobs_told_is_summed_over_a_resume(tmp_path):
    with cost_log(tmp_path) as add:
        add(Cost(2.0, 1.5))
        add(Cost(4.0, 3.5))
    with cost_log(tmp_path) as add:
        add(Cost(4.0, 3.0))
    assert read_costs(tmp_path) == Cost(10.0, 8.0)
    assert Cost(10.0, 8.0).stage_share == 0.8


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path):
    with cost_log(tmp_path) as add:
        add(Cost(2.0, 1.0))
        add(Cost(8.0, 1.0))
    path = tmp_path / COSTS_FILE
    path.write_bytes(path.read_bytes()[:-5])
    assert read_costs(tmp_path) == Cost(2.0, 1.0)
    with cost_log(tmp_path) as add:
        add(Cost(1.0, 1.0))
    assert read_costs(tmp_path) == Cost(3.0, 2.0)


def test_a_run_in_which_no_job_told_has_no_share_rather_than_none_of_its_time(tmp_path):
    assert read_costs(tmp_path) is None
    with cost_log(tmp_path):
        pass
    assert read_costs(tmp_path) is None
    assert Cost(0.0, 0.0).stage_share is None


@pytest.mark.parametrize("payload", [{}, {"worker_s": 1.0}, {"worker_s": 1.0, "stages_s": None}])
def test_a_line_of_something_else_is_named(tmp_path, payload):
    with Journal(tmp_path / COSTS_FILE) as log:
        log.append({"schema": SCHEMA, **payload})
    with pytest.raises(UsageError, match=r"spent\.jsonl: foreign or damaged"):
        read_costs(tmp_path)


def test_the_most_that_each_worker_held_is_kept_and_read_back(tmp_path):
    with cost_log(tmp_path) as add:
        for peaks in ({"7": 300}, {"8": 100}, {"7": 500}):
            add(Cost(1.0, 1.0, peaks))
    found = read_costs(tmp_path)
    assert found is not None
    assert (found.peak_bytes, found.workers_peak_bytes) == ({"7": 500, "8": 100}, 600)


def test_a_process_holds_some_megabytes_and_what_it_gave_back_still_counts():
    # In a fresh one: this one may have held more, and have given it back.
    script = (
        "from harness.runs.costs import own_peak_bytes\n"
        "before = own_peak_bytes()\n"
        "held = bytearray(64 * 2**20)\n"
        "held[:: 2**12] = b'x' * len(held[:: 2**12])\n"
        "then = own_peak_bytes()\n"
        "del held\n"
        "print(before, then, own_peak_bytes())\n"
    )
    before, then, after = map(int, python("-c", script).stdout.split())
    assert before > 2**20
    assert then >= before + 32 * 2**20
    assert after >= before + 32 * 2**20  # the kernel counts in batches: not to the byte
