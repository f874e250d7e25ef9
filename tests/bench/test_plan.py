"""What a bench is asked for."""

import math
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.bench.measures import GRAPH, PACKAGE
from harness.bench.options import BenchOptions, check, make_plan
from harness.bench.plan import IMPORT_CELL, BenchCell, BenchPlan, bands, make_cells
from harness.toolchain.rig_client import Corpus
from harness.wire.bench_records import BenchCase
from harness.wire.record_json import decode, to_json
from harness.wire.records import CaseInfo, PackageSpec, SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.bench.simulated import plan_of

CASE = CaseInfo("yolo_chunk", "real architectures", "exported", "x")


def test_a_plan_comes_back_from_json_as_it_was():
    plan = plan_of("a", "b")
    assert decode(BenchPlan, to_json(plan)) == plan


def test_a_plan_from_before_there_were_lanes_is_of_the_graph_lane():
    data = to_json(plan_of("a"))
    del data["lane"], data["builder"]
    assert decode(BenchPlan, data).lane == "graph"


def test_the_most_particular_band_counts():
    found = bands("4%, save=10%, real architectures/save=2%")
    assert found.of("real architectures", "save") == pytest.approx(math.log(1.02))
    assert found.of("constants", "save") == pytest.approx(math.log(1.10))
    assert found.of("constants", "load-warm") == pytest.approx(math.log(1.04))
    assert bands("").of("x", "save") == pytest.approx(math.log(1.05))


@pytest.mark.parametrize("text", ["-5%", "0", "five", "save=", "lint=5%"])
def test_a_band_that_is_none_is_refused(text):
    with pytest.raises(UsageError, match="--max-slowdown"):
        bands(text)


def test_a_pass_stands_for_its_stages_and_order_is_that_of_the_data():
    assert GRAPH.choose("load,save") == ("save", "load-cold", "load-warm")
    assert GRAPH.choose("") == GRAPH.stages
    with pytest.raises(UsageError, match="no stage is named 'lint'"):
        GRAPH.choose("lint")


def test_a_sweep_has_a_cell_a_size_and_more_in_a_full_run():
    few = make_cells([], ["legacy"], ["steps"], full=False)
    many = make_cells([], ["legacy"], ["steps"], full=True)
    assert [cell.case.size for cell in few] == [10, 20, 50, 100, 200, 400]
    assert [cell.case.size for cell in many][-1] == 1000
    own = make_cells([], ["legacy"], ["ballast=1000/50"], full=True)
    assert [cell.case.size for cell in own] == [1000, 50]
    assert not any(cell.gates for cell in many)
    assert all(cell.gates for cell in make_cells([CASE], ["legacy"], [], full=False))


@pytest.mark.parametrize(
    ("sweeps", "said"),
    [(["widths"], "no sweep"), (["steps=x"], "sizes above zero"), ([], "nothing to measure")],
)
def test_what_cannot_be_measured_is_refused(sweeps, said):
    with pytest.raises(UsageError, match=said):
        make_cells([], ["legacy"], sweeps, full=False)


def test_cases_and_routes_that_are_not_there_are_refused():
    release = SubjectSpec("2.14.0", SubjectKind.RELEASE, (Route.LEGACY,))
    corpus = Corpus((CASE,), "digest")
    for options, said in (
        (BenchOptions("2.14.0", cases=("nonsense",), routes=("legacy",)), "no case is named"),
        (BenchOptions("2.14.0", cases=("yolo_chunk",), routes=("direct",)), "has no route direct"),
    ):
        with pytest.raises(UsageError, match=said):
            make_plan(options, corpus, release, release)


PRODUCT = CaseInfo("relu_once", "x", "product", "x", lanes=("package",))
BOTH = Corpus((CASE, PRODUCT), "digest")


def whole(version: str, *routes: str) -> SubjectSpec:
    packages = (PackageSpec("segment", routes),)
    return SubjectSpec(version, SubjectKind.RELEASE, (Route.LEGACY,), packages=packages)


def package_plan(**fields: Any) -> BenchPlan:
    options = BenchOptions("2.10.0", **{"lane": "package", "cases": (PRODUCT.name,), **fields})
    older = whole("2.10.0", "no-retrace", "retrace")
    return make_plan(options, BOTH, older, whole("2.14.0", *PACKAGE.routes, "retrace-dynamic"))


def test_whole_packages_are_imported_and_asked_by_the_routes_that_both_have():
    plan = package_plan()
    assert [cell.cell_id for cell in plan.cells] == [
        "relu_once~no-retrace", "relu_once~retrace", "torch_tensorrt~import",
    ]  # fmt: skip
    assert plan.metrics == PACKAGE.stages
    assert set(plan.metrics) - set(plan.gating) == {"import-torch"}
    assert decode(BenchPlan, to_json(plan)) == plan


def test_only_what_is_asked_of_whole_packages_is_measured():
    assert [cell.cell_id for cell in package_plan(stages="import").cells] == [
        "torch_tensorrt~import"
    ]
    plan = package_plan(stages="user-load")
    assert IMPORT_CELL not in plan.cells
    assert plan.passes == ("user-load",)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"routes": ("legacy",)}, "2.10.0 has no route legacy in the package lane; it has no-ret"),
        ({"routes": ("no-retrace-export",)}, "2.10.0 has no route no-retrace-export"),
        ({"cases": (CASE.name,)}, "no case is named yolo_chunk in the package lane"),
        ({"stages": "save"}, "no stage is named 'save'; there are: user-save"),
    ],
)
def test_what_the_package_lane_has_not_is_refused(fields, said):
    with pytest.raises(UsageError, match=said):
        package_plan(**fields)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (BenchOptions("", lane="engine"), "--lane 'engine': a bench is of one lane"),
        (BenchOptions("", lane="package", sweeps=("steps",)), "package has no --sweep"),
        (BenchOptions("", lane="package", exporter=Path("x.py")), "package has no --exporter"),
        (BenchOptions("", pythons=("2.14.0=python",)), "graph has no --python"),
        (BenchOptions("", builder="tensorrt-rtx"), "graph has no --builder"),
    ],
)
def test_what_is_for_the_other_lane_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        check(options)


def test_large_engines_are_measured_one_worker_at_a_time():
    small, large = (BenchCell(BenchCase("b", "ballast", size), "legacy") for size in (10**6, 10**9))
    assert small.together
    assert not large.together
    assert large.bytes_needed > 10**10


def test_draws_are_of_the_seed_and_of_what_is_drawn():
    one, same, other = plan_of("a"), plan_of("a"), plan_of("a", seed=1)
    assert one.draw("block", 1) == same.draw("block", 1)
    assert len({one.draw("block", 1), one.draw("block", 2), other.draw("block", 1)}) == 3
