"""`fuzz`: programs that nobody wrote, drawn and judged until time is up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, SurroundingsError
from harness.campaigns.campaign import Campaign
from harness.campaigns.drawing import NAME
from harness.campaigns.judge import Judge
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import tell, toolchain_for
from harness.register.defects import read_register
from harness.register.facts import NONSTRICT
from harness.subjects.choosing import choose_subjects
from harness.wire.records import CellKey
from harness.wire.routes import Route
from harness.workers.process import WorkerSetup


def fuzz_command(
    minutes: Annotated[float, typer.Option(min=0.0, help="How long to draw.")] = 10.0,
    releases: option.Releases = "2.14.0",
    seed: Annotated[int, typer.Option(help="Another seed draws other programs.")] = 0,
    out: Annotated[
        Path, typer.Option(help="The campaign's folder; one that has a journal is gone on with.")
    ] = option.RESULTS / "fuzz",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Draw split programs, judge them, and shrink what no known defect explains.

    The folder has a journal, and Hypothesis's examples. Exit code 1 says that something new failed.
    """
    toolchain = toolchain_for(wheelhouse, offline)
    subjects = choose_subjects(toolchain, load_catalogue(), releases=releases, built_in=False)
    setup = WorkerSetup(
        python=sys.executable,
        subjects=subjects,
        seed=0,
        log_folder=out / "logs",
        corpus_digest="",
        library=toolchain.emulated_runtime(),
    )
    cells = tuple(
        CellKey(NAME, NONSTRICT, spec.subject, route)
        for spec in subjects
        for route in spec.routes
        if not route.row.dynamic and route not in (Route.CROSS, Route.PLAIN)
    )
    judge = Judge(setup)
    campaign = Campaign(judge, cells, read_register(), out, seed, tell)
    try:
        campaign.run(minutes * 60)
    finally:
        judge.close()
    tell(campaign.progress)
    for find in campaign.finds.values():
        tell(f"  {find.cause.text} ({len(find.blueprint.steps)} steps)")
    if campaign.broken:
        raise SurroundingsError(
            f"the harness itself failed in {len(campaign.broken)} cells; the tracebacks are in "
            f"{out / 'journal.jsonl'}"
        )
    return ExitCode.RED if campaign.finds else ExitCode.GREEN
