"""Where this program runs, and how the user called it: commands that it prints begin like that.

Nothing here needs a newer Python than the ones that are refused.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Final


def refusal(
    system: str = sys.platform,
    machine: str = platform.machine(),
    python: tuple[int, int] = sys.version_info[:2],
) -> str:
    """Why the harness cannot run here, in one line; empty where it can."""
    if system != "linux" or machine not in ("x86_64", "amd64"):
        what = f"this is {system} on {machine}"
    elif python not in ((3, 11), (3, 12)):
        what = f"this is Python {python[0]}.{python[1]}"
    else:
        return ""
    return f"{what}; the harness runs on Linux x86-64 with Python 3.11 or 3.12"


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
