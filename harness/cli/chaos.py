"""`chaos`: runs that are disturbed at random, to see that no cell is lost or doubled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated, Final

import typer

from harness.base.errors import ExitCode
from harness.base.files import replace_file
from harness.base.words import plural
from harness.cli import options as option
from harness.cli.common import say, tell
from harness.run.chaos import chaos_to_json, disturb

_CASES: Final = "relu_once or pr_4360 or named_like_an_earlier or residual_over or two_outputs"


def chaos_command(
    seconds: Annotated[
        float, typer.Option(min=0.0, help="So long; a turn that has begun ends.")
    ] = 600.0,
    expression: option.Expression = _CASES,
    releases: option.Releases = "2.13.0,2.14.0",
    jobs: option.Jobs = option.CPUS,
    seed: option.Seed = 0,
    out_dir: Annotated[Path, typer.Option("--out", help="A folder, which is made anew.")] = (
        option.RESULTS / "chaos"
    ),
) -> int:
    """Kill, tear, fill and jump at random: is every cell there once, and as it was undisturbed?"""
    if out_dir.exists():
        shutil.rmtree(out_dir)
    asked = ["-k", expression, "--releases", releases, "--jobs", str(jobs)]
    told = disturb(asked, out_dir.absolute(), seconds, seed, say)
    replace_file(
        out_dir / "chaos.json", (json.dumps(chaos_to_json(told), indent=2) + "\n").encode()
    )
    tell(f"{plural(told.turns, 'run')}, {told.cells:,} cells, seed {told.seed}")
    for what, count in sorted(told.strikes.items()):
        tell(f"  {what}: {count}")
    tell(f"  cells that tell that their worker was killed: {told.struck}")
    for fault in told.faults:
        tell(f"fault: {fault}")
    tell(f"{plural(len(told.faults), 'fault')}; {out_dir / 'chaos.json'}")
    return ExitCode.RED if told.faults else ExitCode.GREEN
