"""`acceptance`: another order of subjects, and each subject alone, give the same verdicts."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.exit_codes import ExitCode
from harness.base.program import command_line
from harness.catalogue.releases import load_catalogue
from harness.cli.common import Offline, Wheelhouse, err, tell, toolchain_for
from harness.run.acceptance import whole_run_differences
from harness.run.judged_run import raise_if_nothing_ran
from harness.run.progress import progress_for
from harness.run.run import RunOptions, run
from harness.subjects.choosing import choose_subjects
from harness.wire.records import CellRecord


def acceptance_command(
    releases: Annotated[
        str, typer.Option(help='Versions with commas, or one specifier such as ">=2.11,<2.14".')
    ] = "",
    expression: Annotated[
        str, typer.Option("-k", help="Only cases that match, as pytest's -k.")
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Only the few cases that show most defects.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    out_dir: Annotated[Path, typer.Option("--out", help="Where to make the run folders.")] = Path(
        "results/acceptance"
    ),
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
) -> int:
    """Hold whole runs of the graph lane against each other, where subjects share processes."""
    toolchain, catalogue = toolchain_for(wheelhouse, offline), load_catalogue()
    options = RunOptions(
        releases=releases,
        expression=expression,
        quick=quick,
        jobs=jobs,
        out=out_dir,
        command_line=command_line(),
    )

    def records_of(subjects: Sequence[str]) -> Mapping[str, CellRecord]:
        progress = progress_for(err)
        try:
            asked = dataclasses.replace(options, subjects=tuple(subjects))
            judged = run(asked, toolchain, catalogue, progress)
        finally:
            progress.close()
        raise_if_nothing_ran(judged)
        return judged.records

    chosen = choose_subjects(toolchain, catalogue, releases=releases)
    subjects = [spec.subject for spec in chosen]
    found = list(whole_run_differences(subjects, records_of))
    for each in found:
        tell(each.line)
    runs = len(subjects) + 2
    tell(f"{len(subjects)} subjects, {runs} runs: {len(found)} cells end in another way")
    return ExitCode.RED if found else ExitCode.GREEN
