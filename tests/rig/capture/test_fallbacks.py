"""A program's ops by name, and what lowering makes of them."""

import dataclasses

import pytest
import torch
from torch.fx import Node

from corpus.case import find_case
from corpus.op_names import NoSuchOp
from harness.rig.capture.fallbacks import fallbacks_meant, made_in_lowering, ops_of
from harness.rig.capture.split import split_module


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        best, at = torch.topk(self.norm(x * 2), 2)
        low, high = (best + 1).chunk(2, -1)
        return high - low, at


@pytest.fixture(scope="module")
def exported():
    return torch.export.export(Model().eval(), (torch.randn(3, 4),))


def named(*names):
    return dataclasses.replace(find_case("resnet_relu"), fallback=names)


def test_ops_are_named_as_a_case_names_them(exported):
    assert {"aten.topk.default", "_operator.getitem"} < ops_of(exported.graph)


def test_what_lowering_makes_is_told_with_the_ops_that_it_is_made_of(exported):
    made = made_in_lowering(exported)
    assert made["aten.native_layer_norm.default"] == {"aten.layer_norm.default"}
    assert made["aten.topk.default"] == {"aten.topk.default"}
    assert "_operator.getitem" not in made


def test_a_refused_name_is_told_with_its_case_and_with_what_lowering_makes(exported):
    with pytest.raises(NoSuchOp, match=r"^resnet_relu: the graph has no op gelu; ") as told:
        fallbacks_meant(named("gelu"), exported)
    assert "lowering makes aten.native_layer_norm.default, " in str(told.value)


@pytest.mark.parametrize("also", [(), ("layer_norm",)])
def test_an_op_that_lowering_takes_apart_falls_back_unnamed_unless_a_user_names_it(exported, also):
    fallback, unnamed = fallbacks_meant(named("native_layer_norm", *also), exported)
    assert {*fallback} == {"aten.layer_norm.default", "aten.native_layer_norm.default"}
    assert unnamed == (set() if also else {"aten.layer_norm.default"})


def test_a_tuple_s_getitems_fall_back_with_the_op_that_makes_it(exported):
    fallback, unnamed = fallbacks_meant(named("topk"), exported)
    assert fallback == ("aten.topk.default",)
    assert not unnamed
    split = split_module(exported.module(check_guards=False), fallback, 1)
    of = {name: [str(node.target) for node in nodes(child)] for name, child in children(split)}
    assert of["_run_on_gpu_1"] == ["aten.topk.default", *["<built-in function getitem>"] * 2]
    # The engine behind it keeps the getitems of its own tuple.
    assert of["_run_on_acc_2"].count("<built-in function getitem>") == 2


def children(split):
    return [pair for pair in split.named_children() if pair[0].startswith("_run_on")]


def nodes(child) -> list[Node]:
    return [node for node in child.graph.nodes if node.op == "call_function"]
