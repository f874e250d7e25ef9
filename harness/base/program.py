"""How the user called this program: the commands that it prints begin with the same words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

SCRIPT: Final = "inliner-regress"  # as pyproject.toml installs it

PROGRAM: Final = SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m harness"


def command_line(*, places: bool = True) -> tuple[str, ...]:
    """What was called, for a run's record.

    Args:
        places: whether files keep their folders, which say nothing on another machine.
    """
    arguments = sys.argv[1:] if places else map(_without_place, sys.argv[1:])
    return (*PROGRAM.split(), *arguments)


def _without_place(argument: str) -> str:
    head, equals, path = argument.rpartition("=")
    return f"{head}{equals}{Path(path).name}" if Path(path).is_absolute() else argument
