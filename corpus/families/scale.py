"""Deep chains and wide fans: where names run out, and time that grows too fast shows."""

from __future__ import annotations

import functools

import torch

from corpus.case import Family, Origin, Program, case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.handmade import SplitBuilder
from corpus.inputs import floats


@case(
    Family.SCALE,
    catches="forty steps: time that grows with the square of the number of engines",
    fallback=[RELU],
    wiring=True,
    full=True,  # how its time grows is measured by `bench`
)
def chain_of_forty() -> Program:
    return Program(floats((2, 8)), model=Alternating(40))


@case(
    Family.SCALE,
    catches="nine steps, as many as real models have: time that grows faster than they do",
    fallback=[RELU],
    wiring=True,
    full=True,  # how its time grows is measured by `bench`
)
def chain_of_nine() -> Program:
    return Program(floats((2, 8)), model=Alternating(9))


@case(
    Family.SCALE,
    catches="thirteen steps, more than most real models have: time that grows faster than they do",
    fallback=[RELU],
    wiring=True,
    full=True,  # how its time grows is measured by `bench`
)
def chain_of_thirteen() -> Program:
    return Program(floats((2, 8)), model=Alternating(13))


class FanOut(torch.nn.Module):
    """One value read by ``width`` fallbacks, each from an engine of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        total = y * 0.5
        for number in range(self.width):
            # Halved, so that what comes late does not drown in what came before.
            total = torch.relu(total * 0.5 + number) - y
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


def _moved(by: int, a: torch.Tensor) -> torch.Tensor:
    return a * 0.9 + by


@case(
    Family.SCALE,
    catches="more than a hundred children: names with three digits, and time that grows too fast",
    origin=Origin.HANDMADE,
    wiring=True,
)
def chain_of_a_hundred_children() -> Program:
    builder = SplitBuilder()
    value = builder.input("x", 2, 8)
    for number in range(52):
        engine = builder.engine(functools.partial(_moved, number), value)
        value = builder.fallback(torch.relu, engine)
    return Program(floats((2, 8)), split=builder.finish(value))
