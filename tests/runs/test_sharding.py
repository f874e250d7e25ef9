"""Cases dealt out to jobs by what they took, so that all jobs end together."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.runs.case_filter import select_cases
from harness.runs.run_folder import RunFolder
from harness.runs.sharding import seconds_of_cases, shards
from harness.toolchain.environment import PROJECT_ROOT
from tests.cli.test_bench import invoke
from tests.record_builders import case, key, record

PUBLISHED = max((PROJECT_ROOT / "results" / "published").glob("*-all-releases"))


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.floats(0.01, 100), min_size=1),
    st.integers(1, 8),
)
def test_each_case_is_in_one_shard_and_no_two_shards_differ_by_more_than_one_case(seconds, count):
    names = sorted(seconds)
    count = min(count, len(names))
    parts = shards(names, seconds, count)
    assert sorted(name for part in parts for name in part.cases) == names
    loads = [part.seconds for part in parts]
    assert sum(loads) == pytest.approx(sum(seconds.values()))
    assert max(loads) - min(loads) <= max(seconds.values()) + 1e-9


def test_a_long_case_has_a_shard_of_its_own_and_one_that_nobody_measured_counts_as_the_median():
    parts = shards(list("abcdz"), {"a": 10.0, "b": 2.0, "c": 2.0, "d": 3.0}, 2)
    assert [part.cases for part in parts] == [("a",), ("d", "z", "b", "c")]
    assert [part.seconds for part in parts] == [10.0, 9.5]


def test_more_shards_than_cases_are_refused():
    with pytest.raises(UsageError, match="3 shards of 2 cases"):
        shards(["a", "b"], {}, 3)


def test_what_was_kept_tells_no_time():
    spent = record(key("a"), seconds={"run": 1.0, "save": 2.0})
    kept = record(key("b"), seconds={}, kept_from="earlier")
    assert seconds_of_cases([spent, spent, kept]) == {"a": 6.0}


def test_a_case_is_taken_by_its_whole_name():
    known = [case("relu"), case("relu_twice")]
    assert [each.name for each in select_cases(known, names=["relu"])] == ["relu"]
    with pytest.raises(UsageError, match="no case is named other"):
        select_cases(known, names=["relu", "other"])


def test_the_matrix_of_a_published_run_has_every_case_once_in_shards_that_end_together():
    code, told = invoke("plan", str(PUBLISHED), "--shards", "6", "--format", "github")
    assert code == 0
    (line,) = [each for each in told.splitlines() if each.startswith("matrix=")]
    rows = json.loads(line.removeprefix("matrix="))["include"]
    assert [row["shard"] for row in rows] == [f"{number}/6" for number in range(1, 7)]
    cases = [name for row in rows for name in row["cases"].split(",")]
    planned = {cell.key.case for cell in RunFolder.open(PUBLISHED).plan()}
    assert planned <= set(cases)
    assert len(cases) == len(set(cases))
    spent = [row["seconds"] for row in rows]
    assert max(spent) <= 1.05 * min(spent)
    code, told = invoke("plan", str(PUBLISHED), "--shards", "6")
    assert json.loads(told[told.index("[") :]) == rows
