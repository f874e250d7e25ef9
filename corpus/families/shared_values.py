"""One value read twice: an ordinary residual connection."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
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
        a = torch.relu(x) + 1
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
