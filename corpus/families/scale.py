"""Deep chains and wide fans: where names run out, and time that grows too fast shows."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.inputs import floats


@case(
    Family.SCALE,
    catches="forty steps: time that grows with the square of the number of engines",
    fallback=[RELU],
    wiring=True,
)
def chain_of_forty() -> Program:
    return Program(floats((2, 8)), model=Alternating(40))


class FanOut(torch.nn.Module):
    """One value read by ``width`` fallbacks, each from an engine of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        total = y * 0.5
        for number in range(self.width):
            total = torch.relu(total * (number + 2)) - y
        return total


@case(
    Family.SCALE,
    catches="one value read by twelve engines, each behind a fallback of its own",
    fallback=[RELU],
    wiring=True,
)
def fan_out_of_twelve() -> Program:
    return Program(floats((2, 8)), model=FanOut(12))


class FanIn(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = (x * 2).unbind(0)
        return torch.stack([torch.relu(row) for row in reversed(rows)]) - x


@case(
    Family.SCALE,
    catches="twelve outputs of one engine through one fallback, in reverse",
    fallback=[RELU],
    wiring=True,
)
def fan_in_of_twelve() -> Program:
    return Program(floats((12, 4)), model=FanIn())
