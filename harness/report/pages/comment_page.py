"""The comment on a pull request: what a maintainer sees in five seconds, and the rest folded."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from harness.base.errors import ExitCode
from harness.base.words import plural
from harness.report.annotations import Annotation
from harness.report.pages.rendering import render
from harness.report.pull_request import Kind, PullRequest
from harness.runs.commands import explain_command

LIMIT_BYTES: Final = 59_000  # GitHub takes 65,536 characters, with the marker of the comment
_LENGTHS: Final = (30, 12, 5, 2)
_LINES, _LONGEST = 20, 300


def comment(
    told: PullRequest,
    lines: Sequence[Annotation] = (),
    *,
    commit: str = "",
    advisory: bool = True,
    page: str = "",
) -> str:
    """The comment as Markdown; its lists are cut, and say so, until it fits.

    Args:
        lines: the changed lines that what is new names.
        commit: that was judged.
        advisory: whether nothing fails by it.
        page: where the whole report is, in words or as an address.
    """
    rendered = ""
    for most in _LENGTHS:
        rendered = render(
            "comment.md",
            told=told,
            sign=_sign(told),
            headline=headline(told),
            places=list(dict.fromkeys(each.place for each in lines)),
            commands=_commands(told.new or told.otherwise),
            commit=commit[:10],
            advisory=advisory,
            page=page,
            most=most,
            longest=_LONGEST,
        )
        if len(rendered.encode()) <= LIMIT_BYTES:
            break
    return rendered


def not_judged(log: str, ended: int, *, commit: str = "") -> str:
    """The comment on a pull request that could not be judged, with the end of what was printed.

    Args:
        ended: the exit code of the run.
    """
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    said = errors[-1:] or lines[-_LINES:]
    return render(
        "not_judged.md",
        meaning=ExitCode(ended).meaning,
        said=[line[:_LONGEST] for line in said],
        commit=commit[:10],
    )


def headline(told: PullRequest) -> str:
    """What became of the change, in one line."""
    of = f"of {sum(told.compared.values()):,} compared"
    if told.new:
        cells = plural(told.broken_cells, "cell")
        gets = "gets" if told.broken_cells == 1 else "get"
        return f"{cells} {of} {gets} worse by this change"
    if told.otherwise:
        count = sum(len(kind.keys) for kind in told.otherwise)
        fail = "fails" if count == 1 else "fail"
        return f"Nothing does more harm; {plural(count, 'cell')} {of} {fail} otherwise than before"
    if told.unasked:
        return f"{plural(sum(each.cells for each in told.unasked), 'cell')} could not be asked"
    if told.flaky:
        cells = plural(len(told.flaky), "cell")
        return f"Nothing got worse beyond doubt; {cells} {of} did not end alike twice"
    mends = f", and {plural(len(told.mended), 'known defect')} mended" if told.mended else ""
    return f"Nothing got worse in {plural(sum(told.compared.values()), 'cell')}{mends}"


def _sign(told: PullRequest) -> str:
    if told.new:
        return "✗"
    return "?" if told.unasked or told.flaky or told.otherwise else "✓"


def _commands(kinds: Sequence[Kind]) -> list[str]:
    """How to see the worst kind on another machine, which has the same state of the checkout."""
    if not kinds:
        return []
    key = kinds[0].first
    asked = f"--lane {key.lane} -k {shlex.quote(key.case)}"
    return [
        f"nox -s regress -- --checkout path/to/TensorRT {asked}",
        f"{explain_command(key)} --run latest",
    ]
