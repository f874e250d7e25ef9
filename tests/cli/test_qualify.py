"""`qualify`, run on real releases over one case: both directions, and what is not measured."""

from pathlib import Path

import pytest

from harness.base.errors import ExitCode
from harness.bench.bench import reopen
from tests.cli.test_bench import invoke

CASE = "buffer_returned"  # an error up to 2.13.0
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("release_specs")]


def qualified(out: Path, baseline: str, candidate: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, what was told, and the page for a ticket."""
    pair = ["--baseline", baseline, "--candidate", candidate, "--out", str(out)]
    code, told = invoke("qualify", *pair, "-k", CASE, *arguments)
    return code, told, (out / "latest" / "qualify.md").read_text()


def test_a_fixed_release_ships_and_its_figures_lie_in_the_runs_folder(tmp_path):
    code, told, page = qualified(tmp_path, "2.13.0", "2.14.0", "--budget", "3")
    assert code == ExitCode.GREEN
    assert "2.14.0 in place of 2.13.0: nothing forbids it (only: " in told
    assert "emory and load time" in told
    bench = reopen("latest", tmp_path / "latest")
    assert (bench.folder.path / "bench.html").is_file()
    assert any(cell.pilot is not None for cell in bench.samples.cells.values())
    assert "the budget had no room" in page  # three seconds do not reach all


def test_the_opposite_is_not_to_be_shipped_and_the_budget_may_be_nothing(tmp_path):
    code, told, page = qualified(tmp_path, "2.14.0", "2.13.0", "--budget", "0")
    assert code == ExitCode.RED
    assert "2.13.0 in place of 2.14.0: do not ship" in told
    assert f"{CASE} [graph: legacy]" in told
    assert not list((tmp_path / "latest").glob("bench-*"))
    assert "left out by --budget 0" in page
    assert not (tmp_path / "latest" / "report.html").exists()  # the folder has one page
    drawn = ["--no-pictures", "--no-scripts", "--out", str(tmp_path)]
    invoke("report", "latest", *drawn)
    report = (tmp_path / "latest" / "report.html").read_text()
    assert "2.13.0 in place of 2.14.0: do not ship" in report
    assert "2.14.0 in place of 2.13.0" not in report


def test_what_is_kept_is_taken_and_told_unless_all_is_asked_anew(tmp_path, monkeypatch):
    """20 cells and one of a package are asked again: these two models have more."""
    monkeypatch.delenv("INLINER_REGRESS_KEPT", raising=False)
    monkeypatch.setattr(f"{__name__}.CASE", "pr_4360 or relu_four_steps")
    anew = qualified(tmp_path / "anew", "2.13.0", "2.14.0", "--budget", "0", "--rerun")
    taken = qualified(tmp_path / "taken", "2.13.0", "2.14.0", "--budget", "0")
    assert taken[0] == anew[0]
    assert "kept: " not in anew[1]
    assert "kept: " in taken[1]
    assert "from run " in taken[2]
