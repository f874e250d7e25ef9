"""State of complex numbers, and state of a model that computes with complex numbers.

These go through the package lane alone, as `corpus.families.caches`: lowering takes complex numbers
apart and makes inputs of state, one after the other, and the graph lane lowers nothing.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.inputs import floats


class Spectrum(torch.nn.Module):
    sum: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("sum", torch.zeros(3, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.sum.add_(torch.view_as_complex(x))
        return torch.relu(torch.view_as_real(self.sum)) * 2


@case(
    Family.CACHES,
    catches="a state of complex numbers that is written to: not found again by its name",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def complex_state() -> Program:
    return Program(floats((3, 2)), model=Spectrum())


class TurnedKeys(torch.nn.Module):
    """A KV cache whose keys are turned by complex numbers, as Llama's reference turns them."""

    cache: torch.Tensor
    turns: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(1.0, 3.0), 10.0 ** -torch.arange(2.0))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.register_buffer("cache", torch.randn(1, 2, 8, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex((x + 1).unflatten(-1, (2, 2)))
        keys = torch.view_as_real(pairs * self.turns).flatten(3)
        self.cache[:, :, 2:4] = keys
        return torch.relu(keys @ self.cache.transpose(2, 3)) * 2


@case(
    Family.CACHES,
    catches="a KV cache that an engine writes in place, beside complex numbers",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_of_keys_turned_by_complex_numbers() -> Program:
    return Program(floats((1, 2, 2, 4)), model=TurnedKeys())


class CountedTurns(torch.nn.Module):
    steps: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(3, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps.add_(1)
        pairs = torch.view_as_complex(x)
        return torch.relu(torch.view_as_real(pairs * pairs)) * 2 + self.steps


@case(
    Family.CACHES,
    catches="a running state beside complex numbers, whose input is not found by its name",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
    state=True,
)
def counter_beside_complex_numbers() -> Program:
    return Program(floats((3, 2)), model=CountedTurns())
