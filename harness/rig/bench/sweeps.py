"""Cases of a given size, to see how time and memory grow with it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch

from corpus.case import Case, Family, Origin, Program
from corpus.families.alternating_relu import RELU, Alternating
from corpus.families.scale import FanOut
from corpus.inputs import floats
from harness.wire.bench_records import BenchCase

LINEAR = "aten.linear.default"
BALLAST = "ballast"


def sweep_case(asked: BenchCase) -> Case:
    """The case of one size.

    Raises:
        ValueError: there is no such sweep.
    """
    if asked.sweep not in _SWEEPS:
        raise ValueError(f"no sweep is named {asked.sweep!r}; there are: {', '.join(_SWEEPS)}")
    fallback, program = _SWEEPS[asked.sweep]
    return Case(
        name=asked.name,
        family=Family.SCALE,
        origin=Origin.EXPORTED,
        catches=f"time that grows too fast with {asked.sweep}",
        build=functools.partial(program, asked.size),
        fallback=(fallback,),
    )


def ballast_of(asked: BenchCase) -> int:
    """The bytes of all engines together that a case asks for."""
    return asked.size if asked.sweep == BALLAST else 0


def _steps(size: int) -> Program:
    """``size`` engines and fallbacks in turn."""
    return Program(floats((2, 8)), model=Alternating(size // 2))


def _fan_out(size: int) -> Program:
    """One value read by ``size`` engines, each behind a fallback."""
    return Program(floats((2, 8)), model=FanOut(size))


def _ballast(_: int) -> Program:
    """Four engines; the ballast is the builder's."""
    return Program(floats((2, 8)), model=Alternating(4))


class _Weights(torch.nn.Module):
    """One linear layer of about ``size`` parameters in PyTorch, between two engines."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(math.isqrt(size), math.isqrt(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layer(x + 1) * 2
        return out


def _parameters(size: int) -> Program:
    return Program(floats((2, math.isqrt(size))), model=_Weights(size))


_SWEEPS: dict[str, tuple[str, Callable[[int], Program]]] = {
    "steps": (RELU, _steps),
    "fan-out": (RELU, _fan_out),
    BALLAST: (RELU, _ballast),
    "parameters": (LINEAR, _parameters),
}
