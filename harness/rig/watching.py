"""Which lines of Python run, as a trace function tells them."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any


def line_watch(
    is_meant: Callable[[str], bool], seen: Callable[[str, int], object]
) -> Callable[[FrameType, str, Any], Any]:
    """A function for `sys.settrace` that tells the lines which run, of some files alone.

    Args:
        is_meant: whether a file's lines are told, by its path.
        seen: is given the path and the number of each line of those.
    """

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        if not is_meant(frame.f_code.co_filename):
            return None
        seen(frame.f_code.co_filename, frame.f_lineno)
        return watch

    return watch
