"""`plan`: the cases of a run dealt out to a matrix of jobs."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import typer

from harness.base.words import plural
from harness.cli import options as option
from harness.cli.common import cases_here, lanes, say, tell
from harness.runs.case_filter import select_cases
from harness.runs.run_folder import RunFolder
from harness.runs.sharding import seconds_of_cases, shards
from harness.toolchain.rig_client import absolute
from harness.wire.routes import Lane


class Format(enum.StrEnum):
    GITHUB = "github"
    JSON = "json"


def plan_command(
    times: Annotated[
        str, typer.Argument(help="A run of the same lanes that measured the cases: folder or id.")
    ] = "latest",
    count: Annotated[int, typer.Option("--shards", min=1, help="How many jobs.")] = 4,
    form: Annotated[
        Format, typer.Option("--format", help="github: a line for a job's output; or json.")
    ] = Format.JSON,
    expression: option.Expression = "",
    lane: option.BothLanes = f"{Lane.GRAPH},{Lane.PACKAGE}",
    full: Annotated[bool, typer.Option("--full", help="As of run.")] = False,
    corpus: option.CorpusPlaces = None,
    out_dir: option.Out = option.RESULTS,
) -> None:
    """Deal the cases out to jobs so that all end together; each job runs `run --cases`."""
    known = cases_here(absolute(corpus or ())).cases
    asked = {Lane(name) for name in lanes(lane)}
    names = [case.name for case in select_cases(known, expression, full=full, lanes=asked)]
    seconds = seconds_of_cases(RunFolder.open(times, out_dir).records().values())
    parts = shards(names, seconds, count)
    rows = [
        {
            "shard": f"{number}/{count}",
            "cases": ",".join(part.cases),
            "seconds": round(part.seconds),
        }
        for number, part in enumerate(parts, start=1)
    ]
    if unmeasured := [name for name in names if name not in seconds]:
        say(
            f"{plural(len(unmeasured), 'case')} not measured in that run: each counts as the median"
        )
    if form is Format.GITHUB:
        tell(f"matrix={json.dumps({'include': rows}, separators=(',', ':'))}")
    else:
        tell(json.dumps(rows, indent=2))
