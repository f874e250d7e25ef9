"""What ``python -m harness`` tells the shell."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The process's exit status. All but USAGE and INTERRUPTED are a gate's verdict."""

    GREEN = 0
    RED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    FAILED = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it

    @property
    def meaning(self) -> str:
        """One line for a person whose caller knows only 0 and 1."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.GREEN: "green: nothing is unexpected, and nothing got worse",
    ExitCode.RED: "red: something is unexpected, or got worse; the lines above say what and where",
    ExitCode.USAGE: "wrong use: what was asked for cannot be done as asked",
    ExitCode.INCONCLUSIVE: "inconclusive: something could not be asked",
    ExitCode.FAILED: "failed: the harness or its surroundings broke; says nothing of the subjects",
    ExitCode.INTERRUPTED: "interrupted: what has ended is kept; `--resume` goes on",
}
