"""Models that `torch.compile` is given with a release's backend, with faults planted in it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from corpus.case import Case, find_case
from harness.rig.clock import StageClock
from harness.rig.package.compiling import captured_beside_eager
from harness.rig.package.executor import EMULATED_EXECUTOR
from harness.rig.package.torch_compile import run_torch_compile_cell
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route
from tests.rig.package.asked_cases import made, told

RELEASE = "2.14.0"


class Otherwise(torch.nn.Module):
    """Computes something else while torch traces it, whatever the backend is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + (1 if torch.compiler.is_dynamo_compiling() else 0)


def add_one(backends: Any) -> None:
    """A backend whose modules add one to what they should return."""
    compile_module = backends.compile_module

    def plus_one(*args: Any, **named: Any) -> torch.nn.Module:
        compiled: torch.nn.Module = compile_module(*args, **named)
        compiled.register_forward_hook(lambda _, __, returned: [each + 1 for each in returned])
        return compiled

    backends.compile_module = plus_one


def raising(error: Exception) -> Callable[[Any], None]:
    """A backend that ends by an error: a RuntimeError it catches, and goes on with PyTorch."""

    def raises(*_: Any, **__: Any) -> None:
        raise error

    def plant(backends: Any) -> None:
        backends.compile_module = raises

    return plant


def make_no_engine(backends: Any) -> None:
    """A backend that partitions nothing, and says nothing of it."""
    backends.compile_module = lambda lowered, *_, **__: lowered


FAULTS: dict[str, Callable[[Any], None]] = {
    "none": lambda backends: None,
    "add_one": add_one,
    "refuse": raising(RuntimeError("no converter for what is here")),
    "make_no_engine": make_no_engine,
    "raise_a_value_error": raising(ValueError("cannot view what is here")),
}


def torch_compiled(package: ModuleType, name: str, fault: str = "none") -> dict[str, Any]:
    """The state, the reason and what failed of one cell."""
    from torch_tensorrt.dynamo.backend import backends

    case = made(name, Otherwise, "aten.relu.default") if name == "otherwise" else find_case(name)
    FAULTS[fault](backends)
    return told(_asked(package, case))


def _asked(package: ModuleType, case: Case) -> CellRecord:
    key = CellKey(case.name, "nonstrict", RELEASE, Route.TORCH_COMPILE, Lane.PACKAGE)
    clock = StageClock()
    how = package, case, "nonstrict", 0, clock, EMULATED_EXECUTOR
    captured, eager = captured_beside_eager(*how)
    asked = captured, eager, key, clock, EMULATED_EXECUTOR
    return run_torch_compile_cell(*asked, engines=True)
