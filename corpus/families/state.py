"""State that fallbacks share, freeze, lay out or draw: what a program holds beside its wires."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.attributes import LINEAR
from corpus.handmade import SplitBuilder
from corpus.inputs import floats


class TiedWeights(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 8, bias=False)
        self.down = torch.nn.Linear(8, 8, bias=False)
        self.down.weight = self.up.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(x + 1) * 2) - 1


@case(
    Family.ATTRIBUTES,
    catches="one weight under two names, in two fallbacks",
    fallback=[*LINEAR, "aten.mm.default"],
)
def tied_weights_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=TiedWeights())


@case(
    Family.ATTRIBUTES,
    catches="one weight that two fallbacks call by two names: taken for a constant, or copied",
    origin=Origin.HANDMADE,
)
def one_weight_by_two_names() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    weight = torch.nn.Parameter(torch.randn(8))
    made = builder.fallback(lambda a, w: a * w, x, placeholders=["a"], attributes={"up": weight})
    engine = builder.engine(lambda a: a + 1, made)
    last = builder.fallback(
        lambda b, w: b - w, engine, placeholders=["b"], attributes={"down": weight}
    )
    return Program(floats((2, 8)), split=builder.finish(last))


@case(
    Family.ATTRIBUTES,
    catches="a weight's second name, which nothing reads: kept as a plain tensor, or as a buffer",
    origin=Origin.HANDMADE,
)
def weight_with_a_name_that_nothing_reads() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    weight = torch.nn.Parameter(torch.randn(8))
    tied = {"up": weight, "down": weight}
    made = builder.fallback(lambda a, up, down: a * up, x, placeholders=["a"], attributes=tied)
    return Program(floats((2, 8)), split=builder.finish(builder.engine(lambda a: a + 1, made)))


@case(
    Family.ATTRIBUTES,
    catches="one buffer that two fallbacks call by two names: taken for a constant, or copied",
    origin=Origin.HANDMADE,
)
def one_buffer_by_two_names() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    table = torch.randn(8)
    made = builder.fallback(lambda a, w: a * w, x, placeholders=["a"], attributes={"scale": table})
    engine = builder.engine(lambda a: a + 1, made)
    last = builder.fallback(
        lambda b, w: b - w, engine, placeholders=["b"], attributes={"shift": table}
    )
    return Program(floats((2, 8)), split=builder.finish(last))


class TransposedWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 4).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.weight) - 2


@case(
    Family.ATTRIBUTES,
    catches="a weight that is laid out column by column, saved as if by rows",
    fallback=["aten.mul.Tensor"],
)
def transposed_weight_in_fallback() -> Program:
    return Program(floats((4, 8)), model=TransposedWeight())


class ViewOfABuffer(torch.nn.Module):
    table: torch.Tensor
    head: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(4, 8))
        self.register_buffer("head", self.table[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.table) - torch.mul(x * 2, self.head)


@case(
    Family.ATTRIBUTES,
    catches="a buffer that is a view of another one, and no longer changes with it",
    fallback=["aten.mul.Tensor"],
)
def view_of_a_buffer_in_fallback() -> Program:
    return Program(floats((4, 8)), model=ViewOfABuffer())


class Noise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.relu(y + torch.rand_like(y)) - 1


@case(
    Family.ATTRIBUTES,
    catches="a random op in a fallback that is frozen, or draws from another distribution",
    fallback=["aten.rand_like.default"],
)
def noise_in_fallback() -> Program:
    return Program(floats((2, 8)), model=Noise())


class DrawnTwice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return torch.rand_like(y) - torch.rand_like(y) + y * 2


@case(
    Family.ATTRIBUTES,
    catches="two draws that look alike, merged as if they were one value",
    fallback=["aten.rand_like.default"],
)
def noise_drawn_twice() -> Program:
    return Program(floats((2, 8)), model=DrawnTwice())


class Dropout(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x + 1, 0.25, training=True) * 2


@case(
    Family.ATTRIBUTES,
    catches="a dropout that is left on, as for Monte Carlo estimates: its rate lost, or it itself",
    fallback=["aten.dropout.default", "aten.native_dropout.default"],
)
def dropout_that_trains() -> Program:
    return Program(floats((2, 8)), model=Dropout())


class TwoDistributions(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        wide = torch.normal(0.0, 3.0, (2, 8)) + (x + 1)
        narrow = torch.normal(1.0, 0.5, (2, 8)) * (x - 1)
        return wide * 2, narrow * 2


@case(
    Family.ATTRIBUTES,
    catches="two random ops of other distributions that change places",
    fallback=["aten.normal.float_float"],
    wiring=True,
)
def two_distributions() -> Program:
    return Program(floats((2, 8)), model=TwoDistributions())


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x + 1) * 2) - 1


@case(
    Family.ATTRIBUTES,
    catches="two layers of one block, each in a fallback of its own: one lost, or taken twice",
    fallback=["aten.linear.default"],
    wiring=True,
)
def layers_of_one_block_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=torch.nn.Sequential(Block()))


class SkipsLayersInTraining(torch.nn.Module):
    """LayerDrop, as speech models have it: a number is drawn for each layer, and read by none."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            drawn = torch.rand([])
            skipped = self.training and drawn < 0.1
            x = x if skipped else x + torch.relu(layer(x)) * 2
        return x


@case(
    Family.ATTRIBUTES,
    catches="numbers that are drawn and never read, as to skip layers in training alone",
    fallback=[RELU],
    wiring=True,
)
def layers_skipped_in_training() -> Program:
    return Program(floats((2, 8)), model=SkipsLayersInTraining())


class FrozenWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)
        self.project.weight.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.project(x + 1) * 2


@case(
    Family.ATTRIBUTES,
    catches="a frozen weight in a fallback that comes back trainable",
    fallback=[*LINEAR],
)
def frozen_weight_in_fallback() -> Program:
    return Program(floats((2, 8)), model=FrozenWeight())
