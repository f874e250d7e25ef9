"""`replay`: the commits of Torch-TensorRT's history, each held against its parent."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode
from harness.base.files import replace_file
from harness.base.program import command_line
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.clusters import workers_on
from harness.cli.common import cases_here, err, lanes, tell, toolchain_for
from harness.cli.interrupted import same_command_goes_on
from harness.register.expected import read_expectations
from harness.run.options import RunOptions
from harness.run.progress import progress_for
from harness.run.replay import SINCE, replay, telling_models
from harness.wire.routes import Lane


def replay_command(
    clone: Annotated[Path, typer.Option(help="A clone of Torch-TensorRT; a bare one will do.")],
    since: Annotated[str, typer.Option(help="Commits of HEAD since this day.")] = SINCE,
    lane: option.BothLanes = f"{Lane.GRAPH},{Lane.PACKAGE}",
    models: Annotated[
        int, typer.Option(min=1, help="Models of the package lane: those that tell most.")
    ] = 6,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Begin nothing more after so long.")
    ] = None,
    expression: option.Expression = "",
    on: option.On = "",
    jobs: option.WorkerCount = None,
    timeout: option.Timeout = 120.0,
    out_dir: Annotated[
        Path, typer.Option("--out", help="The replay's folder; one that was begun goes on.")
    ] = option.RESULTS / "replay",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Hold each commit of a clone that touched inlining or saving against its parent.

    The exit code says nothing of the commits: 0 where the replay came to its end.
    """
    # Here: whoever is refused need not wait until what draws pages is imported.
    from harness.report.pages.replay_page import replay_files, replay_headline

    telling = telling_models(read_expectations().table, cases_here().cases, models)
    options = RunOptions(
        lanes=lanes(lane),
        expression=expression,
        timeout_s=timeout,
        out=out_dir,
        command_line=command_line(),
    )
    toolchain, catalogue = toolchain_for(wheelhouse, offline), load_catalogue()
    with (
        same_command_goes_on(),
        closing(progress_for(err)) as progress,
        workers_on(on, toolchain, jobs) as (launcher, count),
    ):
        options = dataclasses.replace(options, launcher=launcher, jobs=count)
        replayed = replay(
            clone, since, options, " or ".join(telling), toolchain, catalogue, progress, minutes
        )
    for name, data in replay_files(replayed, expression or ", ".join(telling)):
        replace_file(out_dir / name, data)
    tell(replay_headline(replayed))
    tell(f"page: {out_dir / 'replay.md'}")
    return ExitCode.GREEN
