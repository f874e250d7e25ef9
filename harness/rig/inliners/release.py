"""Loads one release's `_exporter.py` alone, straight out of its wheel.

The wheel is read as a zip, through zipimport, and never installed. The exporter imports a few names
of its package; stand-ins give it those, and nothing else of the package is loaded. Each release
keeps modules of its own, which are in `sys.modules` only while one of its functions runs (some
import lazily), so that several releases live in one process.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import (
    REQUIRED_CALLS,
    run_legacy_export,
    run_torch_export,
    run_transform,
)
from harness.rig.inliners.protocol import Inlining, LoadError
from harness.rig.records import Route, SubjectSpec

_PACKAGE = "torch_tensorrt"
_EXPORTER = "torch_tensorrt.dynamo._exporter"

# Indices of an engine's slots (core/runtime/runtime.h): the same in every release so far.
_SLOT_INDICES = {"ABI_TARGET_IDX": 0, "NAME_IDX": 1, "DEVICE_IDX": 2, "ENGINE_IDX": 3}


class ReleaseInliner:
    """The inliner of one release, or of one `_exporter.py` with a release's wheel around it."""

    def __init__(self, spec: SubjectSpec) -> None:
        """Load it.

        Raises:
            LoadError: the wheel or file is not readable, does not import, or lacks a call.
        """
        if spec.wheel_path is None:
            raise LoadError(f"subject {spec.subject}: no wheel to load it from")
        self._spec = spec
        self._modules = _stand_ins(Path(spec.wheel_path))
        with self._installed():
            exporter = self._load_exporter()
        missing = [name for name in REQUIRED_CALLS if not callable(getattr(exporter, name, None))]
        if missing:
            raise LoadError(f"subject {spec.subject}: its exporter lacks {', '.join(missing)}")
        self.exporter = exporter

    @property
    def name(self) -> str:
        return self._spec.subject

    def produce(
        self,
        split: GraphModule,
        route: Route,
        example: Inputs,
        dynamic_shapes: Any,
        clock: StageClock,
        result: Inlining,
    ) -> ExportedProgram:
        with self._installed():
            inlined = run_transform(self.exporter.transform, split, route, clock, result)
            if route is Route.LEGACY:
                create = self.exporter.create_trt_exp_program
                result.exported = run_legacy_export(create, inlined, example, dynamic_shapes, clock)
            else:
                result.exported = run_torch_export(inlined, example, dynamic_shapes, clock)
        return result.exported

    def own_export(
        self, split: GraphModule, route: Route, example: Inputs, dynamic_shapes: Any
    ) -> ExportedProgram:
        """The release's own `export`: what `produce` is held equal to, in tests."""
        with self._installed():
            keywords: dict[str, Any] = {}
            if "arg_inputs" in inspect.signature(self.exporter.export).parameters:  # from 2.11 on
                keywords = {
                    "arg_inputs": example.args,
                    "kwarg_inputs": dict(example.kwargs),
                    "dynamic_shapes": dynamic_shapes,
                    "use_legacy_exporter": route is Route.LEGACY,
                }
            program: ExportedProgram = self.exporter.export(split, **keywords)
            return program

    def _load_exporter(self) -> types.ModuleType:
        if self._spec.exporter_path is not None:
            path = Path(self._spec.exporter_path)
            module_spec = importlib.util.spec_from_file_location(_EXPORTER, path)
        else:
            module_spec = importlib.machinery.PathFinder.find_spec(
                _EXPORTER, self._modules[f"{_PACKAGE}.dynamo"].__path__
            )
        if module_spec is None or module_spec.loader is None:
            raise LoadError(f"subject {self.name}: no _exporter.py in {self._spec.wheel_path}")
        module = importlib.util.module_from_spec(module_spec)
        sys.modules[_EXPORTER] = self._modules[_EXPORTER] = module
        try:
            module_spec.loader.exec_module(module)
        except Exception as error:
            where = self._spec.exporter_path or self._spec.wheel_path
            raise LoadError(
                f"subject {self.name}: {where} does not import on this torch: "
                f"{type(error).__name__}: {error}"
            ) from error
        return module

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """This release's modules in `sys.modules`, whatever was there before put back after."""
        saved = _take_package_modules()
        sys.modules.update(self._modules)
        try:
            yield
        finally:
            self._modules.update(_take_package_modules())
            sys.modules.update(saved)


def _take_package_modules() -> dict[str, types.ModuleType]:
    names = [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]
    return {name: sys.modules.pop(name) for name in names}


def _stand_ins(wheel: Path) -> dict[str, types.ModuleType]:
    """Modules that stand for the parts of the package around the exporter.

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

    add(_PACKAGE, is_package=True)
    features = types.SimpleNamespace(torch_tensorrt_runtime=True)
    add(f"{_PACKAGE}._features", ENABLED_FEATURES=features)
    add(f"{_PACKAGE}.dynamo", is_package=True)
    add(f"{_PACKAGE}.dynamo.runtime", is_package=True)
    indices: dict[str, Any] = {**_SLOT_INDICES}
    add(f"{_PACKAGE}.dynamo.runtime._TorchTensorRTModule", **indices)
    return modules
