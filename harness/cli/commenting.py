"""`comment`: a run told as one comment on a pull request, with annotations of changed lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file, written_to
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import tell, toolchain_for
from harness.run.judged_run import JudgedRun, reopen
from harness.toolchain.unpacking import python_in
from harness.wire.records import SubjectSpec


def comment_command(
    run_name: option.RunName = "latest",
    again: Annotated[
        str, typer.Option(help="A run that asked the red cells once more: what differs is flaky.")
    ] = "",
    to: Annotated[Path | None, typer.Option(help="A file to write, in place of printing.")] = None,
    ended: Annotated[
        int, typer.Option(help="The run's exit code; of 2 and 4 it has no verdict to tell.")
    ] = 0,
    log: Annotated[
        Path | None, typer.Option(help="What the run printed: told where it has no verdict.")
    ] = None,
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Print a ::warning for each changed line it names.")
    ] = False,
    advisory: Annotated[
        bool, typer.Option(help="Exit with 0 whatever is new; --no-advisory fails on it.")
    ] = True,
    commit: Annotated[str, typer.Option(help="The commit that was judged, to be named.")] = "",
    page: Annotated[str, typer.Option(help="Where the report is, to be named.")] = "",
    out_dir: option.Out = option.RESULTS,
) -> int:
    """Tell a candidate's run in one comment: new, mended, broken at the base, flaky."""
    # Here: the comment's own errors are told before what draws pages is imported.
    from harness.report.annotations import annotated
    from harness.report.pages.comment_page import comment, not_judged
    from harness.report.pull_request import pull_request

    if ended in (ExitCode.USAGE, ExitCode.FAILED):
        printed = log.read_text(encoding="utf-8", errors="replace") if log else ""
        _write(to, not_judged(printed, ended, commit=commit))
        return ExitCode.GREEN if advisory else ended
    catalogue, toolchain = load_catalogue(), toolchain_for()
    judged = reopen(run_name, out_dir, toolchain, catalogue)
    second = reopen(again, out_dir, toolchain, catalogue) if again else None
    told = pull_request(judged, second)
    if told is None:
        raise UsageError(
            f"{judged.folder.run_id} has no candidate; make a run with --checkout, --exporter or "
            "--wheel"
        )
    lines = annotated(told.new, *_changed(judged, told.base, told.candidate))
    _write(to, comment(told, lines, commit=commit, advisory=advisory, page=page))
    for each in lines if annotate else ():
        tell(each.command)
    if advisory:
        return ExitCode.GREEN
    if told.new:
        return ExitCode.RED
    return ExitCode.INCONCLUSIVE if told.unasked else ExitCode.GREEN


def _write(to: Path | None, text: str) -> None:
    if to is None:
        print(text, end="")
        return
    with written_to(to):
        to.parent.mkdir(parents=True, exist_ok=True)
    replace_file(to, text.encode())


def _changed(judged: JudgedRun, base: str, candidate: str) -> tuple[dict[str, str], dict[str, str]]:
    """The sources of base and candidate that are not alike, as the run kept them."""
    specs = {spec.subject: spec for spec in judged.candidates}
    before, now = (_sources(specs.get(name)) for name in (base, candidate))
    names = [name for name in now if before and before.get(name) != now[name]]
    return {name: before.get(name, "") for name in names}, {name: now[name] for name in names}


def _sources(spec: SubjectSpec | None) -> dict[str, str]:
    """The Python of a tree by its path in the package; only checkouts have lines to annotate."""
    if spec is None or spec.checkout is None or spec.wheel_path is None:
        return {}
    return python_in(Path(spec.wheel_path))
