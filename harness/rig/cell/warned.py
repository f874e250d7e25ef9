"""Records a release's log lines and warnings while it compiles, saves and loads."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

PACKAGE: Final = "torch_tensorrt"
MOST: Final = 20  # warnings kept per cell
MAX_TEXT: Final = 300  # characters kept per warning
_UNSTEADY = re.compile(r"0x[0-9a-fA-F]{6,}|(?<![\w.])/(?:[\w.+-]+/)+")
_SPACE = re.compile(r"\s+")
#: torch.fx warns so of every engine that is put into a graph, and names its caller as the source.
_OF_TORCH = re.compile(r"Attempted to insert a get_attr Node with no underlying reference")

#: Every release warns so on a machine without a GPU, where engines are emulated.
_OF_THE_MACHINE = re.compile(r"Input tensor is not on a CUDA device")


class _Keeper(logging.Handler):
    def __init__(self, told: dict[str, None]) -> None:
        super().__init__(logging.WARNING)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.name.split(".")[0] == PACKAGE and not _OF_THE_MACHINE.match(said):
            self._told.setdefault(normalised(said))


def normalised(text: str) -> str:
    """A warning on one line, without addresses and folders: the same on every machine."""
    return _SPACE.sub(" ", _UNSTEADY.sub("", text)).strip()[:MAX_TEXT]


@contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """The release's warnings in the block, each once. The list is filled when the block ends.

    The recorded warnings are not shown. Warnings of other code, such as torch, are left out, since
    they are no announcement of a release.
    """
    kept: list[str] = []
    told: dict[str, None] = {}
    keeper = _Keeper(told)
    root = logging.getLogger()  # a release's loggers pass their records up
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Any, category: Any, filename: str, *rest: Any, **named: Any) -> None:
            if PACKAGE in filename and not _OF_TORCH.match(str(message)):
                told.setdefault(normalised(str(message)))
            else:
                show(message, category, filename, *rest, **named)

        warnings.filterwarnings("always", module=rf"(.*[/.])?{PACKAGE}([/.].*)?")
        warnings.showwarning = keep
        root.addHandler(keeper)
        try:
            yield kept
        finally:
            root.removeHandler(keeper)
            kept += list(told)[:MOST]
