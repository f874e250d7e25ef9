"""Engines watched while a program runs, whatever executes them: counted, and tampered with.

A program whose engines never ran, or which returns the same whatever they return, proves nothing by
its values. The watch is a dispatch mode, so that it sees the real runtime's op as it sees the
emulated one's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class WatchedEngines(TorchDispatchMode):
    """Counts the engines that run, in ``runs``; those in a branch of a `cond` count with it.

    Args:
        tampered: let every engine return something else than it should.
    """

    supports_higher_order_operators = True

    def __init__(self, *, tampered: bool = False) -> None:
        super().__init__()
        self.runs = 0
        self._tampered = tampered

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        if func is not torch.ops.tensorrt.execute_engine.default:
            return returned
        self.runs += 1
        return [_something_else(output) for output in returned] if self._tampered else returned


def _something_else(output: torch.Tensor) -> torch.Tensor:
    """Another tensor of the same kind; not shifted evenly, which a softmax would undo."""
    if output.dtype is torch.bool:
        return ~output
    ramp = torch.linspace(1.0, 3.0, output.numel(), device=output.device)
    return output + ramp.reshape(output.shape).to(output.dtype)
