"""A case made ready to be measured: captured, split and compiled, once for all workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule

from corpus.case import Case, Inputs, find_case
from harness.rig.bench.sweeps import ballast_of, sweep_case
from harness.rig.capture.capture import capture
from harness.rig.clock import StageClock
from harness.rig.engines.module import compile_engines
from harness.wire.bench_records import BenchCase
from harness.wire.vocabulary import Stage


@dataclass(frozen=True)
class Measured:
    """What every worker of a case starts from. ``seconds`` is its set-up, and no metric."""

    split: GraphModule
    example: Inputs
    dynamic_shapes: Any
    steps: int
    engine_bytes: int
    seconds: dict[str, float]


def make_ready(asked: BenchCase, seed: int) -> Measured:
    """Capture, split and compile; nothing is judged, which `harness.rig.cell.prepare` is for.

    Raises:
        Exception: whatever a stage raises.
    """
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
        dynamic_shapes=captured.program.dynamic_shapes,
        steps=sum(name.startswith("_run_on_") for name, _ in split.named_children()),
        engine_bytes=sum(len(engine.payload) for engine in engines.values()),
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
    )


def _ballast_bytes(asked: BenchCase, case: Case, split: GraphModule) -> int:
    """The ballast of each engine, so that all together have the size that is asked for."""
    engines = sum(name.startswith("_run_on_acc_") for name, _ in split.named_children())
    return ballast_of(asked) // max(engines, 1)
