"""Ops whose arguments are left at their defaults, which validators and converters read anyway."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.inputs import floats


class Ranked(torch.nn.Module):
    """Scores from the least to the best, and what has them."""

    def forward(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        least_first, who = torch.sort(torch.relu(scores) - scores)
        return least_first * 2, who


@case(
    Family.CUSTOM_OPS,
    catches="a sort by its default dimension, which no argument of the node names",
    fallback=[RELU],
    lanes=("package",),
)
def sorted_by_the_last_dimension() -> Program:
    return Program(floats((3, 8)), model=Ranked())


class Padded(torch.nn.Module):
    """A convolution whose border is of ones, as silence is not 0 in decibels."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bordered = torch.nn.functional.pad(x * 2, (1, 1, 1, 1), value=1.0)
        return torch.relu(self.convolution(bordered)) - 1


@case(
    Family.CUSTOM_OPS,
    catches="a border of ones before a convolution, which lowering takes for its padding of zeros",
    fallback=[RELU],
    lanes=("package",),
    eager_tolerance=1e-4,
)
def convolution_of_a_border_of_ones() -> Program:
    return Program(floats((1, 2, 5, 5)), model=Padded())


class Peaks(torch.nn.Module):
    """Where the largest of each four are, without what they are."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heat = torch.relu(x) + x
        _, places = torch.nn.functional.max_pool2d(heat, 2, return_indices=True)
        return places, heat * 2


@case(
    Family.CUSTOM_OPS,
    catches="a max pool of which only the places are read, and lowered to one of the values",
    fallback=[RELU],
    lanes=("package",),
)
def places_of_a_max_pool_alone() -> Program:
    return Program(floats((1, 2, 4, 4)), model=Peaks())
