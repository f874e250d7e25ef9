"""`reproduce`: a script that shows a failure with torch and a release's wheel alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.cli import options as option
from harness.cli.common import captures, tell, toolchain_for
from harness.cli.named_cells import (
    NamedSubject,
    case_of,
    lanes_meant,
    named_cells,
    newest_with,
    places_of,
)
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.runs.run_directory import LATEST
from harness.toolchain.extra_packages import python_with
from harness.wire.builders import SEGMENT
from harness.wire.vocabulary import SubjectKind


def reproduce_command(
    case: option.CaseName,
    subject: Annotated[str, typer.Option(help="A release, or a candidate of a run.")] = "",
    route: Annotated[str, typer.Option(help="One route; the first that fails by default.")] = "",
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    python: option.Python = "",
    with_: option.With = None,
    lane: option.LaneOfCase = "",
    builder: option.OneBuilder = SEGMENT,
    seed: option.RunSeed = 0,
    exporter: option.Exporter = None,
    wheel: option.Wheel = None,
    like: option.Like = "",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    run: option.OfRun = LATEST,
    file: Annotated[
        Path | None, typer.Option("--out", help="The file to write; else it is printed.")
    ] = None,
) -> int:
    """Print a script that shows a case's failure with torch and the release's wheel alone.

    In the package lane it makes a user's calls, and takes the whole package and a GPU.
    """
    places, its_python = places_of(case, corpus, run, option.RESULTS)
    toolchain = python_with(toolchain_for(wheelhouse, offline, its_python), python, with_)
    info = case_of(case, places, toolchain.python)
    if not (subject or exporter or wheel):
        subject = newest_with(case)
    named = NamedSubject(subject, exporter, wheel, like, run)
    options = _as_given(corpus or (), named, lane, builder, python, with_ or ())
    script = Script("", "", "", "", "")
    for chosen in lanes_meant(info, lane, route, subject, bool(places)):
        cells = named_cells(info, named, chosen, route, builder, toolchain, places, seed)
        spec = cells.spec
        if spec.kind in (SubjectKind.BUILTIN, SubjectKind.TORCH):
            raise UsageError(f"{spec.subject} has no wheel; name a release, or give an --exporter")
        wanted = Wanted(
            info.name,
            captures(capture)[0],
            cells.routes,
            spec,
            file=file.name if file else "",
            options=options,
        )
        (script,) = (
            package_scripts_for([wanted], toolchain, cells.site, places, seed)
            if cells.site
            else scripts_for([wanted], toolchain, places, seed)
        )
        if script.text:
            break
    if not script.text:
        tell(f"no script: {script.why_not}")
        return ExitCode.INCONCLUSIVE
    if file is None:
        print(script.text, end="")
        return ExitCode.GREEN
    replace_file(file, script.text.encode())
    tell(f"{file}: {script.label}; it says: {script.said}")
    return ExitCode.GREEN


def _as_given(
    corpus: Sequence[str],
    named: NamedSubject,
    lane: str,
    builder: str,
    python: str,
    packages: Sequence[str],
) -> str:
    """The options that make the command that a script names find what this one found."""
    words = [word for place in corpus for word in ("--corpus", place)]
    words += ["--python", python] if python else []
    words += [word for package in packages for word in ("--with", package)]
    words += ["--lane", lane] if lane else []
    words += ["--builder", builder] if builder != SEGMENT else []
    words += ["--exporter", str(named.exporter)] if named.exporter else []
    words += ["--wheel", str(named.wheel)] if named.wheel else []
    words += ["--like", named.like] if named.like else []
    words += ["--run", named.run] if named.run != LATEST else []
    return f" {shlex.join(words)}" if words else ""
