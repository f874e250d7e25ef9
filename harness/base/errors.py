"""The three ways in which the harness itself, rather than a subject, can fail.

What a subject does wrong is a verdict and never an exception here. Every message says what is
wrong, where, and what to do about it: it is the only line that the user sees.
"""

from __future__ import annotations


class UsageError(Exception):
    """The request cannot be met as it was put: an unknown name, a file that is not an exporter.

    The command line ends with exit code 2.
    """


class SurroundingsError(Exception):
    """The harness or what it stands on failed: no compiler, a corrupt wheel, a full disk.

    The command line ends with exit code 4.
    """


class Unavailable(Exception):
    """A question could not be asked here: no registry, no wheelhouse.

    It ends no run: the cells that needed the answer become ``unsupported``, with this message as
    their reason, and the gate is at best inconclusive.
    """
