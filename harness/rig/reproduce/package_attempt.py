"""An attempt to send a model through the whole package, as a user does; `script` copies this.

It needs the release, the TensorRT that the release names, and a GPU.
"""

from __future__ import annotations

import copy
import importlib
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

from harness.rig.reproduce.attempt import (
    CANNOT_BE_TOLD,
    Attempt,
    Check,
    conclude,
    outcome,
    track_stages,
)
from harness.rig.reproduce.engines import Call, one_by_one


def described(package: Any, calls: Sequence[Call]) -> Call:
    """The first call's tensors, each whose sizes differ between calls as an `Input`."""

    def describe(first: Any, *others: Any) -> Any:
        shapes = [tuple(each.shape) for each in (first, *others) if torch.is_tensor(each)]
        if len(set(shapes)) < 2:
            return first
        sizes = list(zip(*shapes, strict=True))
        low, high = (tuple(which(each) for each in sizes) for which in (min, max))
        return package.Input(min_shape=low, opt_shape=shapes[0], max_shape=high, dtype=first.dtype)

    found: Call = pytree.tree_map(describe, *calls)
    return found


def use_package(
    attempt: Attempt,
    package: Any,
    compiled: GraphModule,
    calls: Sequence[Call],
    given: Call,
    saving: Mapping[str, Any],
) -> None:
    """Save, load and run what was compiled.

    Args:
        given: what `save` is given, and with it ``saving``.

    Raises:
        Exception: whatever raises; ``attempt`` holds the stage and what came before.
    """
    args, kwargs = copy.deepcopy(given)
    saved: list[Any] = []
    torch_save: Any = torch.export.save
    exporter = package.dynamo._exporter
    transform = exporter.transform

    def watched_transform(*given: Any, **keywords: Any) -> GraphModule:
        inlined: GraphModule = transform(*given, **keywords)
        # A graph of its own: the legacy exporter lifts parameters in the very module.
        attempt.inlined = GraphModule(inlined, copy.deepcopy(inlined.graph))
        attempt.stage = "export"
        return inlined

    def watched_save(program: Any, *given: Any, **keywords: Any) -> None:
        attempt.stage = "save"
        saved.append(program)
        torch_save(program, *given, **keywords)

    track_stages(exporter, attempt)
    exporter.transform = watched_transform
    with tempfile.TemporaryDirectory() as folder:
        archive = str(Path(folder) / "program.pt2")
        torch.export.save = watched_save  # type: ignore[assignment]
        try:
            inputs = {"arg_inputs": list(args), "kwarg_inputs": kwargs}
            package.save(compiled, archive, **{**inputs, **saving})
        finally:
            torch.export.save = torch_save
        attempt.stage = "load"
        # This is what `torch_tensorrt.load` does; it calls every failure a file that is no program.
        attempt.reloaded, program = torch.export.load(archive), torch.export.load(archive)
    # From 2.13 on engines are saved as plain data, put in their places in the very program.
    saved[0].constants.update(attempt.reloaded.constants)
    attempt.program = saved[0]
    attempt.stage = "run"
    attempt.results = outcome(program.module(), calls)


def main(
    case: Callable[[], tuple[GraphModule, Sequence[Call], Call, Any, Any]],
    settings: Mapping[str, Any],
    saving: Mapping[str, Any] | None,
    check: Check,
) -> int:
    """Compile the model, send it to disk and back, and say whether the defect is there.

    Args:
        saving: what `save` is given beside inputs; None where nothing is saved.
    """
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    attempt = Attempt(stage="compile")
    try:
        package: Any = importlib.import_module("torch_tensorrt")
        model, *inputs, dynamic_shapes, saved_shapes = case()
        calls, given = pytree.tree_map(lambda x: x.cuda() if torch.is_tensor(x) else x, inputs)
        args, kwargs = calls[0]
        shapes = one_by_one(dynamic_shapes, calls[0])
        exported = torch.export.export(model.cuda(), args, kwargs, dynamic_shapes=shapes)
        arg_inputs, kwarg_inputs = described(package, copy.deepcopy(calls))
        attempt.eager = outcome(copy.deepcopy(model), calls)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
        print(f"cannot be told: it ended before it could be compiled: {error!r}")
        return CANNOT_BE_TOLD
    if saving and "dynamic_shapes" in saving:
        saving = {**saving, "dynamic_shapes": saved_shapes}
    compiled = model  # for a check to look at where it does not compile
    try:
        compiled = package.dynamo.compile(
            exported, arg_inputs=arg_inputs, kwarg_inputs=kwarg_inputs, **settings
        )
        outcome(copy.deepcopy(compiled), calls)  # what does not run is not compiled
        attempt.stage = "export"
        if saving is not None:
            use_package(attempt, package, compiled, calls, given, saving)
    except Exception as error:  # noqa: BLE001 - for the check to look at
        attempt.error = error
    return conclude(attempt, check, compiled, calls)
