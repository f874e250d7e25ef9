"""Two splits are of one shape if they have the same children, ops and edges, whatever the names."""

import copy

import torch
from torch.fx import GraphModule

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.capture.split import split_module
from harness.rig.questions.splits import shape_of


def split_of(name: str, mode: str = "nonstrict") -> GraphModule:
    return capture(find_case(name), mode).split()


def test_names_of_nodes_and_parameters_are_no_part_of_a_shape():
    split = split_of("pr_4360")
    renamed = copy.deepcopy(split)
    for module in (renamed, *renamed.children()):
        assert isinstance(module, GraphModule)
        for number, node in enumerate(module.graph.nodes):
            node.name = f"node_{number}"
    assert shape_of(renamed) == shape_of(split)


def test_a_wire_to_another_node_is_another_shape():
    split = split_of("pr_4360")
    other = copy.deepcopy(split)
    getitem = next(
        node for node in other.graph.nodes if node.op == "call_function" and node.args[1] == 1
    )
    getitem.args = (getitem.args[0], 0)
    assert shape_of(other) != shape_of(split)


def test_another_op_in_a_child_is_another_shape():
    split = split_of("relu_once")
    other = copy.deepcopy(split)
    for node in other.get_submodule("_run_on_gpu_1").graph.nodes:
        if node.op == "call_function":
            node.target = torch.ops.aten.sigmoid.default
    assert shape_of(other) != shape_of(split)


def test_ops_in_a_fallback_are_another_shape_than_the_same_in_an_engine():
    captured = capture(find_case("relu_once"), "nonstrict")
    fallback = split_module(captured.fresh_module(), captured.case.fallback, 1)
    engine = split_module(captured.fresh_module(), (), 1)
    assert shape_of(fallback) != shape_of(engine)


def test_a_program_is_split_after_its_decompositions_where_that_is_asked():
    def ops(mode: str) -> set[str]:
        exported = capture(find_case("relu_once"), mode).exported
        assert exported is not None
        return {str(node.target) for node in exported.graph.nodes if node.op == "call_function"}

    assert "aten.linear.default" in ops("nonstrict")
    assert "aten.linear.default" not in ops("decomposed")
    assert "aten.addmm.default" in ops("decomposed")
