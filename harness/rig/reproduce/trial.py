"""Trying a script: each in a process of its own, forked from one that has imported torch alone.

Where a script is tried, the emulated runtime of the rig must not be loaded: both own one op.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.rig.reproduce.attempt import THERE

TIMEOUT_S: Final = 120.0
FELL_OVER: Final = 124


class Trials:
    """Runs scripts; the first one waits for torch to be imported."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["harness.rig.reproduce.warm"])

    def shows(self, script: str, arguments: Sequence[str]) -> Tried:
        """Run a script, with nothing but torch imported before."""
        return _tried(self._context, script, arguments)


def shows_here(script: str) -> Tried:
    """Do as `Trials.shows` does, in a fork of this process, with everything it has imported."""
    return _tried(multiprocessing.get_context("fork"), script, [])


class Tried(NamedTuple):
    """Whether a script says that its failure is there, and the line that says so, or why not.

    ``printed`` is that line and all that the script printed after it.
    """

    there: bool
    said: str
    printed: str = ""


def _tried(context: Any, script: str, arguments: Sequence[str]) -> Tried:
    with tempfile.TemporaryDirectory(prefix="reproduce-") as folder:
        file, printed, beside = (Path(folder) / name for name in ("script.py", "out", "err"))
        file.write_text(script, encoding="utf-8")
        process = context.Process(target=_run, args=(file, [*arguments], printed, beside))
        process.start()
        process.join(TIMEOUT_S)
        if process.is_alive():
            process.kill()
            process.join()
            return Tried(False, f"it did not end in {TIMEOUT_S:.0f} s")
        said, wrong = (each.read_text(encoding="utf-8").strip() for each in (printed, beside))
    answer = SAYS.search(said)
    if answer is None:
        last = [*said.splitlines(), f"it ended by {process.exitcode}", *wrong.splitlines()][-1]
        return Tried(False, last)
    # A traceback ends a process by 1 too, but then a script has said nothing.
    return Tried(process.exitcode == THERE, answer[0].strip(), said[answer.start() :])


#: A line by which a script answers; what a package prints is none.
SAYS: Final = re.compile(
    r"^(the (defect|(compiled|loaded|unflattened) (module|program))|cannot be told|"
    r"compile:|save:|load:|unflatten:).*",
    re.MULTILINE,
)


def _run(file: Path, arguments: list[str], printed: Path, beside: Path) -> None:
    for stream, path in ((sys.stdout, printed), (sys.stderr, beside)):
        with path.open("wb") as opened:
            os.dup2(opened.fileno(), stream.fileno())
    sys.argv = [str(file), *arguments]
    try:
        runpy.run_path(str(file), run_name="__main__")
    except Exception:  # noqa: BLE001 - it has said nothing
        # Python's own exit code for this is 1, which would say that the failure is there.
        traceback.print_exc()
        sys.exit(FELL_OVER)
