"""The three ways in which the harness itself, rather than a subject, can fail.

What a subject does wrong is a verdict and never an exception here. Every message says what is
wrong, where, and what to do about it: it is the only line that the user sees.

Functions all over the controller raise these three. A docstring names them only where it can say
more than this: a `UsageError` for what was asked or for a file that is damaged or foreign, a
`SurroundingsError` for a place that cannot be read or written and a tool that does not work.
"""

from __future__ import annotations


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
