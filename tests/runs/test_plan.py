"""The plan: which cells, in which order, and which of them need no execution."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.runs.case_filter import select_cases
from harness.runs.plan import PlannedCell, derived, make_plan, plan_from_jsonl, plan_to_jsonl, shard
from harness.wire.oracles import Oracle
from harness.wire.records import PackageSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState
from tests.record_builders import by_id, case, failed, record, subject

OLD = subject("2.12.0", "legacy", "export", inliner_id="F", hypothetical_routes=("export",))
SAME = subject("2.12.1", "legacy", "export", inliner_id="F")
NEW = subject("2.14.0", "legacy", "export", inliner_id="H")
TORCH = subject("torch", "direct", "plain", inliner_id=None)
CASES = [case("b"), case("a")]


def test_every_case_goes_through_every_capture_subject_and_route_with_cases_side_by_side():
    plan = make_plan(CASES, [NEW, TORCH], ["nonstrict", "strict"])
    coordinates = [(c.key.case, c.key.capture, c.key.subject, c.key.route) for c in plan]
    assert coordinates == [
        (name, capture, subject_name, route)
        for name in ("b", "a")
        for capture in ("nonstrict", "strict")
        for subject_name, route in (
            ("2.14.0", "legacy"),
            ("2.14.0", "export"),
            ("torch", "direct"),
            ("torch", "plain"),
        )
    ]


def test_all_cells_of_a_plan_are_of_one_environment():
    plan = make_plan(CASES, [NEW, TORCH], ["nonstrict"], environment="torch-2.14.0")
    assert {cell.key.environment for cell in plan} == {"torch-2.14.0"}
    assert {cell.key.environment for cell in make_plan(CASES, [NEW], ["nonstrict"])} == {"pinned"}


def test_a_case_with_a_capture_mode_of_its_own_is_tried_in_that_one_alone():
    own = dataclasses.replace(case("b"), capture="functional")
    plan = make_plan([own, case("a")], [TORCH], ["nonstrict", "strict"], {"plain"})
    tried = [(cell.key.case, cell.key.capture) for cell in plan]
    assert tried == [("b", "functional"), ("a", "nonstrict"), ("a", "strict")]


@pytest.mark.parametrize(
    ("what", "routes"), [("cross", ["cross"]), ("dynamic", ["legacy-no-inputs", "legacy-dynamic"])]
)
def test_some_routes_are_for_the_cases_that_ask_for_them(what, routes):
    asking = dataclasses.replace(case("b"), **{what: True})
    subjects = [subject("2.14.0", "legacy", *routes)]
    plan = make_plan([asking, case("a")], subjects, ["nonstrict"])
    found = [(cell.key.case, cell.key.route) for cell in plan]
    assert found == [*(("b", route) for route in ("legacy", *routes)), ("a", "legacy")]


def test_subjects_with_one_inliner_are_measured_as_the_first_of_them():
    plan = make_plan([case("a")], [OLD, SAME, NEW], ["nonstrict"], {"legacy"})
    assert [cell.measured_as for cell in plan] == ["2.12.0", "2.12.0", "2.14.0"]
    assert [cell.executed for cell in plan] == [True, False, True]


def test_a_first_subject_that_lacks_the_route_measures_nothing():
    without = subject("2.11.0", "legacy", inliner_id="F")
    plan = make_plan([case("a")], [without, SAME], ["nonstrict"], {"export"})
    assert [(cell.key.subject, cell.measured_as) for cell in plan] == [("2.12.1", "2.12.1")]


def test_a_first_subject_that_is_unavailable_measures_nothing():
    gone = subject("2.11.0", "legacy", inliner_id="F", unavailable="no wheel")
    plan = make_plan([case("a")], [gone, SAME], ["nonstrict"], {"legacy"})
    assert [(c.measured_as, c.unsupported) for c in plan] == [
        ("2.11.0", "no wheel"),
        ("2.12.1", ""),
    ]


def test_subjects_without_an_inliner_id_are_each_measured_themselves():
    one, two = subject("torch", inliner_id=None), subject("positional", inliner_id=None)
    plan = make_plan([case("a")], [one, two], ["nonstrict"])
    assert all(cell.executed for cell in plan)


def test_a_route_that_no_user_reaches_is_hypothetical_in_that_subject_only():
    plan = make_plan([case("a")], [OLD, SAME], ["nonstrict"])
    hypothetical = {(c.key.subject, c.key.route) for c in plan if c.hypothetical}
    assert hypothetical == {("2.12.0", "export")}


@pytest.mark.parametrize(
    ("cases", "subjects", "routes", "message"),
    [
        ([], [NEW], None, "nothing to run"),
        (CASES, [], None, "nothing to run"),
        (CASES, [TORCH], {"legacy"}, "nothing to run"),
        (CASES, [NEW], {"legcay"}, "unknown route legcay"),
        ([case("a"), case("a")], [NEW], None, "asked for twice"),
        ([case("x/y"), case("x_y")], [NEW], None, "asked for twice"),
        (CASES, [NEW, NEW], None, "asked for twice"),
    ],
)
def test_a_plan_that_asks_nothing_or_one_thing_twice_is_refused(cases, subjects, routes, message):
    with pytest.raises(UsageError, match=message):
        make_plan(cases, subjects, ["nonstrict"], routes)


def test_a_twin_gets_a_copy_of_the_record_under_its_own_name():
    plan = make_plan([case("a")], [SAME, OLD], ["nonstrict"], {"export"})
    original = record(plan[0].key, failed(Oracle.VALUES), seconds={"save": 1.0})
    (copy,) = derived(plan, by_id(original))
    assert (copy.key, copy.measured_as, copy.hypothetical) == (plan[1].key, "2.12.1", True)
    assert (copy.verdicts, copy.seconds) == (original.verdicts, original.seconds)


def test_nothing_is_derived_before_its_original_has_ended_nor_twice():
    plan = make_plan([case("a")], [SAME, OLD], ["nonstrict"], {"export"})
    assert derived(plan, {}) == ()
    records = by_id(record(plan[0].key))
    records |= by_id(*derived(plan, records))
    assert derived(plan, records) == ()


def test_an_unavailable_subject_ends_as_unsupported_with_its_reason():
    gone = subject("2.11.0", unavailable="no wheel")
    (made,) = derived(make_plan([case("a")], [gone], ["nonstrict"]), {})
    assert (made.state, made.reason) == (CellState.UNSUPPORTED, "no wheel")


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, unique=True), st.booleans())
def test_a_plan_goes_to_jsonl_and_back_without_loss(cases, available):
    reason = "" if available else "no\u2028wheel"
    plan = tuple(
        PlannedCell(make_plan([case(name)], [NEW], ["nonstrict"])[0].key, True, "x", reason)
        for name in cases
    )
    assert plan_from_jsonl(plan_to_jsonl(plan), "plan") == plan


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"schema": 1}', "key", "extra", "schema"])
def test_a_damaged_or_foreign_line_of_a_plan_is_named_by_file_and_number(broken):
    good = plan_to_jsonl(make_plan([case("a")], [NEW], ["nonstrict"], {"legacy"}))
    data = json.loads(good)
    if broken == "key":
        del data["key"]["route"]
    elif broken == "extra":
        data["more"] = 1
    elif broken == "schema":
        data["schema"] = 999
    line = json.dumps(data) if broken in ("key", "extra", "schema") else broken
    with pytest.raises(UsageError, match=r"plan\.jsonl:2: .*"):
        plan_from_jsonl(f"{good}{line}\n", "plan.jsonl")


@given(st.integers(1, 12), st.integers(1, 12))
def test_shards_are_disjoint_hold_whole_cases_and_together_are_the_plan(n, count):
    plan = make_plan([case(f"c{i}") for i in range(count)], [NEW, TORCH], ["nonstrict"])
    n = min(n, count)
    parts = [shard(plan, i, n) for i in range(1, n + 1)]
    assert sorted(cell.key for part in parts for cell in part) == sorted(c.key for c in plan)
    cases = [{cell.key.case for cell in part} for part in parts]
    assert sum(map(len, cases)) == count
    assert max(map(len, cases)) - min(map(len, cases)) <= 1


@pytest.mark.parametrize(("i", "n"), [(0, 2), (3, 2), (1, 0), (3, 3)])
def test_a_shard_that_does_not_exist_or_is_empty_is_refused(i, n):
    with pytest.raises(UsageError, match="shard"):
        shard(make_plan(CASES, [NEW], ["nonstrict"]), i, n)


WHOLE = dataclasses.replace(
    NEW, packages=(PackageSpec("segment", (Route.NO_RETRACE, Route.RETRACE_DYNAMIC)),)
)
BOTH = dataclasses.replace(case("a"), lanes=("graph", "package"), full=("package",))


def test_a_case_goes_through_both_lanes_under_one_name():
    plan = make_plan([BOTH], [WHOLE], ["nonstrict"])
    assert [(cell.key.case, cell.key.lane, cell.key.route) for cell in plan] == [
        ("a", "graph", "legacy"),
        ("a", "graph", "export"),
        ("a", "package", "no-retrace"),
    ]


def test_packages_capture_as_a_user_does_whatever_a_run_asks_of_the_graph_lane():
    plan = make_plan([BOTH], [WHOLE], ["strict"])
    assert {(cell.key.lane, cell.key.capture) for cell in plan} == {
        ("graph", "strict"),
        ("package", "nonstrict"),
    }


def test_a_run_takes_a_case_through_the_lanes_that_are_asked_and_some_only_when_it_is_full():
    def lanes(**how: Any) -> list[tuple[str, ...]]:
        return [case.lanes for case in select_cases([BOTH, case("ab")], "a", **how)]

    assert lanes(full=True) == [("graph", "package"), ("graph",)]
    assert lanes(full=False) == [("graph",), ("graph",)]
    assert lanes(full=True, lanes={Lane.PACKAGE}) == [("package",)]
    with pytest.raises(UsageError, match="some are for `--full` alone"):
        lanes(full=False, lanes={Lane.PACKAGE})
