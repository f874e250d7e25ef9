"""Settings of `compile` that emulated engines cannot be asked for, each with the reason.

They need an engine that TensorRT deserializes, refits or streams weights into. They would fail in
the stand-ins, which is no verdict on a release. With the real runtime all of them can be asked for.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from harness.rig.capture.capture import CannotAsk

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

    Raises:
        CannotAsk: one of them reaches what they lack; with its name and what that is.
    """
    for name, why in LACKING.items():
        if settings.get(name) and not _without_effect(package, name):
            raise CannotAsk(f"{name} cannot be asked of emulated engines: {why}")


@contextmanager
def refits_refused(package: types.ModuleType) -> Iterator[None]:
    """Within, refitting a compiled module raises that emulated engines cannot be asked for it.

    Raises:
        CannotAsk: out of `torch_tensorrt.dynamo.refit_module_weights`.
    """

    def refuse(*_: object, **__: object) -> NoReturn:
        raise CannotAsk(f"refit_module_weights cannot be asked of emulated engines: {_REFIT}")

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
