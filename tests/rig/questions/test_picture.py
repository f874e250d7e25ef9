"""Split graphs as boxes and wires, and the wires that an inliner got wrong."""

from typing import Any

import pytest

from harness.rig.oracles.reading import Reading
from harness.rig.oracles.wiring import reference_reading
from harness.rig.questions.picture import RETURNS, BoxReader, picture, pictures, split_graph
from harness.toolchain.rig_client import package_lane
from tests.rig.conftest import inlined

CASE = "inputs_read_in_reverse"


@pytest.fixture
def case(prepared):
    return prepared(CASE)


def test_a_getitem_is_an_output_of_its_engine_and_all_else_is_a_box(prepared):
    boxes, wires = split_graph(prepared("named_like_an_earlier_getitem").split)
    kinds = {box["name"]: box["kind"] for box in boxes}
    assert not any(name.startswith("getitem") for name in kinds)
    assert {"input", "engine", "fallback", "output"} <= set(kinds.values())
    assert kinds[RETURNS] == "output"
    assert any(wire["output"] == 1 and kinds[wire["source"]] == "engine" for wire in wires)
    assert {wire["source"] for wire in wires} | {wire["target"] for wire in wires} <= set(kinds)


def test_an_inliner_that_wires_by_position_has_no_wrong_wire(case):
    assert picture(case, inlined(case, "positional"))["wrong"] == []


def test_a_wrong_wire_is_told_with_the_right_one(case):
    found = picture(case, inlined(case, "name-matching"))
    names = {box["name"] for box in found["boxes"]}
    assert found["wrong"]
    for wire in found["wrong"]:
        assert {wire["source"], wire["right"], wire["target"]} <= names
        assert (wire["source"], wire["output"]) != (wire["right"], wire["right_output"])
        assert "should read" in wire["says"]


def test_without_an_inlined_module_there_are_boxes_alone(case):
    found = picture(case, None)
    assert found["boxes"]
    assert found["wrong"] == []


def test_a_mutation_that_was_deleted_is_lost(prepared):
    case = prepared("fallback_with_an_effect_alone")
    reader = BoxReader()
    expected, _ = reference_reading(reader, case.split)
    assert reader.lost(expected, expected) == []
    assert reader.lost(expected, Reading(expected.outputs)) == ["_run_on_gpu_0"]


def drawn(request: dict[str, Any]) -> list[bool]:
    """Which of the wanted cells have a picture."""
    return [found is not None for found in pictures(request)]


def test_a_cell_that_compile_refuses_has_no_picture_and_keeps_none_from_the_others(
    toolchain, catalogue, ask_torch
):
    site = toolchain.package_site(catalogue.get("2.9.0"))
    cell = {"capture": "nonstrict", "subject": "2.9.0", "route": "compile"}
    wanted = [{"case": name, **cell} for name in ("no_inputs_at_all", "relu_once")]
    assert ask_torch(drawn, {**package_lane(site), "wanted": wanted}) == [False, True]
