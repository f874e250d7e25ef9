"""Whose code an exception went through: ours, upstream's or torch's."""

from __future__ import annotations

import traceback
from types import FrameType
from typing import Final

OURS: Final = "harness"
UPSTREAM: Final = "torch_tensorrt"
TORCH: Final = "torch"


def frames_of(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames that an exception went through, outermost first, each with its line."""
    return list(traceback.walk_tb(error.__traceback__))


def package_of(frame: FrameType) -> str:
    """The top-level package of the module that a frame's code is of, whatever file it is in."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
