"""A case compiled by the real `torch_tensorrt.dynamo.compile` of one release."""

from __future__ import annotations

import copy
import dataclasses
import types
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

from corpus.case import Case, Inputs, is_from_elsewhere
from corpus.op_names import GETITEM
from harness.rig.capture.capture import CapturedProgram, capture, on_device
from harness.rig.cell.prepare import NotPrepared, PreparedCase, hold
from harness.rig.cell.warned import recorded_warnings
from harness.rig.clock import StageClock
from harness.rig.engines.builder import real_engine_bytes
from harness.rig.engines.emulated import engine_payload
from harness.rig.engines.module import is_engine_child
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed, differences
from harness.rig.package.compile_hooks import ExportedOtherwise, fallbacks_required, timed_parts
from harness.rig.package.executor import (
    EMULATED_EXECUTOR,
    Executor,
    refits_refused,
    require_askable,
)
from harness.wire.oracles import PACKING
from harness.wire.vocabulary import Stage


def prepare_with(
    package: types.ModuleType,
    case: Case,
    mode: str,
    seed: int,
    clock: StageClock,
    executor: Executor = EMULATED_EXECUTOR,
) -> PreparedCase:
    """Capture a case and have the package lower, split and compile it.

    Raises:
        NotPrepared: a stage raised; with the exception and the stage.
    """
    stage = Stage.CAPTURE
    try:
        captured, eager = captured_beside_eager(package, case, mode, seed, clock, executor)
        stage = Stage.COMPILE
        with clock.during(stage), timed_parts() as parts, recorded_warnings() as told:
            compiled = compile_like_a_user(package, captured, executor.settings)
            compiled = after_compile(package, captured, compiled, executor)
        clock.credit(parts)
        engine_bytes, carried_bytes = engine_bytes_of(compiled)
        prepared = hold(
            captured,
            compiled,
            eager,
            engine_bytes,
            ask_twice=executor.real,
            kernels_vary=executor.kernels_vary,
        )
        if prepared.against_eager and is_from_elsewhere(case):
            _require_exported_right(capture(captured.case, mode, seed), eager)
        prepared.carried_bytes = carried_bytes
        prepared.warnings = tuple(told)
        return prepared
    except Exception as error:
        raise NotPrepared(error, stage) from error


def captured_beside_eager(
    package: types.ModuleType,
    case: Case,
    mode: str,
    seed: int,
    clock: StageClock,
    executor: Executor = EMULATED_EXECUTOR,
) -> tuple[CapturedProgram, Observed]:
    """A case captured where its engines run, and what its model does by itself.

    The model that is captured shares no tensor with the program that was exported of it.

    The eager model stays on the CPU: there no TF32 and no other GPU's kernels are in its numbers.

    Raises:
        CannotAsk: emulated engines have no answer for a setting of the case.
        Exception: the case is not to be captured.
    """
    if not executor.real:
        require_askable(package, dict(case.settings))
    tolerance = max(case.eager_tolerance, executor.tolerance)
    with clock.during(Stage.CAPTURE):
        captured = capture(dataclasses.replace(case, eager_tolerance=tolerance), mode, seed)
    # Before compilation, which may do what it likes with the tensors that the program holds.
    model = copy.deepcopy(captured.eager)
    eager = observe(copy.deepcopy(model), captured.calls)
    captured = dataclasses.replace(captured, eager=model)
    return on_device(captured, executor.device) if executor.real else captured, eager


def _require_exported_right(captured: CapturedProgram, eager: Observed) -> None:
    """Raise ExportedOtherwise where the program is wrong before any release has touched it.

    A model may do something else while it is exported, as those do that ask
    `torch.compiler.is_exporting()`, or keep what no program keeps.
    """
    case, exported = captured.case, captured.exported
    assert exported is not None
    try:
        got = observe(exported.module(), captured.calls)
    except Exception:  # noqa: BLE001 - a program that refuses a call is judged by its own findings
        return
    found = [
        each for each in differences(eager, got, case.eager_tolerance) if each.kind not in PACKING
    ]
    if found:
        raise ExportedOtherwise(
            f"{case.name}: what torch.export.export makes of the model computes something else "
            f"than the model, before any release sees it: {found[0].kind}: {found[0].detail}; "
            "mend what the model does otherwise while it is exported, or what it keeps from call "
            "to call outside of its buffers"
        )


def compile_like_a_user(
    package: types.ModuleType,
    captured: CapturedProgram,
    more: Mapping[str, Any] = EMULATED_EXECUTOR.settings,
) -> GraphModule:
    """`torch_tensorrt.dynamo.compile` with the ops that the case sends to PyTorch.

    Of a case whose user gives the module itself it is `torch_tensorrt.compile`, which exports that
    with inputs of its own making.

    Args:
        more: settings beside those that the case names.

    Raises:
        NothingFallsBack: the release partitions a graph that has not the ops which the case names.
        Exception: whatever the package raises.
    """
    case = captured.case
    assert captured.exported is not None
    # Settings of the case may send other ops to PyTorch than it names.
    named = () if "torch_executed_ops" in dict(case.settings) else named_by_a_user(captured)
    with fallbacks_required(case.name, named, captured.exported.graph, captured.unnamed):
        if case.module_given:
            return compile_the_module(package, captured, more)
        compiled: GraphModule = package.dynamo.compile(
            captured.exported, **_given(package, captured, more)
        )
    return compiled


def compile_the_module(
    package: types.ModuleType, captured: CapturedProgram, more: Mapping[str, Any]
) -> GraphModule:
    """`torch_tensorrt.compile` of the module itself.

    Args, raises: as `compile_like_a_user`.
    """
    model = copy.deepcopy(captured.eager).to(captured.device)
    compiled: GraphModule = package.compile(model, ir="dynamo", **_given(package, captured, more))
    return compiled


def _given(
    package: types.ModuleType, captured: CapturedProgram, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Inputs and settings, as `compile` takes them."""
    inputs = described_inputs(package, captured)
    return {
        "arg_inputs": inputs.args,
        "kwarg_inputs": dict(inputs.kwargs),
        **more,
        **settings_of(captured),
    }


def settings_of(captured: CapturedProgram) -> dict[str, Any]:
    """The settings that a case's user gives to `compile`, in their order."""
    case = captured.case
    return {
        # As text: up to 2.7 an op itself, which this torch does not pickle, cannot be in settings.
        "torch_executed_ops": {op_as_text(name) for name in named_by_a_user(captured)},
        "min_block_size": case.min_block_size,
        **copy.deepcopy(dict(case.settings)),
    }


def after_compile(
    package: types.ModuleType,
    captured: CapturedProgram,
    compiled: GraphModule,
    executor: Executor = EMULATED_EXECUTOR,
) -> GraphModule:
    """The compiled module as the case's user leaves it before saving it."""
    change = captured.program.after_compile
    if change is None:
        return compiled
    with nullcontext() if executor.real else refits_refused(package):
        return change(compiled, copy.deepcopy(captured.example))


def described_inputs(package: types.ModuleType, captured: CapturedProgram) -> Inputs:
    """The example's tensors, each whose sizes may vary as an `Input` with its range.

    They are the compiler's own: a release may run a model on them that writes to its inputs.
    """
    bounds, example = captured.program.bounds, copy.deepcopy(captured.example)
    if bounds is None:
        return example
    smallest, largest = (
        captured.program.inputs(torch.Generator().manual_seed(captured.case.seed), size)
        for size in bounds
    )

    def describe(example: Any, low: Any, high: Any, sizes: Any = None) -> Any:
        if not isinstance(example, torch.Tensor) or low.shape == high.shape:
            return example
        named = {place: size.__name__ for place, size in (sizes or {}).items()}
        return package.Input(
            min_shape=tuple(low.shape),
            opt_shape=tuple(example.shape),
            max_shape=tuple(high.shape),
            dtype=example.dtype,
            **({"shared_dims": named} if named else {}),  # of which releases before 2.13 read none
        )

    named = [_sizes_of(captured, example)] if captured.program.names_sizes else []
    described = pytree.tree_map(describe, *map(_as_pair, (example, smallest, largest)), *named)
    return Inputs(*described)


def _sizes_of(captured: CapturedProgram, example: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The dynamic shapes of a program, arranged as its inputs are."""
    shapes, places = captured.shapes_by_place, len(example.args)
    return tuple(shapes[:places]), dict(zip(example.kwargs, shapes[places:], strict=True))


def named_by_a_user(captured: CapturedProgram) -> tuple[str, ...]:
    """The ops that a user names in `torch_executed_ops` for what a case sends to PyTorch.

    The graph lane's splitter has to be told that a tuple's getitems fall back with it. A release
    lets them, and who names getitem there takes the elements of every engine's tuples away from it.
    What is made of an op in lowering falls back by its own name alone, as in the product.
    """
    left_out = {GETITEM, *captured.unnamed}
    return tuple(name for name in captured.case.fallback if name not in left_out)


def op_as_text(name: str) -> str:
    """An op of a case, such as `aten.relu.default` or `_operator.getitem`, as a user writes it."""
    return name if name.startswith("_operator.") else f"torch.ops.{name}"


def engine_bytes_of(compiled: torch.nn.Module) -> tuple[int, int]:
    """The size of all engines of a compiled module, and of what is carried behind them, in bytes.

    Where a segment is all that there is, it is the engine.
    """
    children = [module for module in compiled.modules() if is_engine_child(module)]
    payloads = [engine_payload(child.engine) for child in children]
    whole = sum(map(len, payloads))
    real = sum(len(real_engine_bytes(payload)) for payload in payloads)
    return (real, whole - real) if real else (whole, 0)


def _as_pair(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return inputs.args, dict(inputs.kwargs)
