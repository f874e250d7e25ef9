"""What a program can tell of an engine, whoever runs it: run as a program, once an executor.

    python tests/rig/engines/conformance.py SETUP

SETUP is JSON: how `open_package` opens the package, and a "device". Two models are compiled by that
package, and their engines are asked. The answers are one JSON object on the last line of stdout, a
boolean for each of `FACTS`. A process has one runtime, the emulated or the real one, so each
executor is asked in a process of its own.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from harness.rig.engines.emulated import engine_slots
from harness.rig.package.opening import open_package

RELU = "torch.ops.aten.relu.default"
LARGEST = 8  # of the dynamic engine's profile
CLOSE = 1e-3

_TYPE = "setup_input_tensors: the check of an input's type"
_SHAPE = "setup_input_tensors: setInputShape, which fails outside the profile"
_MEMORY = "create_output_tensors: at::empty(dims, options).contiguous()"
#: Each with its source, in core/runtime of pytorch/TensorRT (execute_engine.cpp but for the last).
FACTS = {
    "computes what its segment computes": "execute_engine",
    "takes what it was built for": "setup_input_tensors",
    "takes a strided input": "setup_input_tensors: inputs[i].view(shape).contiguous()",
    "refuses another type": _TYPE,
    "refuses another size": _SHAPE,
    "refuses another rank": _SHAPE,
    "refuses another number of inputs": "setup_input_tensors: the number of bindings",
    "returns contiguous memory": _MEMORY,
    "aliases nothing": f"{_MEMORY}, fresh but for declared aliased I/O",
    "takes every size of its profile": _SHAPE,
    "refuses a size above its profile": _SHAPE,
    "keeps its slots when copied": "register_jit_hooks.cpp: def_pickle",
}


class Hybrid(torch.nn.Module):
    """Two engines around a fallback; the first takes a number."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return (torch.relu(self.linear(x) * k) + 1).t()


class Resized(torch.nn.Module):
    """One engine of any number of rows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1


def asked(first: Any, last: Any, device: str = "cpu") -> dict[str, bool]:
    """What the two engines of a compiled `Hybrid` answer; of all but the last two of `FACTS`."""
    x = torch.randn(2, 4, device=device)
    k = torch.tensor(3, device=device)
    (transposed,) = _run(last, x)
    return {
        "computes what its segment computes": torch.allclose(
            transposed, (x + 1).t(), rtol=CLOSE, atol=CLOSE
        ),
        "takes what it was built for": not _refused(first, x, k),
        "takes a strided input": not _refused(first, torch.randn(4, 2, device=device).t(), k),
        "refuses another type": _refused(first, x.double(), k) and _refused(first, x, k.float()),
        "refuses another size": _refused(first, torch.randn(3, 4, device=device), k),
        "refuses another rank": _refused(first, x[0], k) and _refused(first, x, k[None]),
        "refuses another number of inputs": _refused(first, x),
        "returns contiguous memory": transposed.shape == (4, 2) and transposed.is_contiguous(),
        "aliases nothing": transposed.untyped_storage().data_ptr()
        != x.untyped_storage().data_ptr(),
        "keeps its slots when copied": engine_slots(copy.deepcopy(first)) == engine_slots(first),
    }


def asked_of_sizes(engine: Any, device: str) -> dict[str, bool]:
    """What the engine of a compiled `Resized` answers."""

    def rows(count: int) -> torch.Tensor:
        return torch.randn(count, 4, device=device)

    return {
        "takes every size of its profile": not any(
            _refused(engine, rows(count)) for count in range(1, LARGEST + 1)
        ),
        "refuses a size above its profile": _refused(engine, rows(LARGEST + 1)),
    }


def compiled_engines(
    package: ModuleType,
    model: torch.nn.Module,
    example: tuple[Any, ...],
    described: Sequence[Any] = (),
    dynamic_shapes: Any = None,
) -> list[Any]:
    """The engines of a model, in the order of its calls.

    Args:
        described: the example as the package takes it where a size is dynamic.
    """
    program = torch.export.export(model, example, dynamic_shapes=dynamic_shapes)
    compiled = package.dynamo.compile(
        program,
        arg_inputs=list(described or example),
        torch_executed_ops={RELU},
        min_block_size=1,
        disable_tf32=True,
    )
    return [each.engine for each in compiled.children() if hasattr(each, "engine")]


def _run(engine: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return torch.ops.tensorrt.execute_engine(list(inputs), engine)


def _refused(engine: Any, *inputs: torch.Tensor) -> bool:
    try:
        _run(engine, *inputs)
    except RuntimeError:
        return True
    return False


def main(setup: dict[str, Any]) -> dict[str, bool]:
    package, device = open_package(setup), setup["device"]
    torch.manual_seed(0)
    example = (torch.randn(2, 4, device=device), torch.tensor(3, device=device))
    first, *_, last = compiled_engines(package, Hybrid().eval().to(device), example)
    (resized,) = compiled_engines(
        package,
        Resized().eval(),
        (torch.randn(4, 4, device=device),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=LARGEST)},),
        described=[
            package.Input(min_shape=(1, 4), opt_shape=(4, 4), max_shape=(LARGEST, 4)),
        ],
    )
    return {**asked(first, last, device), **asked_of_sizes(resized, device)}


if __name__ == "__main__":
    answers = main(json.loads(sys.argv[1]))
    print("\n" + json.dumps(answers))
