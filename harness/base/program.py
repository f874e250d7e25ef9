"""Where this program runs, and how the user called it: commands that it prints begin like that.

Nothing here needs a newer Python than the ones that are refused.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
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


def lacking(error: ModuleNotFoundError) -> str:
    """What is not installed here, in one line.

    Raises:
        ModuleNotFoundError: it is a part of this project, and so a mistake of ours.
    """
    name = (error.name or "").partition(".")[0]
    if name in ("harness", "corpus"):
        raise error
    return (
        f"{name} is not installed for {sys.executable}; `pip install .` in the checkout installs "
        "what the harness needs, and nox makes an environment that has it"
    )


SCRIPT: Final = "inliner-regress"  # as pyproject.toml installs it

PROGRAM: Final = SCRIPT if Path(sys.argv[0]).name == SCRIPT else "python -m harness"


def program_here(
    environment: Mapping[str, str],
    argv0: str = sys.argv[0],
    executable: str = sys.executable,
) -> str:
    """How the shell that called this program calls it again, where `PROGRAM` may mean another.

    That is the console script, or this Python; by its path where the search path does not find it
    by its name. A session of nox finds it, but not the shell that called nox.
    """
    path = "" if "NOX_CURRENT_SESSION" in environment else environment.get("PATH", "")
    script = Path(argv0).name == SCRIPT
    name, own = (SCRIPT, argv0) if script else ("python", executable)
    found = shutil.which(name, path=path) if path else None
    # Not resolved: an environment's Python is a link to the one that it was made from.
    if found is None or os.path.abspath(found) != os.path.abspath(own):
        place = Path(os.path.abspath(own))
        near = place.is_relative_to(Path.cwd())
        name = shlex.quote(f"{place.relative_to(Path.cwd())}" if near else str(place))
    return name if script else f"{name} -m harness"


def as_called_here(text: str, escaped: Callable[[str], str] = str) -> str:
    """A text whose commands can be pasted into the shell that called this program.

    Args:
        escaped: how such a text writes a path, which may hold any character.
    """
    here = program_here(os.environ)
    return text if here == PROGRAM else text.replace(f"{PROGRAM} ", f"{escaped(here)} ")


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
