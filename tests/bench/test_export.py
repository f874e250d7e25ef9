"""The export, read back by pyperf."""

import json
from statistics import mean

import pyperf
import pytest
from pyperf._utils import is_significant

from harness.bench.samples import pooled, pyperf_suite
from harness.bench.selftest import pyperf_differs
from tests.bench.simulated import plan_of, record


def test_pyperf_reads_the_suites_and_compares_them(tmp_path):
    judged = record(tmp_path, plan_of("a"), slower={"candidate": 1.5})
    suites = {}
    for arm in ("baseline", "candidate"):
        path = tmp_path / f"{arm}.json"
        path.write_text(pyperf_suite(judged.samples, judged.provenance, arm))
        suites[arm] = pyperf.BenchmarkSuite.load(str(path))
    names = sorted(suites["baseline"].get_benchmark_names())
    assert names == ["a~legacy.load-warm", "a~legacy.save"]
    blocks = judged.samples.cells["a~legacy"].blocks
    for arm, suite in suites.items():
        benchmark = suite.get_benchmark("a~legacy.save")
        assert benchmark.mean() == pytest.approx(mean(pooled(blocks, "save", [arm])))
        assert benchmark.get_nrun() == len(blocks)
        assert benchmark.get_unit() == "second"


def test_pyperfs_own_rule_is_the_one_that_our_table_shows(tmp_path):
    for seed in range(6):
        factor = 1 + 0.02 * seed
        plan = plan_of("a", seed=seed)
        judged = record(tmp_path, plan, slower={"candidate": factor}, noise=0.1)
        blocks = judged.samples.cells["a~legacy"].blocks
        one, other = (pooled(blocks, "save", [arm]) for arm in ("baseline", "candidate"))
        assert pyperf_differs(one, other) == is_significant(one, other)[0]


def test_an_export_is_plain_json_without_numbers_that_it_cannot_say(tmp_path):
    judged = record(tmp_path, plan_of("a"))
    text = pyperf_suite(judged.samples, judged.provenance, "candidate")
    assert "NaN" not in text
    assert json.loads(text)["version"]
