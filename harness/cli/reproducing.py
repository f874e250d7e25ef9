"""`reproduce`: a script that shows a failure with torch and a release's wheel alone."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, tell, toolchain_for
from harness.cli.inspecting import (
    LaneOfCase,
    case_of,
    chosen_routes,
    known_case,
    lanes_meant,
    packaged_subject,
    places_of,
    routes_of,
    subject_for,
)
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.runs.run_directory import LATEST
from harness.subjects.packages import whole_package
from harness.wire.builders import SEGMENT
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind


def reproduce_command(
    case: Annotated[str, typer.Argument(help="A case's name, or a defect's id.")],
    subject: Annotated[str, typer.Option(help="A release, or a candidate of a run.")] = "",
    route: Annotated[str, typer.Option(help="One route; the first that fails by default.")] = "",
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    lane: LaneOfCase = "",
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
    places = places_of(corpus, run, option.RESULTS)
    case = case_of(case)
    info = known_case(case, places)
    toolchain = toolchain_for(wheelhouse, offline)
    options = _as_given(corpus or (), exporter, wheel, like, run, lane, builder)
    script = Script("", "", "", "", "")
    for chosen in lanes_meant(info, lane, route, subject, bool(places)):
        if chosen is Lane.PACKAGE:
            spec = packaged_subject(subject, exporter, like, toolchain, option.RESULTS, run, wheel)
            release, site = whole_package(spec, toolchain, load_catalogue(), builder)
            known = routes_of(info, release.package_routes)
        else:
            spec = subject_for(subject, exporter, like, toolchain, option.RESULTS, run, wheel)
            if spec.kind in (SubjectKind.BUILTIN, SubjectKind.TORCH):
                raise UsageError(
                    f"{spec.subject} has no wheel; name a release, or give an --exporter"
                )
            known = routes_of(info, spec.routes)
        routes = chosen_routes(spec.subject, known, route, case)
        wanted = Wanted(
            case,
            captures(capture)[0],
            routes,
            spec,
            file=file.name if file else "",
            options=options,
        )
        (script,) = (
            package_scripts_for([wanted], toolchain, site, places, seed)
            if chosen is Lane.PACKAGE
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
    exporter: Path | None,
    wheel: Path | None,
    like: str,
    run: str,
    lane: str,
    builder: str,
) -> str:
    """The options that make the command that a script names find what this one found."""
    words = [word for place in corpus for word in ("--corpus", place)]
    words += ["--lane", lane] if lane else []
    words += ["--builder", builder] if builder != SEGMENT else []
    words += ["--exporter", str(exporter)] if exporter else []
    words += ["--wheel", str(wheel)] if wheel else []
    words += ["--like", like] if like else []
    words += ["--run", run] if run != LATEST else []
    return f" {shlex.join(words)}" if words else ""
