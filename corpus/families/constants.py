"""Tensors that depend on no input: made in a fallback, in an engine, or handed straight out."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.families.caches import PACKAGE_ALONE
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"
ARANGE = "aten.arange.default"


class ArangeInFallback(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1) * torch.arange(8) - x


@case(
    Family.CONSTANTS,
    catches="a fallback without any input, which makes its tensor itself",
    fallback=[ARANGE],
    wiring=True,
)
def fallback_without_inputs() -> Program:
    return Program(floats((2, 8)), model=ArangeInFallback())


class ConstantReturned(torch.nn.Module):
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(8, dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x + 1) * 2, self.table


@case(
    Family.CONSTANTS,
    catches="a buffer that the model hands out as it is: its output node is renamed while lifting",
    fallback=[RELU],
)
def buffer_returned() -> Program:
    return Program(floats((2, 8)), model=ConstantReturned())


class ParameterReturned(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x + 1) - 2, self.W


@case(
    Family.CONSTANTS,
    catches="a parameter with an upper-case name that is an output itself (#3189)",
    fallback=[RELU],
)
def upper_case_parameter_returned() -> Program:
    return Program(floats((2, 8)), model=ParameterReturned())


@case(
    Family.CONSTANTS,
    catches="a parameter named W that a fallback hands out: its node is w, and the output names w",
    origin=Origin.HANDMADE,
    wiring=True,
)
def upper_case_parameter_of_a_fallback_returned() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a + 1, a * 2), x)
    weight = torch.nn.Parameter(torch.randn(8))
    held = builder.fallback(lambda a, w: w, builder.item(engine, 0), attributes={"W": weight})
    return Program(floats((2, 8)), split=builder.finish(held, builder.item(engine, 1)))


@case(
    Family.CONSTANTS,
    catches="a parameter of two fallbacks that the second one hands out: lifted once, by the first",
    origin=Origin.HANDMADE,
    wiring=True,
)
def parameter_of_two_fallbacks_returned() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    held = {"weight": torch.nn.Parameter(torch.randn(8))}
    scaled = builder.fallback(lambda a, w: a * w, x, placeholders=["read"], attributes=held)
    engine = builder.engine(lambda a: a + 1, scaled)
    weight = builder.fallback(lambda a, w: w, engine, placeholders=["unread"], attributes=held)
    return Program(floats((2, 8)), split=builder.finish(engine, weight))


class ScalarConstant(torch.nn.Module):
    step: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("step", torch.tensor(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.step) - torch.relu(x)


@case(
    Family.CONSTANTS,
    catches="a 0-d buffer in a fallback, which has no strides to get wrong and is still lifted",
    fallback=["aten.mul.Tensor"],
)
def scalar_buffer_in_fallback() -> Program:
    return Program(floats((2, 8)), model=ScalarConstant())


class TableInEngine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        table = torch.arange(8, dtype=torch.float32) * 2
        return torch.relu(torch.add(table, x) * 3)


@case(
    Family.CONSTANTS,
    catches="an engine without any input, as a model's position table gives",
    fallback=["aten.add.Tensor"],
    wiring=True,
)
def engine_without_inputs() -> Program:
    return Program(floats((2, 8)), model=TableInEngine())


@case(
    Family.CONSTANTS,
    catches="a tensor of the parent's own that an engine and a fallback read",
    origin=Origin.HANDMADE,
    wiring=True,
)
def constant_of_the_parent() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    table = builder.constant("table", torch.randn(8))
    engine = builder.engine(lambda a, b: a * 2 - b, x, table)
    product = builder.fallback(lambda a, b: torch.relu(a) * b, engine, table)
    return Program(floats((2, 8)), split=builder.finish(product))


class HeavyEngine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(512, 640)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.project(x)) - 1


@case(
    Family.CONSTANTS,
    catches="an engine of more than a megabyte that is cut off, or held twice",
    fallback=[RELU],
)
def engine_of_a_megabyte() -> Program:
    return Program(floats((2, 512)), model=HeavyEngine())


class AndItsTranspose(torch.nn.Module):
    weight: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = self.weight * 2
        return torch.relu(x @ doubled) - torch.relu(x @ doubled.t())


@case(
    Family.ATTRIBUTES,
    catches="a square constant that is computed, and its transpose in the same memory",
    fallback=[RELU],
    eager_tolerance=1e-5,
    wiring=True,
    lanes=PACKAGE_ALONE,
)
def constant_and_its_transpose() -> Program:
    return Program(floats((2, 4)), model=AndItsTranspose())
