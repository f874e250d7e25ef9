"""`history`: upstream's fixes, and what each release of a run shows of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.table import Table

from harness.cli.common import RESULTS, Out, RunName, out, tell
from harness.exitcodes import ExitCode
from harness.expectations.history_file import ANY, read_history
from harness.history import FixHistory, Showing, history_of
from harness.releases import load_catalogue
from harness.store import RunFolder


def history_command(
    run_name: RunName = "latest",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    out_dir: Out = RESULTS,
) -> int:
    """Upstream's fixes: which releases fail before one, which pass from it on, as expected or not.

    Exit code 0: all as expected; 1: something is not; 3: something was not asked.
    """
    catalogue = load_catalogue()
    fixes = read_history(catalogue.versions)
    folder = RunFolder.open(run_name, out_dir)
    histories = history_of(fixes, folder.records().values(), catalogue)
    if as_json:
        for history in histories:
            print(json.dumps(_as_json(history)))
    elif out.is_terminal:
        out.print(_table(histories))
    else:
        for history in histories:
            tell(_line(history))
    if not as_json:
        for line in _notes(histories):
            tell(line)
    return int(_exit_code(histories))


def _exit_code(histories: Sequence[FixHistory]) -> ExitCode:
    said = [history.as_expected for history in histories if not history.fix.not_visible]
    if False in said:
        return ExitCode.RED
    return ExitCode.INCONCLUSIVE if None in said else ExitCode.GREEN


def _verdict(history: FixHistory) -> str:
    if history.fix.not_visible:
        return "not visible here"
    if history.as_expected is None:
        return "not asked"
    return "as expected" if history.as_expected else "NOT as expected"


def _question(history: FixHistory) -> str:
    return f"{history.fix.oracle or ANY} by {' and '.join(history.fix.routes)}"


def _line(history: FixHistory) -> str:
    """One line for a log or a pipe."""
    fix = history.fix
    head = f"{fix.pull_request} {fix.id}, first good {fix.first_good}: {_verdict(history)}"
    if fix.not_visible:
        return head
    parts = [
        f"{showing} in {_spans(history, showing)}"
        for showing in Showing
        if history.showing(showing)
    ]
    return f"{head}: {'; '.join(parts)} ({_question(history)})"


def _table(histories: Sequence[FixHistory]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("PR", "fix", "first good", "fails in", "passes in", "said"):
        table.add_column(title, no_wrap=title in {"PR", "fix"})
    for history in histories:
        fix = history.fix
        spans = [_spans(history, showing) for showing in (Showing.FAILS, Showing.PASSES)]
        table.add_row(fix.pull_request, fix.id, fix.first_good, *spans, _verdict(history))
    return table


def _notes(histories: Sequence[FixHistory]) -> Iterator[str]:
    """What a row has no room for: why not visible, cells not as expected, hypothetical routes."""
    for history in histories:
        if history.fix.not_visible:
            yield f"{history.fix.id}: not visible here: {history.fix.not_visible}"
        for line in history.otherwise:
            yield f"{history.fix.id}: {line}"
        if history.hypothetical:
            yield (
                f"{history.fix.id}: judged on cells that no user reaches in "
                f"{', '.join(history.hypothetical)}"
            )
    visible = [history for history in histories if not history.fix.not_visible]
    if any(history.as_expected is None for history in visible):
        yield "not asked: a case or release is not in this run; one of all of them asks it"
    good = sum(history.as_expected is True for history in visible)
    hidden = len(histories) - len(visible)
    yield f"{good} of {len(visible)} fixes as expected; {hidden} more are not visible here"


def _spans(history: FixHistory, showing: Showing) -> str:
    """The releases that show this, neighbours together: ``2.3.0 to 2.13.0``."""
    spans = []
    for found, rows in groupby(history.releases, key=lambda row: row.showing):
        names = [row.release for row in rows]
        if found is showing:
            spans.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(spans) or "-"


def _as_json(history: FixHistory) -> dict[str, Any]:
    fix = history.fix
    return {
        "id": fix.id,
        "pull_request": fix.pull_request,
        "first_good": fix.first_good,
        "what": fix.what,
        "not_visible": fix.not_visible,
        "cases": list(fix.cases),
        "oracle": None if fix.not_visible else str(fix.oracle or ANY),
        "routes": list(fix.routes),
        **{str(each).replace(" ", "_"): list(history.showing(each)) for each in Showing},
        "hypothetical": list(history.hypothetical),
        "otherwise": list(history.otherwise),
        "as_expected": history.as_expected,
    }
