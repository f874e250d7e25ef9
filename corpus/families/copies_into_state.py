"""State that takes values of another type or shape, by a copy that casts them or spreads them.

These go through the package lane alone, as `corpus.families.state_and_state`.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.inputs import floats


class WholeNumbers(torch.nn.Module):
    """Numbers that become whole ones, as the state that they are copied into holds them."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 4, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(x * 10)
        return torch.relu(x) + self.state


@case(
    Family.CACHES,
    catches="numbers that are copied into a state of whole ones and read there in the same call",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def fractions_copied_into_whole_numbers() -> Program:
    return Program(floats((2, 4)), model=WholeNumbers())


class Spread(torch.nn.Module):
    """One row that is copied over all rows of the state."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(torch.relu(x).mean(0))
        return self.state * 2


@case(
    Family.CACHES,
    catches="a row that is copied over each row of a state and read there in the same call",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def row_copied_over_a_state() -> Program:
    return Program(floats((3, 4)), model=Spread())


class SpreadAndCut(Spread):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(torch.relu(x).mean(0))
        return x[:2] + self.state[:2]


@case(
    Family.CACHES,
    catches="the same, of which rows are read that the one row has not",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def rows_of_a_row_copied_over_a_state() -> Program:
    return Program(floats((3, 4)), model=SpreadAndCut())
