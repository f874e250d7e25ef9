"""How the engines of a package run, and what that changes of a cell: where its tensors are, what
`compile` is asked for beside what the case asks, and what the values are held against.

Nothing else of a cell depends on it, so that all but CUDA itself is tested without a GPU.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from harness.rig.capture.capture import CannotAsk
from harness.wire.builders import CUDA, EMULATED
from harness.wire.vocabulary import NOT_EMULATED


@dataclass(frozen=True)
class Executor:
    """One way to run engines.

    Attributes:
        name: as cells name it.
        device: where models, inputs and engines are.
        settings: of `torch_tensorrt.dynamo.compile`.
        tolerance: relative and absolute, against eager; a case may allow more.
        forks: whether a process that has imported the package may fork.
        kernels_vary: whether an engine of sizes that vary may take other kernels from call to call.
    """

    name: str
    device: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    forks: bool = True
    kernels_vary: bool = False

    @property
    def real(self) -> bool:
        return self.name == CUDA


#: Lowering computes in another order than eager: batch norm and layer norm are taken apart.
EMULATED_EXECUTOR: Final = Executor(EMULATED, "cpu", tolerance=1e-4)
#: TF32, which TensorRT takes by default, has ten bits, and would hide what a tolerance should show.
CUDA_EXECUTOR: Final = Executor(CUDA, "cuda", {"disable_tf32": True}, tolerance=1e-3, forks=False)
#: TensorRT-RTX 1.4 returned 0.0866 for 0.0853 on an H200, and 149.3 for 149.8, as TF32 would, and
#: was asked not to take that. It makes kernels for a size beside the calls, and runs those for any
#: size until then.
RTX_EXECUTOR: Final = replace(CUDA_EXECUTOR, tolerance=5e-3, kernels_vary=True)


def executor_of(setup: Mapping[str, Any], *, rtx: bool = False) -> Executor:
    """The executor that a setup names, on the device that it names; the emulated one by default.

    Args:
        rtx: whether the package runs on TensorRT-RTX.
    """
    real = RTX_EXECUTOR if rtx else CUDA_EXECUTOR
    chosen = real if setup.get("executor") == CUDA else EMULATED_EXECUTOR
    return replace(chosen, device=setup.get("device", chosen.device))


_REFIT: Final = "what was built is refitted with weights, and an emulated engine has no refitter"
#: What is lacking, by setting. A setting that is false asks for nothing.
LACKING: Final[Mapping[str, str]] = {
    "cache_built_engines": "an engine is stripped of its weights by TensorRT before it is kept",
    "reuse_cached_engines": _REFIT,
    "refit_identical_engine_weights": _REFIT,
    "strip_engine_weights": _REFIT,
    "enable_weight_streaming": "weights are streamed into an engine that TensorRT deserialized",
    "use_python_runtime": "the Python runtime runs engines that TensorRT deserialized",
}


def require_askable(package: types.ModuleType, settings: Mapping[str, Any]) -> None:
    """See that emulated engines can answer for all settings of a case.

    Some settings need an engine that TensorRT deserializes, refits or streams weights into. They
    would fail in the stand-ins, which is no verdict on a release.

    Raises:
        CannotAsk: one of them reaches what they lack; with its name and what that is.
    """
    for name, why in LACKING.items():
        if settings.get(name) and not _without_effect(package, name):
            raise CannotAsk(f"{name} {NOT_EMULATED}: {why}")


@contextmanager
def refits_refused(package: types.ModuleType) -> Iterator[None]:
    """Within, refitting a compiled module raises that emulated engines cannot be asked for it.

    Raises:
        CannotAsk: out of `torch_tensorrt.dynamo.refit_module_weights`.
    """

    def refuse(*_: object, **__: object) -> NoReturn:
        raise CannotAsk(f"refit_module_weights {NOT_EMULATED}: {_REFIT}")

    refit = package.dynamo.refit_module_weights
    package.dynamo.refit_module_weights = refuse
    try:
        yield
    finally:
        package.dynamo.refit_module_weights = refit


def _without_effect(package: types.ModuleType, name: str) -> bool:
    """From 2.13 on there is one runtime; asking for the Python one has no effect but a warning."""
    return name == "use_python_runtime" and not hasattr(
        package.dynamo.runtime, "PythonTorchTensorRTModule"
    )
