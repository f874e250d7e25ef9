"""Trying a script: each in a process of its own, forked from one that has imported torch alone.

Where a script is tried, the emulated runtime of the rig must not be loaded: both own one op.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from harness.rig.reproduce.attempt import THERE

TIMEOUT_S: Final = 120.0


class Trials:
    """Runs scripts; the first one waits for torch to be imported."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["harness.rig.reproduce.warm"])

    def shows(self, script: str, arguments: Sequence[str]) -> tuple[bool, str]:
        """Whether a script says that its failure is there, and the last line that it prints."""
        return _tried(self._context, script, arguments)


def shows_here(script: str) -> tuple[bool, str]:
    """Do as `Trials.shows` does, in a fork of this process, with everything it has imported."""
    return _tried(multiprocessing.get_context("fork"), script, [])


def _tried(context: Any, script: str, arguments: Sequence[str]) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        file, printed = Path(folder) / "script.py", Path(folder) / "printed"
        file.write_text(script, encoding="utf-8")
        process = context.Process(target=_run, args=(file, [*arguments], printed))
        process.start()
        process.join(TIMEOUT_S)
        if process.is_alive():
            process.kill()
            process.join()
            return False, f"it did not end in {TIMEOUT_S:.0f} s"
        lines = printed.read_text(encoding="utf-8").strip().splitlines()
    # A traceback ends a process by 1 too, but then a script has said nothing.
    answers = [line for line in lines if line.startswith((SAYS, "cannot be told"))]
    there = process.exitcode == THERE and bool(answers)
    return there, (answers or lines or [f"it ended by {process.exitcode}"])[-1]


SAYS: Final = "the defect is there"


def _run(file: Path, arguments: list[str], printed: Path) -> None:
    with printed.open("wb") as stream:
        os.dup2(stream.fileno(), sys.stdout.fileno())
        os.dup2(stream.fileno(), sys.stderr.fileno())
    sys.argv = [str(file), *arguments]
    runpy.run_path(str(file), run_name="__main__")
