"""What is asked first where there is little time, and what is never called green."""

import dataclasses

import pytest

from harness.base.errors import UsageError
from harness.run.budget import parts, refuse_nothing_said
from harness.wire.routes import Lane
from tests.record_builders import key, planned, record, unsupported

LIKES = {"checkout": "base"}


def cells(*subjects, lane=Lane.GRAPH, like_release=()):
    return [
        dataclasses.replace(
            planned(dataclasses.replace(key("a", name), lane=lane)),
            measured_as="2.14.0" if name in like_release else name,
        )
        for name in subjects
    ]


def test_a_candidate_and_its_base_come_first_in_each_lane_and_all_else_last():
    graph = cells("2.14.0", "torch", "base", "checkout")
    package = cells("2.14.0", "base", "checkout", lane=Lane.PACKAGE)
    asked = parts([*graph, *package], [*graph, *package], LIKES)
    named = [[(cell.key.lane, cell.key.subject) for cell in part] for part in asked]
    assert named == [
        [("graph", "base"), ("graph", "checkout")],
        [("package", "base"), ("package", "checkout")],
        [("graph", "2.14.0"), ("graph", "torch"), ("package", "2.14.0")],
    ]


def test_a_base_that_is_a_releases_own_code_has_the_release_asked_first():
    plan = cells("2.14.0", "torch", "base", "checkout", like_release=("base",))
    first, rest = parts([cell for cell in plan if cell.executed], plan, LIKES)
    assert [cell.key.subject for cell in first] == ["2.14.0", "checkout"]
    assert [cell.key.subject for cell in rest] == ["torch"]


def test_without_a_candidate_each_lane_is_asked_as_a_whole():
    plan = [*cells("2.14.0", "torch"), *cells("2.14.0", lane=Lane.PACKAGE)]
    assert parts(plan, plan, {}) == [plan[:2], plan[2:]]


def test_a_candidate_of_which_no_cell_was_compared_is_refused_and_not_green():
    base, checkout = (key("a", name) for name in ("base", "checkout"))
    refuse_nothing_said(LIKES, [record(base), record(checkout)])
    for ended in (
        [record(base)],
        [record(base), unsupported(checkout)],
        [record(base), record(key("b", "checkout"))],
    ):
        with pytest.raises(UsageError, match=r"no cell of both checkout and base .* more seconds"):
            refuse_nothing_said(LIKES, ended)
