"""Loads one release's `_exporter.py` alone, straight out of its wheel.

The wheel is read as a zip, through zipimport, and never installed. The exporter imports a few names
of its package; stand-ins give it those (`surroundings`), and nothing else of the package is loaded
but, for 2.3 to 2.5, the module with their shape analysis. Each release keeps modules of its own,
which are in `sys.modules` only while one of its functions runs (some import lazily), so that
several releases live in one process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import inspect
import sys
import types
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import define_placeholder
from harness.rig.inliners.own_export import exports_alike
from harness.rig.inliners.passes import (
    accepted,
    crossing,
    given_by,
    program_arguments,
    run_legacy_export,
    run_torch_export,
    run_transform,
)
from harness.rig.inliners.protocol import Inlining, LoadError
from harness.rig.inliners.surroundings import EXPORTER, PACKAGE, load_shape_analysis, stand_ins
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import REQUIRED_CALLS


class ReleaseInliner:
    """The inliner of one release, or of one `_exporter.py` with a release's wheel around it."""

    def __init__(self, spec: SubjectSpec) -> None:
        """Load it.

        Raises:
            LoadError: the wheel or file is not readable, does not import, or lacks a call, or the
                file is no longer the one that the subject was made of.
        """
        if spec.wheel_path is None:
            raise LoadError(f"subject {spec.subject}: no wheel to load it from")
        self._spec = spec
        self._modules = stand_ins(Path(spec.wheel_path))
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
        if self.asks_own_export and route not in self._spec.hypothetical_routes:
            result.own_export = functools.partial(
                self.own_export, split, route, example, dynamic_shapes
            )
        if route.row.crosses:
            define_placeholder()
            result.come_back = self._come_back
        given = given_by(route, example, dynamic_shapes)
        with self._installed():
            inlined = run_transform(self.exporter.transform, split, route, given, clock, result)
            if route.is_legacy or (route is Route.CROSS and not self._exports_by_torch):
                create = self.exporter.create_trt_exp_program
                offered = program_arguments(route, given)
                result.exported = run_legacy_export(create, inlined, offered, clock)
            else:
                export = result.export or run_torch_export
                result.exported = export(inlined, given, clock)
        return result.exported

    def own_export(
        self, split: GraphModule, route: Route, example: Inputs, dynamic_shapes: Any
    ) -> ExportedProgram:
        """The exporter's own `export`: `produce` is held equal to it, a release's in tests.

        A candidate's is asked in every cell, since nobody has tested it yet, unless it is its
        release's.
        """
        given = given_by(route, example, dynamic_shapes)
        with self._installed():
            offered = {
                "inputs": given.inputs.args,  # up to 2.5
                **program_arguments(route, given),  # from 2.11; the keyword inputs in 2.5 too
                "use_legacy_exporter": route.is_legacy,  # from 2.11
            }
            if route.row.crosses:
                define_placeholder()
                offered = crossing(route) | {"use_legacy_exporter": route.is_legacy}
            keywords = accepted(self.exporter.export, offered)
            program: ExportedProgram = self.exporter.export(split, **keywords)
            return program

    @functools.cached_property
    def asks_own_export(self) -> bool:
        """Whether no test holds the `export` of this file equal to what `produce` makes."""
        if not self._spec.kind.brought or self._spec.exporter_path is None:
            return self._spec.kind.brought
        assert self._spec.wheel_path is not None
        with zipfile.ZipFile(self._spec.wheel_path) as wheel:
            released = wheel.read(f"{EXPORTER.replace('.', '/')}.py").decode()
        return not exports_alike(self._checked_source(self._spec.exporter_path).decode(), released)

    @property
    def _exports_by_torch(self) -> bool:
        """Whether the release's `export` takes `torch.export.export` unless told otherwise."""
        return "use_legacy_exporter" in inspect.signature(self.exporter.export).parameters

    def _come_back(self, program: ExportedProgram) -> ExportedProgram:
        with self._installed():
            returned: ExportedProgram = self.exporter.replace_execute_engine_no_op_node(program)
            return returned

    def _load_exporter(self) -> types.ModuleType:
        if self._spec.exporter_path is not None:
            path = self._spec.exporter_path
            loader = _ReadOnce(path, self._checked_source(path))
            module_spec = importlib.util.spec_from_file_location(EXPORTER, path, loader=loader)
        else:
            module_spec = importlib.machinery.PathFinder.find_spec(
                EXPORTER, self._modules[f"{PACKAGE}.dynamo"].__path__
            )
        if module_spec is None or module_spec.loader is None:
            raise LoadError(f"subject {self.name}: no _exporter.py in {self._spec.wheel_path}")
        module = importlib.util.module_from_spec(module_spec)
        sys.modules[EXPORTER] = self._modules[EXPORTER] = module
        try:
            module_spec.loader.exec_module(module)
            if hasattr(module, "partitioning"):
                load_shape_analysis()  # now: the first cell must not be charged with it
        except Exception as error:
            where = self._spec.exporter_path or self._spec.wheel_path
            raise LoadError(
                f"subject {self.name}: {where} does not import on this torch: "
                f"{type(error).__name__}: {error}"
            ) from error
        return module

    def _checked_source(self, path: str) -> bytes:
        try:
            source = Path(path).read_bytes()
        except OSError as error:
            raise LoadError(f"subject {self.name}: {path} cannot be read: {error}") from error
        found, expected = hashlib.sha256(source).hexdigest(), self._spec.exporter_sha256
        if expected not in (None, found):
            raise LoadError(
                f"subject {self.name}: {path} was changed while the run went on (SHA-256 {found}, "
                f"at its start {expected}); leave the file alone and start a new run"
            )
        return source

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """This release's modules in `sys.modules`, whatever was there before put back after."""
        # To look through all that is imported takes longer than many a call; so only if it must be.
        saved = _take_package_modules() if PACKAGE in sys.modules else {}
        sys.modules.update(self._modules)
        loaded = len(sys.modules)
        try:
            yield
        finally:
            if len(sys.modules) == loaded:
                self._modules = {name: sys.modules.pop(name) for name in self._modules}
            else:  # some were imported meanwhile
                self._modules.update(_take_package_modules())
            sys.modules.update(saved)


class _ReadOnce(importlib.machinery.SourceFileLoader):
    """Runs the bytes that were hashed, and neither what the file holds by then nor its cache."""

    def __init__(self, path: str, source: bytes) -> None:
        super().__init__(EXPORTER, path)
        self._source = source

    def get_code(self, fullname: str) -> types.CodeType:
        return self.source_to_code(self._source, self.path)


def _take_package_modules() -> dict[str, types.ModuleType]:
    below = f"{PACKAGE}."
    names = [name for name in sys.modules if name == PACKAGE or name.startswith(below)]
    return {name: sys.modules.pop(name) for name in names}
