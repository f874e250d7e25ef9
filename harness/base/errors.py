"""The three ways in which the harness itself, rather than a subject, can fail; and exit codes.

What a subject does wrong is a verdict and never an exception here. Every message says what is
wrong, where, and what to do about it: it is the only line that the user sees.

Functions all over the controller raise these three. A docstring names them only where it can say
more than this: a `UsageError` for what was asked or for a file that is damaged or foreign, a
`SurroundingsError` for a place that cannot be read or written and a tool that does not work.
"""

from __future__ import annotations

import enum


class HarnessError(Exception):
    """One of the three. ``what`` is wrong, and ``advice`` says what to do; it may be empty."""

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(f"{what}; {advice}" if advice else what)
        self.what = what
        self.advice = advice


class UsageError(HarnessError):
    """The request cannot be met as it was put: an unknown name, a file that is not an exporter.

    The command line ends with exit code 2.
    """


class SurroundingsError(HarnessError):
    """The harness or what it stands on failed: no compiler, a corrupt wheel, a full disk.

    The command line ends with exit code 4.
    """


class Unavailable(HarnessError):
    """A question could not be asked here: no registry, no wheelhouse.

    It ends no run: the cells that needed the answer become ``unsupported``, with this message as
    their reason, and the gate is at best inconclusive.
    """


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
