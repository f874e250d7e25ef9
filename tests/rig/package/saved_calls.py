"""What `torch_tensorrt.save` of a real package calls its exporter with."""

from __future__ import annotations

import contextlib
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

from corpus.case import find_case
from harness.rig.clock import StageClock
from harness.rig.package.compiling import prepare_with
from harness.rig.package.saving import user_arguments
from harness.wire.routes import Route

CALLED = ("transform", "create_trt_exp_program")


def saved_calls(package: ModuleType, name: str, *routes: str) -> dict[str, Calls]:
    """By route the calls of `CALLED` and `torch.export.export`, as `calls_of` tells them."""
    exporter = package.dynamo._exporter
    functions = {each: getattr(exporter, each) for each in CALLED}
    functions["export"] = torch.export.export
    prepared = prepare_with(package, find_case(name), "nonstrict", 0, StageClock())
    found = {}
    for route in routes:
        arguments = user_arguments(prepared.captured, Route(route))
        with (
            tempfile.TemporaryDirectory() as folder,
            calls_of(functions) as seen,
            contextlib.suppress(Exception),  # whether it can be saved is another question
        ):
            package.save(prepared.split, f"{folder}/program.pt2", **arguments)
        found[route] = seen
    return found


Calls = list[list[Any]]
"""Each a function's name and its arguments by name, in words."""

MODULES = frozenset({"gm", "mod"})  # what the functions are about, and no choice of a route


@contextlib.contextmanager
def calls_of(functions: Mapping[str, Callable[..., Any]]) -> Iterator[Calls]:
    """The calls of Python functions while the block runs, filled in as they come."""
    codes: dict[CodeType, str] = {
        inspect.unwrap(function).__code__: name for name, function in functions.items()
    }
    seen: Calls = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            given = {key: told(value) for key, value in frame.f_locals.items()}
            seen.append([codes[frame.f_code], {k: v for k, v in given.items() if k not in MODULES}])

    sys.setprofile(watch)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def told(value: Any) -> str:
    """Structure, types and shapes. A list of arguments is as good as a tuple to every function."""
    if isinstance(value, GraphModule):
        return "module"
    if isinstance(value, list):
        value = tuple(value)
    return str(pytree.tree_map_only(torch.Tensor, _tensor, value))


def _tensor(value: torch.Tensor) -> str:
    return f"{value.dtype} {tuple(value.shape)} {value.stride()}"
