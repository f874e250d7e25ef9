"""A contributor's loop, as a user goes through it: real wheel, real workers, one case."""

from __future__ import annotations

import asyncio
import re

import pytest

from harness.base.errors import ExitCode, UsageError
from harness.cli import running
from harness.run import execute as executing
from harness.runs.run_folder import RunFolder
from tests.cli.test_bench import invoke
from tests.mutants import MUTANTS, source_of

(MUTANT,) = [mutant for mutant in MUTANTS if mutant.name == "fallback_inputs_reversed"]
CASE = ["-k", "inputs_read_in_reverse and not recorded", "--jobs", "1"]


@pytest.fixture
def file(tmp_path, release_specs):
    """2.14.0's exporter with a wire broken, and how it is mended."""
    right = source_of(release_specs["2.14.0"].wheel_path)
    path = tmp_path / "mine.py"
    path.write_text(right.replace(MUTANT.right, MUTANT.wrong))
    return path, right


def asked(tmp_path, *arguments: str) -> tuple[int, str, RunFolder]:
    code, told = invoke("run", *CASE, *arguments, "--out", str(tmp_path / "runs"))
    return code, told, RunFolder.open("latest", tmp_path / "runs")


def test_failed_asks_only_what_was_red_in_the_last_run_of_the_file(file, tmp_path):
    path, right = file
    code, _, first = asked(tmp_path, "--exporter", str(path))
    assert code == ExitCode.RED
    path.write_text(right)
    code, told, second = asked(tmp_path, "--exporter", str(path), "--failed")
    assert code == ExitCode.GREEN, told
    own = [cell.key for cell in second.plan() if cell.key.subject.startswith("file:")]
    assert 0 < len(second.plan()) < len(first.plan())
    assert {key.route for key in own} == {"legacy", "export", "cross", "cross-legacy"}
    with pytest.raises(UsageError, match="nothing was red in run"):
        asked(tmp_path, "--exporter", str(path), "--failed")
    with pytest.raises(UsageError, match=r"no run of .*other\.py came to its end"):
        asked(tmp_path, "--exporter", str(path.rename(tmp_path / "other.py")), "--failed")


def test_a_file_that_makes_the_same_programs_takes_the_verdicts_on_them_and_says_so(file, tmp_path):
    path, right = file
    path.write_text(f"{right}\n# nothing else\n")
    code, told, run = asked(tmp_path, "--exporter", str(path))
    assert code == ExitCode.GREEN, told
    records = {(each.key.subject, each.key.route): each for each in run.records().values()}
    own = [each for (subject, _), each in records.items() if subject.startswith("file:")]
    taken = [each for each in own if each.measured_as == "2.14.0"]
    assert taken
    assert all(each.verdicts == records["2.14.0", each.key.route].verdicts for each in taken)


def test_watch_asks_again_after_each_save_and_ends_with_the_last_verdict(
    file, tmp_path, monkeypatch
):
    path, right = file
    saves = iter(["def transform(:", right])

    def wait(_: float) -> None:
        text = next(saves, None)
        if text is None:
            raise KeyboardInterrupt
        path.write_text(text)

    monkeypatch.setattr(running, "sleep", wait)
    code, told, _ = asked(tmp_path, "--exporter", str(path), "--watch")
    assert code == ExitCode.GREEN, told
    assert "not valid Python" in told
    assert re.search(r"last turn: [1-9] cells red no more, 0 cells newly red, 0 still red", told)


def test_a_budget_says_how_much_was_asked_and_misses_no_cell(file, tmp_path, monkeypatch):
    path, _ = file
    real = executing.run_jobs

    async def over_soon(jobs, setup, *, on_record, **how):
        """As if the time were over at the second record of the file."""
        ended = []

        def keep(record):
            if asking.cancelling():
                return
            ended.append(record)
            on_record(record)
            if len(ended) == 2 and record.key.subject.startswith("file:"):
                asking.cancel()

        asking = asyncio.ensure_future(real(jobs, setup, on_record=keep, **how))
        try:
            await asking
        except asyncio.CancelledError:
            raise TimeoutError from None

    monkeypatch.setattr(executing, "run_jobs", over_soon)
    code, told, run = asked(tmp_path, "--exporter", str(path), "--budget", "500")
    assert code == ExitCode.RED, told
    assert "in a budget of 500 s" in told
    assert f"only: {len(run.plan())} of {run.provenance().budget_cells} cells" in told
    assert set(run.records()) == {cell.key.cell_id for cell in run.plan()}
    with pytest.raises(UsageError, match="had a budget and asked a part"):
        invoke("expected", str(run.path), "--out", str(tmp_path / "runs"))
    with pytest.raises(UsageError, match="it had a budget"):
        invoke("merge", str(run.path), str(run.path), "--out", str(tmp_path / "runs"))


def test_a_budget_in_which_nothing_ends_is_refused(file, tmp_path, monkeypatch):
    async def none(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(executing, "run_jobs", none)
    with pytest.raises(UsageError, match="give more seconds"):
        asked(tmp_path, "--exporter", str(file[0]), "--budget", "1")


def test_a_candidate_of_which_nothing_is_asked_is_no_green_run(file, tmp_path):
    path, _ = file
    others_alone = ("--exporter", str(path), "--like", "2.6.0", "--releases", "2.6.0,2.14.0")
    with pytest.raises(UsageError, match=r"file:mine-.* nothing is asked of it in these lanes"):
        asked(tmp_path, *others_alone, "--routes", "legacy-dynamic", "-k", "dynamic_batch")
