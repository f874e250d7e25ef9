"""What `torch_tensorrt.compile` makes of a module before it compiles that.

It exports the module by `dynamo.trace`, with inputs of its own making, and hands the program to
`dynamo.compile` (torch_tensorrt/_compile.py, `compile`, of 2.7.0 to 2.14.0). Where that is the
program which `torch.export` makes of the user's own inputs, whoever gives the module gets what he
gets who gives the program.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from typing import Any, Final

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram

from harness.rig.capture.capture import CapturedProgram, on_device
from harness.rig.package.compiling import compile_the_module
from harness.rig.package.executor import EMULATED_EXECUTOR, Executor

#: Whose name `dynamo_compile` is what `torch_tensorrt.compile` calls.
FRONT: Final = "torch_tensorrt._compile"


class _Traced(BaseException):
    """Ends a `compile` that has its program."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.program = program


def traces_the_same(
    package: types.ModuleType, captured: CapturedProgram, executor: Executor = EMULATED_EXECUTOR
) -> bool:
    """Whether `torch_tensorrt.compile` of the module compiles the program that was captured.

    With keyword inputs it is said not to be: these it keeps from `dynamo.compile`.

    Args:
        captured: as it was captured, since `dynamo.compile` changes a program that it is given.
    """
    if captured.example.kwargs:
        return False
    if executor.real:
        captured = on_device(captured, executor.device)
    front: Any = importlib.import_module(FRONT)
    real = front.dynamo_compile

    def caught(program: ExportedProgram, *_: Any, **__: Any) -> None:
        raise _Traced(program)

    front.dynamo_compile = caught
    try:
        compile_the_module(package, captured, executor.settings)
    except _Traced as traced:
        assert captured.exported is not None
        return list(_told(traced.program)) == list(_told(captured.exported))
    except Exception:  # noqa: BLE001 - that it raises is what its own cells tell
        return False
    finally:
        front.dynamo_compile = real
    return False


def _told(program: ExportedProgram) -> Iterator[str]:
    """All that makes one program another: its code, signature, ranges, sizes and constants."""
    yield program.graph_module.code
    yield f"{program.graph_signature} {program.range_constraints} {program.call_spec}"
    for node in program.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor):
                yield f"{node.name} {value.dtype} {value.shape} {value.stride()}"
            else:
                yield f"{node.name} {value}"
    for name, constant in program.constants.items():
        told = constant.tolist() if isinstance(constant, torch.Tensor) else type(constant)
        yield f"{name} {told}"
