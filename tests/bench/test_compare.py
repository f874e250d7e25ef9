"""Two benches against one another, and many as a trend."""

import dataclasses
import math

import pytest

from harness.base.errors import UsageError
from harness.bench.bench import like_recorded, refuse_unlike
from harness.bench.compare import compare, trend
from harness.bench.options import BenchOptions
from harness.gate.findings import Gate
from harness.stats.intervals import Change
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from tests.bench.simulated import plan_of, record


def test_a_slower_hour_falls_out_where_both_have_one_baseline(tmp_path):
    base = record(tmp_path, plan_of("a"))
    cand = record(tmp_path, plan_of("a", seed=1), level=2.0)
    found = compare(base, cand)
    assert found.anchored
    assert found.gate is Gate.GREEN
    assert {row.change for row in found.rows} == {Change.EQUIVALENT}


def test_a_candidate_that_got_slower_is_red_and_its_size_is_told(tmp_path):
    base = record(tmp_path, plan_of("a"), slower={"candidate": 0.8})
    cand = record(tmp_path, plan_of("a", seed=1), slower={"candidate": 1.0})
    found = compare(base, cand)
    assert found.gate is Gate.RED
    for row in found.rows:
        assert row.effect.low < math.log(1.25) < row.effect.high


def test_without_a_common_baseline_seconds_are_compared_and_that_is_stamped(tmp_path):
    plan = plan_of("a")
    base = record(tmp_path, plan)
    other = tuple(
        spec.__class__(**{**vars(spec), "inliner_id": "f" * 64})
        for spec in base.provenance.subjects
    )
    cand = record(tmp_path, plan_of("a", seed=1), level=1.5, subjects=other)
    found = compare(base, cand)
    assert not found.anchored
    assert found.gate is Gate.RED
    assert "no baseline in common" in found.notes[0]


def test_unlike_machines_are_refused_unless_allowed_and_then_stamped(tmp_path):
    base = record(tmp_path, plan_of("a"))
    cand = record(tmp_path, plan_of("a", seed=1), cpu_model="Another processor")
    with pytest.raises(UsageError, match=r"unlike machines \(processor.*--allow-mismatch"):
        compare(base, cand)
    found = compare(base, cand, allow_mismatch=True)
    assert "unlike machines: processor" in found.notes[0]


def test_engines_of_another_builder_are_not_compared(tmp_path):
    base = record(tmp_path, dataclasses.replace(plan_of("a"), lane=Lane.PACKAGE))
    cand = record(
        tmp_path, dataclasses.replace(plan_of("a"), lane=Lane.PACKAGE, builder="tensorrt-rtx")
    )
    with pytest.raises(UsageError, match=r"builder: segment and tensorrt-rtx"):
        compare(base, cand)


def test_of_whole_packages_another_baseline_is_another_whatever_its_inliner(tmp_path):
    """2.12.0 and 2.12.1 have one inliner."""
    benches = []
    for baseline in ("2.12.0", "2.12.1"):
        plan = dataclasses.replace(plan_of("a"), lane=Lane.PACKAGE, baseline=baseline)
        specs = (SubjectSpec(baseline, SubjectKind.RELEASE, (), inliner_id="f" * 64),)
        benches.append(record(tmp_path, plan, subjects=specs))
    assert not compare(*benches).anchored


def test_a_bench_against_a_recorded_one_measures_what_that_did(tmp_path):
    recorded = record(tmp_path, plan_of("a", "b"))
    found = like_recorded(BenchOptions("bench-1", candidate="2.14.0", budget_s=7), recorded)
    assert (found.baseline, found.candidate) == ("2.13.0", "2.14.0")
    assert (found.cases, found.routes) == (("a", "b"), ("legacy",))
    assert (found.stages, found.gating) == ("save,load-warm", "save,load-warm")
    assert found.budget_s == 7


def test_a_machine_unlike_the_recorded_one_is_refused_before_it_measures(tmp_path):
    recorded = record(tmp_path, plan_of("a"), cpu_model="Another processor")
    with pytest.raises(UsageError, match=r"unlike machine \(processor.*--allow-mismatch"):
        refuse_unlike(like_recorded(BenchOptions("x"), recorded), recorded)


def test_nothing_in_common_is_wrong_use_and_no_pass(tmp_path):
    with pytest.raises(UsageError, match="in common"):
        compare(record(tmp_path, plan_of("a")), record(tmp_path, plan_of("b")))


def test_a_control_that_is_off_makes_the_comparison_inconclusive(tmp_path):
    base = record(tmp_path, plan_of("a"))
    cand = record(tmp_path, plan_of("a", seed=1), slower={"again": 1.4, "candidate": 2.0})
    assert compare(base, cand).gate is Gate.INCONCLUSIVE


def test_a_change_of_level_is_found_in_a_trend_whatever_the_hour(tmp_path):
    benches = [
        record(
            tmp_path,
            plan_of("a", seed=day),
            slower={"candidate": 1.0 if day <= 5 else 1.15},
            level=1 + 0.3 * (day % 3),
            started_at=f"2026-02-{day:02}T00:00:00+00:00",
        )
        for day in range(1, 11)
    ]
    for found in trend(list(reversed(benches))):
        assert found.runs[0] == benches[0].folder.run_id
        (point,) = found.changes
        assert point.at == 5
        assert point.after - point.before == pytest.approx(math.log(1.15), abs=0.01)


def test_one_bench_is_no_trend(tmp_path):
    with pytest.raises(UsageError, match="at least two"):
        trend([record(tmp_path, plan_of("a"))])
