"""`merge`: whole runs joined into one."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.base.garbage import no_collections
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import tell, toolchain_for
from harness.cli.running import show_verdict
from harness.expectations import EXPECTATIONS
from harness.run.judged_run import JudgedRun, reopen, summary_of
from harness.runs.kept_cases import merge_cases
from harness.runs.merging import Part, merge
from harness.runs.run_folder import RunFolder, RunState


@no_collections()
def merge_command(
    runs: Annotated[list[str], typer.Argument(help="Runs' folders or ids, two or more.")],
    allow_mismatch: option.AllowMismatch = False,
    out_dir: option.Out = option.RESULTS,
    expectations: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """Join runs of several environments or machines into a new run, and judge it."""
    folders = [RunFolder.open(name, out_dir) for name in runs]
    merged = merge([_part(folder) for folder in folders], allow_mismatch=allow_mismatch)
    with RunFolder.create(out_dir, merged.provenance, merged.plan) as folder:
        folder.append(*merged.records.values())
        merge_cases(folder, folders)
    judged = reopen(str(folder.path), out_dir, toolchain_for(), load_catalogue(), expectations)
    _write_results(judged)
    for mismatch in merged.provenance.mismatches:
        tell(f"merged all the same: {mismatch}")
    return show_verdict(judged)


def _part(folder: RunFolder) -> Part:
    return Part(
        name=folder.run_id,
        provenance=folder.provenance(),
        plan=folder.plan(),
        records=folder.records(),
        schema=folder.schema(),
    )


def _write_results(judged: JudgedRun) -> None:
    """As at the end of a run; what it took is told by the sources, not by the whole."""
    summary = summary_of(judged, RunState.COMPLETE, wall_s=None)
    with judged.folder as folder:
        folder.write_results(summary, judged.cases, judged.records)
        folder.write_state(RunState.COMPLETE)
