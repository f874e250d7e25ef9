"""Parameters, buffers and constants inside a fallback: what the legacy exporter has to lift."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.inputs import floats

LINEAR = "aten.linear.default"


class LinearInFallback(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.project(x + 1) * 2


@case(
    Family.ATTRIBUTES,
    catches="a weight that is lost, renamed or given wrong metadata on its way out of a fallback",
    fallback=[LINEAR],
)
def linear_in_fallback() -> Program:
    return Program(floats((2, 8)), model=LinearInFallback())


class TwoLinears(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 4)
        self.second = torch.nn.Linear(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x + 1) * 2) - x


@case(
    Family.ATTRIBUTES,
    catches="weights of two fallbacks that change places",
    fallback=[LINEAR],
    wiring=True,
)
def linears_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


class BatchNormInFallback(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
        # As after training: the defaults, zero and one, would hide a swap of the two.
        self.norm.running_mean = torch.rand(8) - 0.5
        self.norm.running_var = torch.rand(8) + 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x * 2) + 1


@case(
    Family.ATTRIBUTES,
    catches="a buffer in a fallback, for which a signature must say whether it is persistent",
    fallback=["aten.batch_norm.default"],
)
def batch_norm_in_fallback() -> Program:
    return Program(floats((4, 8)), model=BatchNormInFallback())


class SharedLinear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shared(self.shared(x + 1) * 2) - 1


@case(
    Family.ATTRIBUTES,
    catches="one weight read by two fallbacks: an argument twice in the lifted graph's code",
    fallback=[LINEAR],
)
def one_linear_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=SharedLinear())


class ConstantTensor(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.arange(8, dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.scale) - 3


@case(
    Family.ATTRIBUTES,
    catches="a plain tensor attribute in a fallback, neither parameter nor buffer",
    fallback=["aten.mul.Tensor"],
)
def constant_in_fallback() -> Program:
    return Program(floats((2, 8)), model=ConstantTensor())


class IntegerWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        weight = torch.randint(-128, 128, (8,), dtype=torch.int8)
        self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.weight) * 2


@case(
    Family.ATTRIBUTES,
    catches="a quantised weight in a fallback, which cannot require a gradient",
    fallback=["aten.mul.Tensor"],
)
def integer_weight_in_fallback() -> Program:
    return Program(floats((2, 8)), model=IntegerWeight())
