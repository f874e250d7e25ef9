"""What a worker of the package lane does: `torch_tensorrt.save` and `load` as a user calls them.

Nothing is wrapped and nothing is judged; whether a program is right is asked by a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch.fx import GraphModule

from corpus.case import find_case
from harness.rig.bench.measuring import TimedCalls, drop_from_cache
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.clock import StageClock
from harness.rig.package.compiling import compile_like_a_user, engine_bytes_of
from harness.rig.package.saving import user_arguments
from harness.wire.bench_records import Arm, UserMetric
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage


@dataclass(frozen=True)
class Compiled:
    """What every worker of a case starts from. ``seconds`` is its set-up, and no metric."""

    captured: CapturedProgram
    module: GraphModule
    steps: int
    engine_bytes: int
    seconds: dict[str, float]


def compiled_case(package: ModuleType, name: str, seed: int) -> Compiled:
    """Capture a case and have the package compile it."""
    case = find_case(name)
    clock = StageClock()
    with clock.during(Stage.CAPTURE):
        captured = capture(case, case.capture or "nonstrict", seed)
    with clock.during(Stage.COMPILE):
        module = compile_like_a_user(package, captured)
    return Compiled(
        captured=captured,
        module=module,
        steps=sum(name.startswith("_run_on_") for name, _ in module.named_children()),
        engine_bytes=engine_bytes_of(module)[0],
        seconds={stage.value: seconds for stage, seconds in clock.seconds.items()},
    )


class UserWorker(TimedCalls):
    """Measures one arm of the package lane."""

    def __init__(
        self,
        package: ModuleType,
        compiled: Compiled,
        arm: Arm,
        passes: Sequence[str],
        folder: Path,
    ) -> None:
        super().__init__(arm)
        self._package = package
        self._module = compiled.module
        self._arguments = user_arguments(compiled.captured, Route(arm.route))
        self._passes = frozenset(passes)
        self._archive = folder / "program.pt2"

    def _call(self) -> None:
        if "user-save" in self._passes:
            self._timed(UserMetric.SAVE, self._save)
        elif not self._archive.exists():
            self._save()
        if "user-load" in self._passes:
            drop_from_cache(self._archive)
            self._timed(UserMetric.LOAD_COLD, self._load)
            self._timed(UserMetric.LOAD_WARM, self._load)

    def _save(self) -> None:
        self._package.save(self._module, str(self._archive), **self._arguments)

    def _load(self) -> Any:
        return self._package.load(str(self._archive))
