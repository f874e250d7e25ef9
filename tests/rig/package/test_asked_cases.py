"""What a case asks of a package is there, or it is said what is not: custom ops, fallback names."""

from typing import Any

import pytest

from harness.rig.package.compile_hooks import lost
from tests.rig.package.asked_cases import asked_cases


@pytest.fixture(scope="module")
def answers(ask_package):
    found: dict[str, Any] = ask_package("2.14.0", asked_cases, "2.14.0")
    return found


def test_a_program_with_a_custom_op_is_loaded_where_its_module_is_imported(answers):
    assert "completion" not in answers["with_its_import"]["failed"]
    assert answers["with_its_import"]["steps"] == 3  # the op falls back between two engines


def test_a_program_with_a_custom_op_is_not_loaded_without_it(answers):
    label, _ = answers["without_its_import"]["failed"]["completion"]
    assert label == "error@load"


def test_a_fallback_that_lowering_renames_is_no_verdict_and_says_what_to_name_instead(answers):
    renamed = answers["renamed"]
    assert (renamed["state"], renamed["failed"]) == ("unsupported", {})
    assert "no op of the lowered graph is aten.layer_norm.default" in renamed["reason"]
    assert "lowering made _operator.getitem, aten.native_layer_norm.default" in renamed["reason"]


def test_a_case_that_names_the_lowered_op_too_is_asked(answers):
    assert answers["renamed_and_named"]["state"] == "ended"
    assert answers["renamed_and_named"]["steps"] == 3


def test_a_packet_is_no_op_that_falls_back(answers):
    packet = answers["packet"]
    assert packet["state"] == "unsupported"
    assert "is aten.relu; lowering made aten.relu.default of the program" in packet["reason"]


EXPORTED = {"aten.relu.default", "aten.layer_norm.default"}
LOWERED = {"aten.relu.default", "aten.native_layer_norm.default"}


@pytest.mark.parametrize(
    ("fallback", "is_lost"),
    [
        (["aten.relu.default"], False),
        (["aten.layer_norm.default"], True),
        (["aten.relu.default", "aten.layer_norm.default"], True),
        (["aten.layer_norm.default", "aten.native_layer_norm.default"], False),
        (["aten.relu"], True),
        (["aten.topk.default"], False),  # of another torch; the program has nothing of it
        ([], False),
    ],
)
def test_a_fallback_is_lost_where_the_program_has_it_and_the_lowered_graph_has_not(
    fallback, is_lost
):
    assert bool(lost(fallback, EXPORTED, LOWERED)) is is_lost


def test_what_only_torch_s_own_lowering_makes_is_lost_where_the_release_keeps_what_it_is_made_of():
    graph = {"aten.linear.default", "aten.relu.default"}
    told = lost(["aten.addmm.default"], graph, graph, {"aten.linear.default"})
    assert "is aten.addmm.default; the release keeps aten.linear.default: name that" in told
    assert not lost(["aten.addmm.default"], graph, {"aten.addmm.default"}, {"aten.linear.default"})
    overload = ["aten.relu.out"]  # which of an op's overloads is traced depends on the torch
    assert not lost(overload, graph, graph, {"aten.linear.default"})
