"""What a command says, when it is interrupted, of how it goes on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base.errors import ExitCode
from harness.base.program import PROGRAM
from harness.cli import options as option
from harness.cli.common import INTERRUPTED, fail
from harness.runs.run_directory import RunDirectory


@contextmanager
def same_command_goes_on() -> Iterator[None]:
    """Says so where the body is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        fail(ExitCode.INTERRUPTED, f"{INTERRUPTED}; the same command goes on")


@contextmanager
def resume_goes_on(kind: type[RunDirectory], which: str, out: Path, *more: str) -> Iterator[None]:
    """Say, where the body is interrupted, by which command its run goes on.

    A run that did not come to a folder of its own does not go on, and nothing is said of it.

    Args:
        which: the run that goes on already; empty for a new one.
        out: where its folder is.
        more: words that the command needs as well.
    """
    before = kind.latest(out)
    try:
        yield
    except KeyboardInterrupt:
        made = kind.latest(out)
        again = which or (str(made) if made != before else "")
        words = [*PROGRAM.split(), kind.COMMAND, "--resume", again]
        words += ["--out", str(out)] if out != option.RESULTS else []
        how = f"\nresume: {shlex.join([*words, *more])}" if again else ""
        fail(ExitCode.INTERRUPTED, INTERRUPTED + how)
