"""Running an inliner's three functions with a stage for each.

A release's own functions are called, never written again; they are timed by wrapping the names
that its `transform` looks up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining
from harness.rig.records import Route, Stage

REQUIRED_CALLS = (
    "transform",
    "inline_trt_modules",
    "inline_torch_modules",
    "create_trt_exp_program",
)


@contextmanager
def timed_passes(namespace: dict[str, Any], clock: StageClock, result: Inlining) -> Iterator[None]:
    """Wrap the two passes in ``namespace`` so that they enter their stages.

    Before the engine pass a release copies the module; that belongs to `inline-engines`, and what
    follows the fallback pass to `clean`.
    """
    engines: Callable[..., Any] = namespace["inline_trt_modules"]
    fallbacks: Callable[..., Any] = namespace["inline_torch_modules"]

    def timed_engines(gm: GraphModule, *args: Any, **kwargs: Any) -> Any:
        clock.enter(Stage.INLINE_ENGINES)
        result.inlined = gm
        returned = engines(gm, *args, **kwargs)
        clock.enter(Stage.INLINE_FALLBACKS)
        return returned

    def timed_fallbacks(gm: GraphModule, *args: Any, **kwargs: Any) -> Any:
        clock.enter(Stage.INLINE_FALLBACKS)
        result.inlined = gm
        returned = fallbacks(gm, *args, **kwargs)
        clock.enter(Stage.CLEAN)
        return returned

    namespace["inline_trt_modules"] = timed_engines
    namespace["inline_torch_modules"] = timed_fallbacks
    try:
        yield
    finally:
        namespace["inline_trt_modules"] = engines
        namespace["inline_torch_modules"] = fallbacks


def run_transform(
    transform: FunctionType, split: GraphModule, route: Route, clock: StageClock, result: Inlining
) -> GraphModule:
    """Call `transform` with the arguments that this route gives it.

    From 2.14 `transform` takes ``expose_aliased_mutations``, and the release's own `export` passes
    `bool(use_legacy_exporter)`: its two routes transform differently.
    """
    keywords: dict[str, Any] = {}
    if "expose_aliased_mutations" in inspect.signature(transform).parameters:
        keywords["expose_aliased_mutations"] = route is Route.LEGACY
    clock.enter(Stage.INLINE_ENGINES)
    with timed_passes(transform.__globals__, clock, result):
        inlined: GraphModule = transform(split, **keywords)
    clock.leave()
    result.keep(inlined)
    return inlined


def run_legacy_export(
    create: FunctionType,
    inlined: GraphModule,
    example: Inputs,
    dynamic_shapes: Any,
    clock: StageClock,
) -> ExportedProgram:
    """Call `create_trt_exp_program`; up to 2.10 it takes the module alone."""
    keywords: dict[str, Any] = {}
    if "arg_inputs" in inspect.signature(create).parameters:
        keywords = {
            "arg_inputs": example.args,
            "kwarg_inputs": dict(example.kwargs),
            "dynamic_shapes": dynamic_shapes,
        }
    with clock.during(Stage.EXPORT):
        program: ExportedProgram = create(inlined, **keywords)
    return program


def run_torch_export(
    module: torch.nn.Module, example: Inputs, dynamic_shapes: Any, clock: StageClock
) -> ExportedProgram:
    """`torch.export.export` as the releases' `export` calls it."""
    with clock.during(Stage.EXPORT):
        return torch.export.export(
            module, args=example.args, kwargs=dict(example.kwargs), dynamic_shapes=dynamic_shapes
        )
