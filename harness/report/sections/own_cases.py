"""A user's own cases by releases: one sign a cell, and in words what is wrong by which call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from harness.gate.case_matrix import CaseMatrix, CaseRow, Wrong, wrong_words
from harness.report.reported_run import ReportedRun, Section
from harness.report.style import SIGNS
from harness.runs.commands import explain_command


@dataclass(frozen=True)
class WrongView:
    """What is wrong with a case in some releases, in words, and the command that shows it."""

    case: str
    releases: str
    tone: str
    words: str
    command: str


@dataclass(frozen=True)
class OwnCases:
    """The columns with their standings by row, the cases, and what is wrong with each."""

    columns: tuple[tuple[str, tuple[str, ...]], ...]
    cases: tuple[str, ...]
    wrong: tuple[WrongView, ...]


def build_own_cases(run: ReportedRun) -> OwnCases | None:
    """The view; None where the expected table covers these cases."""
    matrix = run.own_cases
    if matrix is None:
        return None
    return OwnCases(
        columns=matrix.columns,
        cases=tuple(row.case for row in matrix.rows),
        wrong=tuple(
            _wrong(run, matrix, row, wrong, releases)
            for row in matrix.rows
            for wrong, releases in row.wrong
        ),
    )


def _wrong(
    run: ReportedRun,
    matrix: CaseMatrix,
    row: CaseRow,
    wrong: Wrong,
    releases: tuple[str, ...],
) -> WrongView:
    return WrongView(
        case=row.case,
        releases=matrix.where(releases),
        tone=wrong.harm.value,
        words=wrong_words(wrong).removeprefix(f"{SIGNS[wrong.harm]} "),
        command=explain_command(wrong.shown, run.places),
    )


OWN_CASES: Final = Section("cases", build_own_cases, template="own_cases", link="Cases")
