"""`qualify`: whether a candidate may be shipped in the place of a baseline."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.atomic import replace_file
from harness.cli.common import (
    RESULTS,
    Exporter,
    Offline,
    Wheelhouse,
    err,
    tell,
    toolchain_for,
)
from harness.cli.results import current_summary
from harness.errors import UsageError
from harness.exitcodes import ExitCode
from harness.expectations.ledger import uses
from harness.findings import Gate
from harness.progress import progress_for
from harness.provenance import provenance_to_json
from harness.qualify import Decision, Qualification, qualify
from harness.releases import load_catalogue
from harness.report.qualify_page import qualification_html, qualification_markdown, verdict_of
from harness.reporting import write_run_report
from harness.rig.records import Lane, SubjectKind
from harness.run import JudgedRun, RunOptions, raise_if_nothing_ran, run

_EXIT_CODES = {
    Decision.SHIP: ExitCode.GREEN,
    Decision.DO_NOT_SHIP: ExitCode.RED,
    Decision.OPEN: ExitCode.INCONCLUSIVE,
}
_SHOWN = 8


def qualify_command(
    baseline: Annotated[str, typer.Option(help="The release that users have today.")] = "",
    candidate: Annotated[str, typer.Option(help="The release that may take its place.")] = "",
    exporter: Exporter = None,
    wheel: Annotated[
        Path | None, typer.Option(help="A wheel of no release as candidate, such as a nightly.")
    ] = None,
    expression: Annotated[
        str, typer.Option("-k", help="Only cases that match, as pytest's -k.")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="All cases.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds for one cell.")] = 120.0,
    out_dir: Annotated[Path, typer.Option("--out", help="Where to make the run folder.")] = RESULTS,
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
) -> int:
    """Run all that this machine can for two, and say on one page: ship, or do not ship."""
    files = exporter is not None or wheel is not None
    if not baseline or (not candidate) == (not files):
        raise UsageError(
            "give --baseline RELEASE and one of --candidate RELEASE, --exporter FILE, --wheel FILE"
        )
    catalogue = load_catalogue()
    catalogue.get(baseline)
    if candidate and catalogue.get(candidate).version == baseline:
        raise UsageError(f"baseline and candidate are both {baseline}; nothing would be compared")
    options = RunOptions(
        releases=f"{baseline},{candidate}" if candidate else baseline,
        exporter=exporter,
        wheel=wheel,
        like=baseline if files else "",
        expression=expression,
        full=full,
        lanes=(Lane.GRAPH.value,) if files else (Lane.GRAPH.value, Lane.PACKAGE.value),
        jobs=jobs,
        timeout_s=timeout,
        out=out_dir,
        command_line=("python", "-m", "harness", *sys.argv[1:]),
    )
    progress = progress_for(err)
    try:
        judged = run(options, toolchain_for(wheelhouse, offline), catalogue, progress)
    finally:
        progress.close()
    raise_if_nothing_ran(judged)
    write_run_report(judged, current_summary(judged))
    return _told(judged, _qualified(judged, baseline, candidate))


def _qualified(judged: JudgedRun, baseline: str, candidate: str) -> Qualification:
    specs = {spec.subject: spec for spec in judged.subjects}
    mine = specs.get(candidate) or next(
        spec for spec in judged.subjects if spec.kind is SubjectKind.FILE
    )
    used = uses(judged.records.values(), judged.ledger, judged.cases)
    return qualify(judged.records.values(), judged.cases, specs[baseline], mine, used)


def _told(judged: JudgedRun, q: Qualification) -> int:
    """Write the page, tell its first lines, and give the exit code."""
    folder, provenance = judged.folder.path, provenance_to_json(judged.provenance)
    replace_file(folder / "qualify.md", qualification_markdown(q, provenance).encode())
    replace_file(folder / "qualify.html", qualification_html(q, provenance).encode())
    verdict = verdict_of(q)
    tell(verdict.words)
    tell(verdict.why)
    for change in (q.stoppers or q.warnings)[:_SHOWN]:
        tell(f"  {change.key.case} [{change.key.lane}: {change.key.route}]: {change.message[:160]}")
        tell(f"      {change.command}")
    if judged.report.gate is Gate.RED:
        tell("beside this, the gate of the run is red: its report says why")
    tell(f"page: {folder / 'qualify.html'}; for a ticket: {folder / 'qualify.md'}")
    if judged.report.gate is Gate.FAILED:
        return int(ExitCode.FAILED)
    return int(_EXIT_CODES[q.decision])
