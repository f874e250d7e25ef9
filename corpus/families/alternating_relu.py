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
