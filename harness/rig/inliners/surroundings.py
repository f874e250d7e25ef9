"""What stands around an exporter that is loaded alone: stand-ins for the parts it imports.

Nothing here takes part in inlining. A stand-in is a package (so that what is not listed is found
in the wheel), or gives names that an exporter, or the one module it leans on, binds at import:

    _features.ENABLED_FEATURES      asked by 2.13 and later when a program is cross-compiled
    _TorchTensorRTModule.*_IDX      the indices of an engine's slots; asked from 2.6, likewise
    _Input.Input, _defaults.DEBUG,  bound by `partitioning/common.py` of 2.3 to 2.5, for functions
    utils.*                         that build engines and that inlining never calls
    partitioning.run_shape_analysis the release's own: it is read from the wheel's `common.py`,
                                    the one module of that package which needs no TensorRT
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from torch.fx.experimental import proxy_tensor

PACKAGE = "torch_tensorrt"
EXPORTER = "torch_tensorrt.dynamo._exporter"
PARTITIONING = "torch_tensorrt.dynamo.partitioning"

# Indices of an engine's slots (core/runtime/runtime.h): the same in every release so far.
_SLOT_INDICES = {"ABI_TARGET_IDX": 0, "NAME_IDX": 1, "DEVICE_IDX": 2, "ENGINE_IDX": 3}

# torch dropped this name by 2.5; `common.py` of 2.3 and 2.4 binds it for a function that inlining
# never calls.
_OLD_NAME = "maybe_disable_fake_tensor_mode"


@dataclass(frozen=True)
class EnabledFeatures:
    """The features of a package that exporters ask for; another one is missing here."""

    torch_tensorrt_runtime: bool = True


def stand_ins(wheel: Path) -> dict[str, types.ModuleType]:
    """The stand-ins of one release, by module name, not yet in `sys.modules`.

    A package's `__path__` points into the wheel, so that an import which has no stand-in finds the
    release's own module rather than nothing.
    """
    modules: dict[str, types.ModuleType] = {}

    def add(name: str, is_package: bool = False, **attributes: Any) -> None:
        module = types.ModuleType(name)
        module.__dict__.update(attributes)
        if is_package:
            module.__path__ = [f"{wheel}/{name.replace('.', '/')}"]
        modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)

    add(PACKAGE, is_package=True)
    add(f"{PACKAGE}._features", ENABLED_FEATURES=EnabledFeatures())
    add(f"{PACKAGE}._Input", Input=type("Input", (), {"__init__": _never("Input")}))
    add(f"{PACKAGE}.dynamo", is_package=True)
    add(f"{PACKAGE}.dynamo._defaults", DEBUG=False)
    unused = ("contains_sym_int", "extract_var_range_info")
    never: dict[str, Any] = {name: _never(name) for name in unused}
    add(f"{PACKAGE}.dynamo.utils", **never)
    add(f"{PACKAGE}.dynamo.runtime", is_package=True)
    indices: dict[str, Any] = {**_SLOT_INDICES}
    add(f"{PACKAGE}.dynamo.runtime._TorchTensorRTModule", **indices)
    add(PARTITIONING, is_package=True, __getattr__=_partitioning_attribute)
    return modules


def load_shape_analysis() -> None:
    """Bind `partitioning.run_shape_analysis` of the release whose stand-ins are installed."""
    partitioning = sys.modules[PARTITIONING]
    vars(partitioning)["run_shape_analysis"] = partitioning.run_shape_analysis


def _partitioning_attribute(name: str) -> Any:
    """`__getattr__` of the stand-in package (PEP 562)."""
    if name != "run_shape_analysis":
        raise AttributeError(f"the stand-in for {PARTITIONING} has no {name}")
    with _old_name_of_torch():
        return importlib.import_module(f"{PARTITIONING}.common").run_shape_analysis


@contextmanager
def _old_name_of_torch() -> Iterator[None]:
    if hasattr(proxy_tensor, _OLD_NAME):
        yield
        return
    setattr(proxy_tensor, _OLD_NAME, _never(_OLD_NAME))
    try:
        yield
    finally:
        delattr(proxy_tensor, _OLD_NAME)


def _never(name: str) -> Callable[..., NoReturn]:
    """Something that inlining has no business to call, and that says so if it does."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{name} is a stand-in: the graph lane builds no engine")

    return refuse
