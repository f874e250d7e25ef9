"""How a recording writes what stands in a graph."""

import json
import operator
from typing import Any

import pytest
import torch
from torch.fx import Graph

from corpus.recorded.values import (
    MOST_WRITTEN_OUT,
    PARAMETER,
    CannotRecord,
    argument_data,
    argument_of,
    expression_of,
    symbol_of,
    target_of,
    target_text,
    tensor_data,
    tensor_of,
    value_data,
)

GRAPH = Graph()
NODE = GRAPH.placeholder("x")


def through_json(item: Any) -> Any:
    return json.loads(json.dumps(item))


@pytest.mark.parametrize(
    "argument",
    [
        NODE,
        None,
        True,
        -3,
        0.5,
        float("-inf"),
        "tanh",
        [NODE, None, 1],
        (NODE, [2, (3,)]),
        torch.float16,
        torch.strided,
        torch.channels_last,
        torch.device("cpu"),
    ],
)
def test_an_argument_comes_back_as_it_was(argument):
    back = argument_of(through_json(argument_data(argument)), {"x": NODE})
    assert back == argument
    assert type(back) is type(argument)


@pytest.mark.parametrize(
    "target", [torch.ops.aten.add.Tensor, torch.ops.aten.relu.default, operator.getitem]
)
def test_an_op_comes_back_as_it_was(target):
    assert target_of("call_function", target_text(target)) is target


def test_a_module_s_name_is_no_op():
    assert target_of("call_module", target_text("_run_on_acc_0")) == "_run_on_acc_0"


@pytest.mark.parametrize("target", [torch.relu, torch.ops.higher_order.cond, print])
def test_a_call_without_words_is_refused(target):
    with pytest.raises(CannotRecord, match="a call of"):
        target_text(target)


def test_an_argument_without_words_is_refused():
    with pytest.raises(CannotRecord, match="an argument slice"):
        argument_data([slice(1, 2)])


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([1.5, float("inf"), float("nan")]),
        torch.tensor(7),
        torch.tensor([[True], [False]]),
        torch.arange(40),
        torch.zeros(2, 0),
        torch.arange(8, dtype=torch.float16).reshape(2, 4).t(),
    ],
)
def test_a_small_tensor_comes_back_number_by_number(tensor):
    back = tensor_of(through_json(tensor_data(tensor)), "buffer", seed=1)
    assert torch.equal(back.nan_to_num(7), tensor.nan_to_num(7))
    assert (back.dtype, back.stride()) == (tensor.dtype, tensor.stride())


def test_of_a_large_one_type_shape_and_range_come_back_and_a_seed_decides_the_rest():
    weight = torch.nn.Parameter(torch.rand(6, 8) * 0.5 + 0.25, requires_grad=False)
    data = through_json(tensor_data(weight))
    one, same, other = (tensor_of(data, PARAMETER, seed) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert isinstance(one, torch.nn.Parameter)
    assert not one.requires_grad
    assert one.shape == weight.shape
    assert 0.24 < one.min() < one.max() < 0.76


def test_many_whole_numbers_are_refused():
    with pytest.raises(CannotRecord, match="to be written out"):
        tensor_data(torch.arange(MOST_WRITTEN_OUT + 1))


def test_a_size_is_written_over_symbols_in_the_order_in_which_they_come():
    class Halves(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return y.repeat(2, 1)[::3] + x.sum()

    dims = {"x": {0: torch.export.Dim("a", max=9)}, "y": {0: torch.export.Dim("b", max=9)}}
    program = torch.export.export(Halves(), (torch.ones(4), torch.ones(5, 2)), dynamic_shapes=dims)
    names: dict[str, str] = {}
    values = [value_data(node.meta["val"], names) for node in program.graph.nodes if node.meta]
    assert values[:2] == [
        {"tensor": "float32", "shape": ["s0"]},
        {"tensor": "float32", "shape": ["s1", 2]},
    ]
    size = values[-1]["shape"][0]
    assert size == "((2*s1 + 2)//3)" or "s1" in size
    assert expression_of("2*s1").subs(symbol_of("s1"), 5) == 10
