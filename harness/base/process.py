"""Other programs: run to their end, or ended with everything that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from harness.base.errors import SurroundingsError


class CannotStart(SurroundingsError):
    """The command is not there, or is not one that can be run."""


class TookTooLong(SurroundingsError):
    """The command was killed because its time was over."""


@dataclass(frozen=True)
class Ended:
    """A command that ended by itself. ``code`` is negative for the signal that ended it."""

    code: int
    printed: str
    complaint: str  # what it wrote to stderr; empty where that went into a log

    @property
    def last_words(self) -> str:
        return last_line(self.complaint)


def run(
    command: Sequence[str | Path],
    *,
    folder: Path | None = None,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    timeout_s: float | None = None,
    if_missing: str = "",
    if_late: str = "",
) -> Ended:
    """Run a command to its end. Its output is read as UTF-8, whatever the locale says.

    Args:
        log: takes what it writes to stderr.
        if_missing: what to do where the command cannot be run.
        if_late: what to do where it takes more than ``timeout_s``, at which it is killed.

    Raises:
        CannotStart, TookTooLong: as they say.
    """
    name = str(command[0])
    options: dict[str, Any] = {"stderr": log or subprocess.PIPE, "timeout": timeout_s}
    options |= {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise TookTooLong(f"{name}: did not end in {timeout_s:.0f} s", if_late) from error
    except OSError as error:
        raise CannotStart(f"{name}: cannot be run ({error.strerror})", if_missing) from error
    return Ended(done.returncode, done.stdout, done.stderr or "")


def lines_of(command: Sequence[str | Path], *, folder: Path, stdin: str) -> Iterator[str | Ended]:
    """Each line that a command prints, as soon as it does, and behind them how it ended.

    The command is killed if whoever reads does not read to the end.

    Raises:
        CannotStart: as it says.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                encoding="utf-8", errors="replace",
            )  # fmt: skip
        except OSError as error:
            raise CannotStart(f"{words[0]}: cannot be run ({error.strerror})") from error
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            try:
                with contextlib.suppress(BrokenPipeError):  # its exit code tells why it ended
                    process.stdin.write(stdin)
                    process.stdin.close()
                yield from process.stdout
                code = process.wait()
            except BaseException:
                process.kill()
                raise
        log.seek(0)
        yield Ended(code, "", log.read().decode(errors="replace"))


def kill_group(pid: int) -> None:
    """Kill a process that leads a group, and all of its group. Nothing happens if it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def how_it_ended(code: int) -> str:
    """`exited with code 3`, or `killed by SIGSEGV`."""
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


def last_line(text: str) -> str:
    """Where a program that failed mostly says why."""
    return (text.strip().splitlines() or ["no message"])[-1]
