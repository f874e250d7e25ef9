"""Says in one line why a case ends before any inliner: what was raised, and where."""

from __future__ import annotations

import traceback
from pathlib import Path

from corpus.case import Case, sources_elsewhere
from harness.wire.vocabulary import Stage


def refusal(case: Case, stage: Stage, error: BaseException) -> str:
    """The stage, the exception's name and first line, and the line of the case that raised it."""
    said = next(iter(str(error).strip().splitlines()), "")
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{case.name} ends at {stage}, before any inliner: {what}{_place(case, error)}"


def own_line(error: BaseException) -> str:
    """The innermost line of a user's own corpus that an exception came through, in brackets.

    Empty where there is no such line. The project's own cases get none, so that their messages do
    not change with every edit of a file.
    """
    theirs = sources_elsewhere()
    for frame in reversed(traceback.extract_tb(error.__traceback__) if theirs else ()):
        file = Path(frame.filename).resolve()
        if file in theirs:
            return f" ({file.name}, line {frame.lineno}, in {frame.name})"
    return ""


def _place(case: Case, error: BaseException) -> str:
    """The innermost line of the traceback that lies beside the case, or below."""
    folder = Path(case.build.__code__.co_filename).resolve().parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename).resolve()
        if file.is_relative_to(folder) and "site-packages" not in file.parts:
            return f" ({file}, line {frame.lineno}, in {frame.name})"
    return ""
