"""Ops are meant by the names that people write, and what is no op of the graph is told."""

import pytest

from corpus.op_names import GETITEM, NoSuchOp, ops_meant

GRAPH = (
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.layer_norm.default",
    "aten.topk.default",
    "mine.fft.default",
    "theirs.fft.default",
    GETITEM,
)
LOWERED = {
    "aten.add.Tensor": ["aten.add.Scalar", "aten.add.Tensor"],
    "aten.native_layer_norm.default": ["aten.layer_norm.default"],
}


def meant(*names: str) -> tuple[str, ...]:
    return ops_meant(names, GRAPH, lambda: LOWERED)


@pytest.mark.parametrize(
    "name",
    [
        "aten.topk.default",
        "torch.ops.aten.topk.default",
        "aten.topk",
        "torch.ops.aten.topk",
        "topk.default",
        "topk",
        " topk ",
    ],
)
def test_an_op_is_meant_with_or_without_its_overload_its_namespace_and_torch_ops(name):
    assert meant(name) == ("aten.topk.default",)


def test_a_packet_means_all_of_its_overloads_that_the_graph_has_and_each_op_is_meant_once():
    assert meant("add", "aten.add.Tensor") == ("aten.add.Scalar", "aten.add.Tensor")


def test_one_of_several_overloads_is_enough():
    assert meant("aten.topk.default", "aten.topk.values") == ("aten.topk.default",)


@pytest.mark.parametrize("name", ["getitem", "operator.getitem", "_operator.getitem"])
def test_getitem_has_one_name(name):
    assert meant("topk", name) == ("aten.topk.default", GETITEM)


@pytest.mark.parametrize("name", ["native_layer_norm", "aten.native_layer_norm.default"])
def test_an_op_of_the_lowered_graph_is_meant_with_what_it_is_made_of(name):
    both = ("aten.layer_norm.default", "aten.native_layer_norm.default")
    assert meant(name) == both
    assert meant("aten.layer_norm.default", name) == both


def test_lowering_is_not_asked_for_while_the_graph_has_every_op():
    assert ops_meant(["topk"], GRAPH, lambda: pytest.fail("asked")) == ("aten.topk.default",)


def test_a_name_in_several_namespaces_is_refused_with_what_it_may_be():
    with pytest.raises(NoSuchOp, match=r"^fft may be mine\.fft or theirs\.fft; write which"):
        meant("fft")
    assert meant("mine.fft") == ("mine.fft.default",)


def test_a_name_that_is_nowhere_is_refused_with_all_ops_what_they_become_and_the_nearest_one():
    with pytest.raises(NoSuchOp) as refused:
        meant("topk", "aten.gelu", "aten.tpok.default")
    assert str(refused.value) == (
        f"the graph has no op aten.gelu, aten.tpok.default; it has {', '.join(sorted(GRAPH))}; "
        "lowering makes aten.native_layer_norm.default of them; perhaps aten.topk.default for "
        "aten.tpok.default (a tuple's getitems fall back with the op that makes it, and need no "
        "name)"
    )


def test_a_short_name_that_is_mistyped_is_told_with_the_short_name_that_is_nearest():
    with pytest.raises(NoSuchOp, match=r"; perhaps topk for tokp \("):
        meant("tokp")
