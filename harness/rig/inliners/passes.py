"""Running an inliner's three functions with a stage for each.

A release's own functions are called, never written again; they are timed by wrapping the names
that its `transform` looks up.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Given, Inlining
from harness.wire.routes import Route
from harness.wire.vocabulary import CROSS_ARGUMENTS, Stage


@contextmanager
def timed_passes(namespace: dict[str, Any], clock: StageClock, result: Inlining) -> Iterator[None]:
    """Wrap the two passes in ``namespace`` so that they enter their stages.

    Before the engine pass a release copies the module, and up to 2.5 runs it for its shapes, once
    for every child; that belongs to `inline-engines`, and what follows the fallback pass to
    `clean`.
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


def accepted(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """The offered arguments that a function takes: releases differ in little else."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in parameters}


def given_by(route: Route, example: Inputs, dynamic_shapes: Any) -> Given:
    """What reaches the exporter by a route, all of it made anew for one subject.

    Source: `save` in torch_tensorrt/_compile.py and `export` in dynamo/_exporter.py of 2.3.0 to
    2.14.0. `save(retrace=False)`, which is the legacy route, is given inputs or not, and no shapes
    (`CapturedProgram.shapes_given`): an exporter then finds their bounds in the shape environment.
    Every release's `save_cross_compiled_exported_program` gives the module alone. A release that
    runs the model on its inputs, as 2.3 to 2.5 do, runs it on a copy that nobody else is given.
    """
    inputs = copy.deepcopy(example) if route.row.gives_inputs else Inputs(())
    return Given(inputs, pytree.tree_map(lambda leaf: leaf, dynamic_shapes))


def passes_arguments(route: Route, given: Given) -> dict[str, Any]:
    """What `transform` is offered.

    Up to 2.5 it takes ``inputs`` to run its shape analysis on, and in 2.5 ``kwarg_inputs`` too; 2.3
    and 2.4 have no way to be given a keyword. From 2.14 it takes ``expose_aliased_mutations``, and
    the release's own `export` passes `bool(use_legacy_exporter)`: its two exporters transform
    differently. To cross-compile, from 2.6 on, is called a flag there and a module from 2.7 on.
    """
    return {
        "inputs": given.inputs.args,
        "kwarg_inputs": dict(given.inputs.kwargs),
        "expose_aliased_mutations": route.is_legacy,
        **crossing(route),
    }


def program_arguments(route: Route, given: Given) -> dict[str, Any]:
    """What `create_trt_exp_program` is offered; up to 2.10 it takes the module alone.

    Who cross-compiles gives `export` the module alone, and `save` gives no inputs as empty ones.
    """
    if route.row.crosses:
        return {}
    return {
        "arg_inputs": given.inputs.args,
        "kwarg_inputs": dict(given.inputs.kwargs),
        "dynamic_shapes": given.dynamic_shapes,
    }


def export_arguments(given: Given) -> dict[str, Any]:
    """What `torch.export.export` is given."""
    return {
        "args": given.inputs.args,
        "kwargs": dict(given.inputs.kwargs),
        "dynamic_shapes": given.dynamic_shapes,
    }


def crossing(route: Route) -> dict[str, bool]:
    """The argument that asks for a program of another platform, under both of its names."""
    return dict.fromkeys(CROSS_ARGUMENTS, route.row.crosses)


def run_transform(
    transform: FunctionType,
    split: GraphModule,
    route: Route,
    given: Given,
    clock: StageClock,
    result: Inlining,
) -> GraphModule:
    """Call `transform` with the arguments that this release and route give it."""
    keywords = accepted(transform, passes_arguments(route, given))
    result.arguments = _told_apart(keywords)
    if taken := result.taken:
        clock.enter(Stage.INLINE_ENGINES)
        clock.leave()
        clock.credit(taken.seconds)
        result.keep(taken.module)
        return taken.module
    clock.enter(Stage.INLINE_ENGINES)
    with timed_passes(transform.__globals__, clock, result):
        inlined: GraphModule = transform(split, **keywords)
    clock.leave()
    result.keep(inlined)
    return inlined


def _told_apart(keywords: Mapping[str, Any]) -> str:
    """What tells two calls of `transform` with a case's split from each other.

    Of its inputs it is how many are given, since a case has but one example.
    """
    inputs = len(keywords.get("inputs", ())), sorted(keywords.get("kwarg_inputs", ()))
    flags = sorted((name, value) for name, value in keywords.items() if isinstance(value, bool))
    return f"{inputs} {flags}"


def run_legacy_export(
    create: FunctionType,
    inlined: GraphModule,
    offered: Mapping[str, Any],
    clock: StageClock,
) -> ExportedProgram:
    """Call `create_trt_exp_program` with those of the arguments that this release takes."""
    keywords = accepted(create, offered)
    with clock.during(Stage.EXPORT):
        program: ExportedProgram = create(inlined, **keywords)
    return program


def run_torch_export(module: torch.nn.Module, given: Given, clock: StageClock) -> ExportedProgram:
    """`torch.export.export` as the releases' `export` calls it."""
    with clock.during(Stage.EXPORT):
        return torch.export.export(module, **export_arguments(given))
