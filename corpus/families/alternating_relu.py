"""Engines and relu fallbacks in turn: the shape every other one is a variation of."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.inputs import floats

RELU = "aten.relu.default"


class Alternating(torch.nn.Module):
    """``steps`` times a linear layer in an engine, and a relu in PyTorch."""

    def __init__(self, steps: int, width: int = 8) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(steps)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


@case(
    Family.ALTERNATING_RELU,
    catches="an inliner that cannot save the simplest hybrid: one engine, one fallback",
    fallback=[RELU],
    cross=True,
)
def relu_once() -> Program:
    return Program(floats((2, 8)), model=Alternating(1))


@case(
    Family.ALTERNATING_RELU,
    catches="an engine's own getitem taken for another engine's, in a chain of one-output engines",
    fallback=[RELU],
    wiring=True,
)
def relu_four_steps() -> Program:
    return Program(floats((2, 8)), model=Alternating(4))


@case(
    Family.ALTERNATING_RELU,
    catches="wiring that goes wrong only after dozens of getitems, and time that grows too fast",
    fallback=[RELU],
    wiring=True,
)
def relu_twenty_steps() -> Program:
    return Program(floats((2, 8)), model=Alternating(20))


class FallbackFirst(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.relu(x) * 2 + 1)


@case(
    Family.ALTERNATING_RELU,
    catches="a first fallback whose placeholder has the model input's own name",
    fallback=[RELU],
    wiring=True,
)
def relu_before_any_engine() -> Program:
    return Program(floats((2, 8)), model=FallbackFirst())


class BugReport(torch.nn.Module):
    """The split of pytorch/TensorRT #4360.

    Engine 0 ends in an element of a chunk, so its fallback's placeholder is called `getitem`; the
    splitter names engine 1's own outputs `getitem` and `getitem_1` in the parent; the inliner's new
    getitem for engine 0 is called `getitem_2`.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu((x + 1).chunk(2, dim=-1)[0])
        return torch.relu(y * 2) - torch.relu(y - 3)


@case(
    Family.ALTERNATING_RELU,
    catches="the bug report: a relu reads the getitem of a later engine, and lint says so",
    fallback=[RELU],
    wiring=True,
)
def pr_4360() -> Program:
    return Program(floats((2, 8)), model=BugReport())
