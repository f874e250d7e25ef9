"""What a fallback returns: one tensor, several, other types, its own input."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"
ABS = "aten.abs.default"


class TwoFromOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.relu(y) * 3 - torch.abs(y)


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback with two outputs, which the legacy exporter looked up as one",
    fallback=[RELU, ABS],
    wiring=True,
)
def two_outputs() -> Program:
    return Program(floats((2, 8)), model=TwoFromOne())


class Mask(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = (x * 2).gt(0)
        return torch.where(mask, x - 1, x + 1) * 2


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's output of another type than its input: bool to an engine",
    fallback=["aten.gt.Scalar"],
    wiring=True,
)
def bool_mask() -> Program:
    return Program(floats((2, 8)), model=Mask())


class ReturnedAndRead(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x + 1)
        return y, y * 2 - x


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback's output that the model returns and an engine reads",
    fallback=[RELU],
    wiring=True,
)
def returned_and_read() -> Program:
    return Program(floats((2, 8)), model=ReturnedAndRead())


@case(
    Family.FALLBACK_OUTPUTS,
    catches="a fallback that hands back its own input beside what it computed",
    origin=Origin.HANDMADE,
    wiring=True,
)
def returns_its_own_input() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    pair = builder.fallback(lambda a: (torch.relu(a), a), engine)
    relu, same = builder.item(pair, 0), builder.item(pair, 1)
    last = builder.engine(lambda a, b: a * 2 - b, relu, same)
    return Program(floats((2, 8)), split=builder.finish(last))
