"""A case compiled by the real `torch_tensorrt.dynamo.compile` of one release."""

from __future__ import annotations

import copy
import operator
import types
from collections.abc import Iterable
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

from corpus.case import Case, Inputs
from harness.rig.capture import CapturedProgram, capture
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import engine_payload
from harness.rig.engines.module import is_engine_child
from harness.rig.oracles.values import observe
from harness.rig.prepare import NotPrepared, PreparedCase, hold
from harness.rig.records import Stage


def prepare_with(
    package: types.ModuleType, case: Case, mode: str, seed: int, clock: StageClock
) -> PreparedCase:
    """Capture a case and have the package lower, split and compile it.

    Raises:
        NotPrepared: a stage raised; with the exception and the stage.
    """
    stage = Stage.CAPTURE
    try:
        with clock.during(stage):
            captured = capture(case, mode, seed)
        # Before compilation, which may do what it likes with the model's weights.
        eager = observe(copy.deepcopy(captured.eager), captured.calls)
        stage = Stage.COMPILE
        with clock.during(stage):
            compiled = compile_like_a_user(package, captured)
        return hold(captured, compiled, eager, engine_bytes_of(compiled))
    except Exception as error:
        raise NotPrepared(error, stage) from error


def compile_like_a_user(package: types.ModuleType, captured: CapturedProgram) -> GraphModule:
    """`torch_tensorrt.dynamo.compile` with the ops that the case sends to PyTorch."""
    case, inputs = captured.case, described_inputs(package, captured)
    settings: dict[str, Any] = {
        "torch_executed_ops": set(overloads(case.fallback)),
        "min_block_size": case.min_block_size,
        **dict(case.settings),
    }
    compiled: GraphModule = package.dynamo.compile(
        captured.exported,
        arg_inputs=inputs.args,
        kwarg_inputs=dict(inputs.kwargs),
        **settings,
    )
    return compiled


def described_inputs(package: types.ModuleType, captured: CapturedProgram) -> Inputs:
    """The example's tensors, each whose sizes may vary as an `Input` with its range."""
    bounds = captured.program.bounds
    if bounds is None:
        return captured.example
    smallest, largest = (
        captured.program.inputs(torch.Generator().manual_seed(captured.case.seed), size)
        for size in bounds
    )

    def describe(example: Any, low: Any, high: Any) -> Any:
        if not isinstance(example, torch.Tensor) or low.shape == high.shape:
            return example
        return package.Input(
            min_shape=tuple(low.shape),
            opt_shape=tuple(example.shape),
            max_shape=tuple(high.shape),
            dtype=example.dtype,
        )

    described = pytree.tree_map(describe, *map(_as_pair, (captured.example, smallest, largest)))
    return Inputs(*described)


def overloads(names: Iterable[str]) -> Iterable[Any]:
    """The ops of these names, such as `aten.relu.default` or `_operator.getitem`."""
    for name in names:
        if name.startswith("_operator."):
            yield getattr(operator, name.removeprefix("_operator."))
        else:
            namespace, op, overload = name.split(".")
            yield getattr(getattr(getattr(torch.ops, namespace), op), overload)


def engine_bytes_of(compiled: torch.nn.Module) -> int:
    """The size of all engines of a compiled module, in bytes."""
    children = [module for module in compiled.modules() if is_engine_child(module)]
    return sum(len(engine_payload(child.engine)) for child in children)


def _as_pair(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return inputs.args, dict(inputs.kwargs)
