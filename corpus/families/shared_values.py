"""One value read twice: an ordinary residual connection."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"
MUL = "aten.mul.Tensor"


class Residual(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = x + 1
        c = torch.relu(a) - 2
        return c * a


@case(
    Family.SHARED_VALUES,
    catches="an engine's output read by two fallbacks: the second inlining meets the first's nodes",
    fallback=[RELU, MUL],
    wiring=True,
)
def residual_over_a_fallback() -> Program:
    return Program(floats((2, 8)), model=Residual())


class ReadByBoth(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = torch.relu(x) - 1
        b = torch.relu(a)
        return (b * 2 - a) / (torch.relu(b - a) + 3)


@case(
    Family.SHARED_VALUES,
    catches="a value read by an engine and by fallbacks before and after it",
    fallback=[RELU],
    wiring=True,
)
def read_by_engine_and_fallbacks() -> Program:
    return Program(floats((2, 8)), model=ReadByBoth())


class InputTwice(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x - y) + torch.relu(y - x) * 2 - torch.relu(x)


@case(
    Family.SHARED_VALUES,
    catches="model inputs read by several fallbacks and an engine, in both orders",
    fallback=[RELU, "aten.sub.Tensor"],
    wiring=True,
)
def inputs_in_both_orders() -> Program:
    return Program(floats((2, 8), (2, 8)), model=InputTwice())


@case(
    Family.SHARED_VALUES,
    catches="one engine's output read by three fallbacks: the third meets the nodes of two",
    origin=Origin.HANDMADE,
    wiring=True,
)
def value_read_by_three_fallbacks() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    made = [
        builder.fallback(lambda a: torch.relu(a) * 2, engine),
        builder.fallback(lambda a: torch.abs(a) - 3, engine),
        builder.fallback(lambda a: torch.sigmoid(a) * 5, engine),
    ]
    last = builder.engine(lambda a, b, c: a - b / (c + 1), *made)
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.SHARED_VALUES,
    catches="one value for both inputs of an engine, whose bindings become one",
    origin=Origin.HANDMADE,
    wiring=True,
)
def one_value_for_two_engine_inputs() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    relu = builder.fallback(torch.relu, x)
    engine = builder.engine(lambda a, b: a * 3 - b * b, relu, relu)
    return Program(floats((2, 8)), split=builder.finish(engine))
