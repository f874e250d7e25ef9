"""The op that stands for an engine in a program of another platform.

`transform(cross_compile_module=True)` writes an engine's slots into the call itself, and
`replace_execute_engine_no_op_node` makes the engine of them when the program has been loaded where
it is to run. The op is the package's own (`register_meta_ops.py`; `runtime/_utils.py` in 2.6), and
has no kernel there either. Here it takes the emulated engine's slots, all of them text, as up to
2.12: from 2.13 on it declares the engine's bytes as a tensor, which the text that `transform` gives
it is not. No program of these releases comes so far, see the register.
"""

from __future__ import annotations

from typing import Any

import torch

NAME = "no_op_placeholder_for_execute_engine"

_libraries: list[torch.library.Library] = []


def define_placeholder() -> None:
    """Register the op, once a process, for as many slots as the emulated engine has."""
    if _libraries:
        return
    slots = ", ".join(f"str slot_{at}" for at in range(torch.ops.tensorrt.SERIALIZATION_LEN()))
    library = torch.library.Library("tensorrt", "FRAGMENT")
    library.define(f"{NAME}(Tensor[] inputs, {slots}) -> Tensor[]")
    _libraries.append(library)


def is_placeholder(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target.name() == f"tensorrt::{NAME}"
