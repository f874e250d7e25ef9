"""How the engines of a package run, and what that changes of a cell: where its tensors are, what
`compile` is asked for beside what the case asks, and what the values are held against.

Nothing else of a cell depends on it, so that all but CUDA itself is tested without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from harness.wire.builders import CUDA, EMULATED


@dataclass(frozen=True)
class Executor:
    """One way to run engines.

    Attributes:
        name: as cells name it.
        device: where models, inputs and engines are.
        settings: of `torch_tensorrt.dynamo.compile`.
        tolerance: relative and absolute, against eager; a case may allow more.
        forks: whether a process that has imported the package may fork.
    """

    name: str
    device: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    forks: bool = True

    @property
    def real(self) -> bool:
        return self.name == CUDA


#: Lowering computes in another order than eager: batch norm and layer norm are taken apart.
EMULATED_EXECUTOR: Final = Executor(EMULATED, "cpu", tolerance=1e-4)
#: TF32, which TensorRT takes by default, has ten bits, and would hide what a tolerance should show.
CUDA_EXECUTOR: Final = Executor(CUDA, "cuda", {"disable_tf32": True}, tolerance=1e-3, forks=False)


def executor_of(setup: Mapping[str, Any]) -> Executor:
    """The executor that a setup names, on the device that it names; the emulated one by default."""
    chosen = CUDA_EXECUTOR if setup.get("executor") == CUDA else EMULATED_EXECUTOR
    return replace(chosen, device=setup.get("device", chosen.device))
