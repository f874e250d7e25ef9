"""What a segment writes to, that the caller or the program would see."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from harness.rig.engines.builder import build_segment_engine
from harness.rig.engines.contract import UnsupportedSegment
from harness.rig.engines.writes import writes_of

X = torch.ones(4, 4)


class Model(torch.nn.Module):
    """Calls a function with itself, its inputs and a buffer to write to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, 4))
        self.norm = torch.nn.BatchNorm1d(4)
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def exported(function: Callable[..., Any], *, training: bool = False) -> GraphModule:
    model = Model(function).train(training)
    return torch.export.export(model, (X.clone(),)).module(check_guards=False)


def written(function: Callable[..., Any], **how: bool) -> set[str]:
    return {write.target for write in writes_of(exported(function, **how))}


def _in_place(_: Model, x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


def _copied(model: Model, x: torch.Tensor) -> torch.Tensor:
    model.seen.copy_(x)
    return x + 1


def _slice(_: Model, x: torch.Tensor) -> torch.Tensor:
    x[1:3] = 0
    return x * 2


def _chunk(_: Model, x: torch.Tensor) -> torch.Tensor:
    _, second = x.chunk(2)
    second.mul_(3)
    return x + 1


def _through_dropout(_: Model, x: torch.Tensor) -> torch.Tensor:
    return torch.dropout(x, 0.5, False).relu_()


def _index_copy(model: Model, x: torch.Tensor) -> torch.Tensor:
    model.seen.index_copy_(0, torch.tensor([1]), x[:1])
    return model.seen + x


def _no_grad(model: Model, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        model.seen.add_(x)
    return x + 1


def _normed(model: Model, x: torch.Tensor) -> torch.Tensor:
    return model.norm(x)


def _fresh(_: Model, x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[0] = 0
    y.view(-1).add_(1)
    return y


def _constant(_: Model, x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("function", "target"),
    [
        (_in_place, "its input x"),
        (_slice, "its input x"),
        (_chunk, "its input x"),
        (_through_dropout, "its input x"),
        (_copied, "its attribute seen"),
        (_index_copy, "its attribute seen"),
        (_no_grad, "its attribute seen"),
    ],
)
def test_a_write_to_what_a_segment_does_not_own_is_found(function, target):
    assert target in written(function)


def test_batch_norm_writes_to_its_statistics_while_it_trains_and_only_then():
    assert {"its attribute norm.running_mean", "its attribute norm.running_var"} < written(
        _normed, training=True
    )
    assert written(_normed) == set()


@pytest.mark.parametrize("function", [_fresh, _constant])
def test_a_write_to_a_tensor_of_its_own_is_none(function):
    assert written(function) == set()


def test_an_operator_of_python_that_writes_in_place_is_seen():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    flat = graph.call_method("view", (x, -1))
    graph.output(graph.call_function(operator.iadd, (flat, 1)))
    assert [write.target for write in writes_of(GraphModule({}, graph))] == ["its input x"]


def test_no_engine_is_built_of_a_segment_that_writes():
    with pytest.raises(UnsupportedSegment) as refused:
        build_segment_engine("_run_on_acc_3", exported(_slice))
    assert str(refused.value) == (
        "_run_on_acc_3: fill_ (aten.fill_.Tensor) writes to its input x: an engine writes to "
        "nothing that it is given"
    )


def test_an_engine_is_built_of_a_segment_that_writes_to_a_tensor_of_its_own():
    assert build_segment_engine("_run_on_acc_0", exported(_fresh)).contract.outputs
