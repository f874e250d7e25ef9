"""What there is to run, and on what: `list`, `show`, `explain`, `doctor`, `clean`."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.program import PROGRAM
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, cases_here, out, tell, toolchain_for
from harness.cli.named_cells import (
    NamedCells,
    NamedSubject,
    case_of,
    known_case,
    lanes_meant,
    named_cells,
    newest_with,
    places_of,
)
from harness.gate.attribution import Attributed, attributed
from harness.register.defects import read_register
from harness.register.expected import read_expectations
from harness.register.facts import Place
from harness.report.flattened import drawn, write
from harness.run import doctor as checks
from harness.run.judged_run import with_lacking
from harness.runs.case_filter import select_cases
from harness.runs.kept_cases import kept_cases
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import around
from harness.toolchain import clean
from harness.toolchain.extra_packages import python_with
from harness.toolchain.rig_client import absolute, ask_rig, split_text
from harness.wire.builders import SEGMENT
from harness.wire.record_json import to_json
from harness.wire.records import CaseInfo, CellKey
from harness.wire.routes import Lane, Route


def list_command(
    expression: option.Expression = "",
    family: option.Families = None,
    corpus: option.CorpusPlaces = None,
    python: option.Python = "",
    with_: option.With = None,
    as_json: option.Json = False,
) -> None:
    """List the cases, and the defect that each one would catch."""
    toolchain = python_with(toolchain_for(), python, with_)
    known = cases_here(absolute(corpus or ()), toolchain.python)
    cases = select_cases(known.cases, expression, tuple(family or ()))
    if as_json:
        for case in cases:
            print(json.dumps(to_json(case)))
        return
    width = max(len(case.name) for case in cases)
    for family_name, members in itertools.groupby(cases, key=lambda case: case.family):
        tell(f"{family_name}")
        for case in members:
            handmade = " (handmade)" if case.origin == "handmade" else ""
            tell(f"  {case.name:{width}}  {', '.join(case.lanes):14}  {case.catches}{handmade}")
    families = len({case.family for case in cases})
    out.print(f"{len(cases)} cases in {families} families, corpus {known.digest[:12]}")


def show_command(
    case: Annotated[str, typer.Argument(help="A case's name.")],
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    python: option.Python = "",
    with_: option.With = None,
    draw: Annotated[
        Path | None, typer.Option(help="A folder: draw it, and what --subject makes of it.")
    ] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="A release or inliner whose graph is drawn; often.")
    ] = None,
) -> None:
    """Show a case's split graph: its engines, its fallbacks, and what feeds what."""
    places = absolute(corpus or ())
    toolchain = python_with(toolchain_for(), python, with_)
    if Lane.GRAPH not in known_case(case, places, toolchain.python).lanes:
        raise UsageError(
            f"{case} goes through the package lane alone, where each release splits it anew; "
            f"`{PROGRAM} explain {case} --subject RELEASE` shows how"
        )
    if draw is None:
        if subject:
            raise UsageError("--subject says whose graph is drawn; give --draw FOLDER too")
        print(split_text(toolchain.python, case, captures(capture)[0], places))
        return
    drawn_by = [NamedSubject(name).spec(toolchain) for name in subject or ()]
    mode = captures(capture)[0]
    files = drawn(toolchain.emulated_runtime(), case, mode, drawn_by, places, toolchain.python)
    for path in write(files, draw):
        tell(str(path))


def explain_command(
    case: option.CaseName,
    subject: option.Subject = "",
    route: Annotated[str, typer.Option(help="One route; all of the subject's by default.")] = "",
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
    run: option.OfRun = LATEST,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    out_dir: option.Out = option.RESULTS,
) -> None:
    """Run one cell again, and tell which node reads what and what it should read."""
    places, its_python = places_of(case, corpus, run, out_dir)
    toolchain = python_with(toolchain_for(wheelhouse, offline, its_python), python, with_)
    info = case_of(case, places, toolchain.python)
    if not (subject or exporter or wheel):
        subject = newest_with(case)
    mode = captures(capture)[0]
    named = NamedSubject(subject, exporter, wheel, like, run, out_dir)
    for number, chosen in enumerate(lanes_meant(info, lane, route, subject, bool(places))):
        cells = named_cells(info, named, chosen, route, builder, toolchain, places, seed)
        name = cells.site.release if cells.site else cells.spec.subject
        asked = {"case": info.name, "capture": mode, "routes": cells.routes}
        try:
            for line in ask_rig(toolchain.python, "explain", subject=name, **cells.setup, **asked):
                tell(line)
        except UsageError as error:
            if not number:
                raise
            tell(f"the {chosen} lane, which has the inliner alone, does not answer: {error.what}")

        def is_one(key: CellKey, cells: NamedCells = cells) -> bool:
            same = (key.case, key.capture, key.subject) == (info.name, mode, cells.spec.subject)
            return same and key.route in cells.routes and str(key.builder).startswith(builder)

        known = (
            told_of_own(own_defects(is_one, places, run, out_dir))
            if places
            else known_defects(info, mode, subject, cells.routes, like)
        )
        for line in known:
            tell(line)


def known_defects(
    case: CaseInfo, capture: str, subject: str, routes: Sequence[str], like: str
) -> list[str]:
    """The defects that the table expects in these cells, a line each."""
    known = read_expectations(undecided=True)
    of, found = known.register.by_id, dict[str, list[str]]()
    for route in routes:
        place = Place(Route(route).lane, case.name, capture, route)
        for entry in known.table.expected(place, known.table.stands_for(subject, like)).values():
            found.setdefault(entry.defect, []).append(route)
    return [
        f"known defect {name}, by {', '.join(dict.fromkeys(by))}: {of[name].title}"
        for name, by in found.items()
        if name in of
    ]


def own_defects(
    of: Callable[[CellKey], bool], places: Sequence[str], run: str, out: Path
) -> list[Attributed]:
    """What cells of the user's own cases at these places show in a run, as its report has it.

    Empty where there is no such run, or where its cases are others.
    """
    path = RunFolder.find(run, out)
    folder = None if path is None else RunFolder(path)
    kept = None if folder is None else kept_cases(folder)
    if folder is None or kept is None or kept.places != tuple(places):
        return []
    known = with_lacking(read_expectations(corpus=places), folder)
    asked = [record for record in folder.records().values() if of(record.key)]
    near = around(folder.provenance().subjects)
    return attributed(asked, known.table, known.register, near)


def told_of_own(shown: Iterable[Attributed]) -> list[str]:
    """The defects that a user's cells bear the signs of; those that look alike share a line."""
    of, found = read_register().by_id, dict[tuple[str, ...], list[str]]()
    for each in shown:
        if names := (each.defect,) if each.defect else each.alike:
            found.setdefault(names, []).append(each.key.route)
    return [
        f"known defect {' or '.join(names)}, by {', '.join(dict.fromkeys(by))}: "
        f"{' or '.join(of[name].title for name in names)}"
        for names, by in found.items()
    ]


def doctor_command() -> int:
    """Check what a run needs on this machine, from Python to memory.

    It also lists what the package lane changes in its own processes.
    """
    findings = checks.examine(toolchain_for(), tuple(load_catalogue()))
    for finding in findings:
        sign = "ok " if finding.ok else "NOT"
        advice = f" -> {finding.advice}" if finding.advice else ""
        tell(f"{sign} {finding.name}: {finding.detail}{advice}")
    if all(finding.ok for finding in findings if finding.name == "torch"):
        tell("the package lane changes in its own processes, and nowhere else:")
        for line in ask_rig(sys.executable, "patches"):
            tell(f"    {line}")
    return int(ExitCode.GREEN if all(finding.ok for finding in findings) else ExitCode.FAILED)


def clean_command(
    wheels: Annotated[bool, typer.Option(help="The cached wheels too.")] = True,
    native: Annotated[bool, typer.Option(help="The native builds too.")] = True,
    packages: Annotated[
        bool, typer.Option(help="Packages put together, and their engines, too.")
    ] = True,
    kept: Annotated[bool, typer.Option("--kept", help="The kept verdicts alone.")] = False,
) -> None:
    """Remove what can be made again: wheels, builds, packages, kept verdicts. Runs stay."""
    cache = toolchain_for().cache
    if kept:
        freed = clean(cache, wheels=False, native=False, packages=False)
    else:
        freed = clean(cache, wheels=wheels, native=native, packages=packages)
    out.print(f"{freed / 1e6:.1f} MB freed")
