"""A slower candidate shows by the lines of Python that it runs, on a machine however busy."""

import zipfile

import pytest

from harness.base.errors import ExitCode
from harness.mends.mend import EXPORTER
from harness.stats.counted import Counted, cost_words
from tests.commands import harness

SMALL = ("--cases", "relu_four_steps")


def test_what_a_change_costs_is_told_in_lines_and_a_few_of_a_million_are_none():
    calls = [Counted("compile()", 3_000_000, 3_000_200), Counted("save(m, f)", 200_000, 200_500)]
    assert cost_words(calls) == "save(m, f) +500 (+0.25 %); compile() as many as before"
    assert cost_words(calls[:1]) == "as many as before, by every call"


@pytest.fixture
def slower(tmp_path, release_specs):
    """The newest release's exporter with a loop in what flattens."""
    wheel = zipfile.ZipFile(release_specs["2.14.0"].wheel_path)
    text = wheel.read(EXPORTER).decode()
    copies = "    gm = copy.deepcopy(gm)\n"
    assert text.count(copies) == 1
    loop = "    for _ in range(10_000):\n        gm = gm\n"
    (tmp_path / "slower.py").write_text(text.replace(copies, copies + loop))
    return tmp_path / "slower.py"


def test_a_candidate_that_runs_too_many_lines_is_red_and_the_call_is_named(slower):
    told = harness("bench", "--count", "--baseline", "2.14.0", "--exporter", slower, *SMALL)
    assert told.returncode == ExitCode.RED, told.stderr
    by_call = {
        line.split("  ")[1]: line for line in told.stdout.splitlines() if line.endswith(" %")
    }
    assert "+0.00 %" not in by_call["save(retrace=False)"]
    assert by_call["load()"].endswith("+0.00 %")
    assert "gate: red: a call runs over 5 % more lines" in told.stdout


def test_a_recorded_bench_and_a_case_that_no_call_saves_are_refused():
    recorded = "results/published/2026-11-22-bench/cases"
    told = harness("bench", "--count", "--baseline", recorded)
    assert told.returncode == ExitCode.USAGE
    assert "name a release" in told.stderr
    told = harness("bench", "--count", "--baseline", "2.14.0", "--cases", "no_inputs_at_all")
    assert told.returncode == ExitCode.USAGE
    assert "no_inputs_at_all: save(retrace=False) raises AssertionError" in told.stderr


@pytest.mark.parametrize(
    "timed",
    [
        ("--lane", "package"),
        ("--builder", "tensorrt-rtx"),
        ("--stages", "save"),
        ("--sweep", "steps"),
        ("--budget", "20"),
        ("--spawn",),
        ("--resume", "latest"),
        ("--max-slowdown", "5%,save=3%"),
    ],
)
def test_what_says_how_time_is_measured_is_refused_beside_a_count(timed):
    told = harness("bench", "--count", *timed)
    assert told.returncode == ExitCode.USAGE
    assert timed[0] in told.stderr
