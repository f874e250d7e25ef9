"""What functions are called with, argument by argument, seen without wrapping any of them."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule

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
