"""A case made ready to be measured: captured, split and compiled, once for all workers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from corpus.case import Case, Family, Inputs, Origin, Program, find_case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.families.scale import FanOut
from corpus.inputs import floats
from harness.rig.capture.capture import capture
from harness.rig.clock import StageClock
from harness.rig.engines.module import compile_engines
from harness.wire.bench_records import BenchCase
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

LINEAR = "aten.linear.default"
BALLAST = "ballast"


def sweep_case(asked: BenchCase) -> Case:
    """The case of one size."""
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


@dataclass(frozen=True)
class Measured:
    """What every worker of a case starts from. ``seconds`` is its set-up, and no metric."""

    split: GraphModule
    example: Inputs
    shapes_given: Callable[[Route], Any]
    steps: int
    engine_bytes: int
    seconds: dict[str, float]


def make_ready(asked: BenchCase, seed: int) -> Measured:
    """Capture, split and compile; nothing is judged, which `harness.rig.cell.prepare` is for."""
    case = find_case(asked.name) if not asked.sweep else sweep_case(asked)
    clock = StageClock()
    with clock.during(Stage.CAPTURE):
        captured = capture(case, "nonstrict", seed)
    with clock.during(Stage.SPLIT):
        split = captured.split()
    with clock.during(Stage.COMPILE):
        engines = compile_engines(split, _ballast_bytes(asked, case, split))
        split.recompile()
    return Measured(
        split=split,
        example=captured.example,
        shapes_given=captured.shapes_given,
        steps=sum(name.startswith("_run_on_") for name, _ in split.named_children()),
        engine_bytes=sum(len(engine.payload) for engine in engines.values()),
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
    )


def _ballast_bytes(asked: BenchCase, case: Case, split: GraphModule) -> int:
    """The ballast of each engine, so that all together have the size that is asked for."""
    engines = sum(name.startswith("_run_on_acc_") for name, _ in split.named_children())
    return ballast_of(asked) // max(engines, 1)
