"""In which order a candidate is asked: what finds most comes first, and the same everywhere."""

from __future__ import annotations

import pytest

from harness.gate.pairs import without_subject
from harness.run.order import (
    QUICK_SHARE,
    Ranked,
    Seconds,
    in_order,
    only,
    order_text,
    ordered,
    quick_cells,
    read_order,
    seconds_in,
)
from harness.run.wrong_edits import read_wrong_edits, wrong_edits_text
from harness.runs.plan import PlannedCell
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route
from tests.record_builders import key, record


def cell(case: str, route: Route = Route.EXPORT, lane: Lane = Lane.GRAPH) -> CellKey:
    return CellKey(case, "nonstrict", "", route, lane)


def planned(*cells: CellKey) -> list[PlannedCell]:
    return [PlannedCell(each, hypothetical=False, measured_as=each.subject) for each in cells]


def names(order: list[Ranked]) -> list[str]:
    return [ranked.cell.case for ranked in order]


def seconds(**own: float) -> Seconds:
    return Seconds({cell(name): took for name, took in own.items()})


def test_a_cell_comes_first_if_it_finds_most_for_its_seconds():
    found = {cell("slow"): {"a", "b", "c"}, cell("fast"): {"d"}, cell("other"): {"e"}}
    assert names(ordered(found, seconds(slow=9.0, fast=1.0, other=2.0))) == [
        "fast", "other", "slow"
    ]  # fmt: skip


def test_what_was_found_before_counts_for_nothing_until_all_was_found():
    found = {cell("a"): {"x", "y"}, cell("b"): {"x", "y"}, cell("c"): {"z"}}
    assert names(ordered(found, seconds(a=1.0, b=1.5, c=3.0))) == ["a", "c", "b"]


def test_what_the_cells_of_a_case_share_counts_for_the_first_of_them():
    one, two, other = cell("a"), cell("a", Route.LEGACY), cell("b")
    took = Seconds({one: 1.0, two: 1.0, other: 3.0}, {(Lane.GRAPH, "a", "nonstrict"): 2.5})
    order = ordered({one: {"x"}, two: {"y"}, other: {"z"}}, took)
    assert [(ranked.cell, ranked.seconds) for ranked in order] == [
        (other, 3.0), (one, 3.5), (two, 1.0)
    ]  # fmt: skip


def test_what_finds_nothing_or_took_nobody_knows_how_long_is_not_in_order():
    assert ordered({cell("a"): set(), cell("b"): {"x"}}, seconds(a=1.0)) == []


def test_the_seconds_are_those_of_the_release_and_of_what_its_cells_share():
    own = record(key("a", "2.14.0"), seconds={"capture": 2.0, "export": 1.0})
    other = record(key("a", "2.13.0"), seconds={"capture": 3.0, "export": 7.0})
    kept = record(key("b", "2.14.0"), seconds={})
    took = seconds_in([own, other, kept], "2.14.0")
    assert took.own == {without_subject(own.key): 1.0}
    assert list(took.shared.values()) == [3.0]


@pytest.mark.parametrize("machine", [1.0, 2.5])
def test_quick_cells_are_the_first_ones_of_each_lane_on_a_fast_machine_and_on_a_slow_one(machine):
    order = [
        Ranked(cell(f"{name:03}", Route.RETRACE, lane), machine)
        for lane in QUICK_SHARE
        for name in range(1000)
    ]
    first = {
        each.cell
        for lane, share in QUICK_SHARE.items()
        for each in [each for each in order if each.cell.lane is lane][: round(1000 * share)]
    }
    assert quick_cells(order) == first


def test_mutants_are_found_before_anything_else_that_a_cell_may_find():
    found = {cell("a"): {"x", "y", "z"}, cell("b"): {"x", "a mutant"}}
    took = seconds(a=1.0, b=2.0)
    assert names(ordered(found, took)) == ["a", "b"]
    assert names(ordered(found, took, {"a mutant"})) == ["b", "a"]


def test_the_file_reads_back_as_it_was_written(tmp_path):
    order = [Ranked(cell("a"), 1.25), Ranked(cell("b", Route.COMPILE, Lane.PACKAGE), 0.5)]
    (tmp_path / "order.csv").write_text(order_text(order))
    assert list(read_order(tmp_path / "order.csv")) == order


def test_cases_come_in_the_order_of_their_first_cells_and_the_others_last():
    order = [Ranked(cell("b"), 1.0), Ranked(cell("a", Route.LEGACY), 1.0)]
    plan = planned(cell("z"), cell("a"), cell("a", Route.LEGACY), cell("b"))
    assert [each.key.case for each in in_order(plan, order)] == ["b", "a", "a", "z"]


def test_cells_of_a_package_come_with_the_compile_that_they_rest_on():
    package = [cell("p", route, Lane.PACKAGE) for route in (Route.COMPILE, Route.RETRACE)]
    plan = planned(*package, cell("p"), cell("q"))
    assert [each.key for each in only(plan, {package[1]})] == package
    assert [each.key for each in only(plan, {cell("p")})] == [cell("p")]


def test_the_committed_order_names_a_cell_once():
    cells = [ranked.cell for ranked in read_order()]
    assert len(cells) == len(set(cells)) > len(quick_cells(read_order())) > 20


@pytest.mark.parametrize("lane", [Lane.GRAPH, Lane.PACKAGE])
def test_the_committed_order_has_cells_of_both_lanes(lane):
    assert [ranked for ranked in read_order() if ranked.cell.lane is lane]


def test_a_wrong_edit_is_read_back_with_the_cells_that_found_it(tmp_path):
    graph, package = cell("one"), cell("two", lane=Lane.PACKAGE)
    found = {graph: {"an-edit", "another"}, package: {"an-edit"}}
    text = wrong_edits_text(found)
    assert text.splitlines()[0] == "edit,lane,case,capture,route"
    file = tmp_path / "wrong_edits.csv"
    file.write_text(text)
    assert read_wrong_edits(file) == found


def test_the_quick_cells_find_each_wrong_edit_that_any_cell_found():
    known = read_wrong_edits()
    quick = quick_cells(read_order())
    assert set().union(*known.values()) == set().union(*(known.get(c, set()) for c in quick))
