"""Tensors that depend on no input: made in a fallback, in an engine, or handed straight out."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
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
