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
