"""`torch_tensorrt.save` as a user calls it, with the stage inside of it that a failure belongs to.

The release's own functions are wrapped, never written again: its inliner's passes, what makes the
exported program, and `torch.export.save`.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.capture.capture import CapturedProgram, export_like_a_user
from harness.rig.cell.disk import RoundTrip, second_archive
from harness.rig.cell.prepare import PreparedCase
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import timed_passes
from harness.rig.inliners.protocol import Inlining
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

_NORMALISE = "_normalize_engine_constants_to_python"


def user_arguments(captured: CapturedProgram, route: Route) -> dict[str, Any]:
    """All that a user gives to `torch_tensorrt.save` behind the module and the file.

    Made anew for every call: what one writes to, no other is given.
    """
    given = copy.deepcopy(captured.given_to_save)
    arguments: dict[str, Any] = {
        "arg_inputs": list(given.args),
        "kwarg_inputs": dict(given.kwargs),
        **captured.keywords_of_save(route),
    }
    if (shapes := captured.shapes_given(route)) is not None:
        arguments["dynamic_shapes"] = pytree.tree_map(lambda leaf: leaf, shapes)
    return arguments


def save_like_a_user(
    package: types.ModuleType,
    prepared: PreparedCase,
    route: Route,
    archive: Path,
    clock: StageClock,
    inlining: Inlining,
    back: RoundTrip,
) -> None:
    """Save the compiled module by one of the package's routes.

    ``inlining`` and ``back`` are filled in as far as it gets.

    Raises:
        Exception: whatever the package raises; the clock's stage says where.
    """
    captured = prepared.captured
    exports = route is Route.EXPORTED
    arguments = {} if exports else user_arguments(captured, route)
    clock.enter(Stage.EXPORT)
    with _stages_told(package, clock, inlining, back):
        saved: GraphModule | ExportedProgram = prepared.split
        if exports:
            shapes = captured.shapes_given(route)
            saved = export_like_a_user(prepared.split, captured.given_to_save, shapes)
        package.save(saved, str(archive), **arguments)
    clock.leave()
    back.archive_bytes = archive.stat().st_size


@contextmanager
def _stages_told(
    package: types.ModuleType, clock: StageClock, inlining: Inlining, back: RoundTrip
) -> Iterator[None]:
    exporter, api = package.dynamo._exporter, package._compile
    transform: Any = exporter.transform
    normalise: Any = getattr(api, _NORMALISE, None)
    torch_export: Any = torch.export.export
    torch_save: Any = torch.export.save
    engines: dict[str, Any] = {}

    def told_transform(module: GraphModule, *args: Any, **kwargs: Any) -> Any:
        clock.enter(Stage.INLINE_ENGINES)
        inlined = transform(module, *args, **kwargs)
        clock.enter(Stage.EXPORT)
        inlining.keep(inlined)
        return inlined

    def told_normalise(program: ExportedProgram) -> None:
        engines.update(program.constants)
        normalise(program)

    @functools.wraps(torch_export)
    def told_export(*args: Any, **kwargs: Any) -> ExportedProgram:
        clock.enter(Stage.EXPORT)
        program: ExportedProgram = torch_export(*args, **kwargs)
        return program

    @functools.wraps(torch_save)  # the package looks at its signature
    def told_save(program: ExportedProgram, archive: Any, **kwargs: Any) -> None:
        back.exported = program
        clock.enter(Stage.SAVE)
        try:
            torch_save(program, archive, **kwargs)
            clock.leave()
            with clock.again().during(Stage.SAVE):
                torch_save(program, second_archive(Path(archive)), **kwargs)
        finally:
            # From 2.13 on engines are saved as plain data, put in their places in the very program;
            # the oracles ask about the program as it was exported.
            program.constants.update(engines)

    exporter.transform = told_transform
    torch.export.export, torch.export.save = told_export, told_save  # type: ignore[assignment]
    if normalise is not None:
        setattr(api, _NORMALISE, told_normalise)
    try:
        with timed_passes(vars(exporter), clock, inlining):
            yield
    finally:
        exporter.transform = transform
        torch.export.export, torch.export.save = torch_export, torch_save
        if normalise is not None:
            setattr(api, _NORMALISE, normalise)
