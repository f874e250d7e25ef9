"""What there is to run, and on what: `list`, `show`, `explain`, `doctor`, `clean`."""

from __future__ import annotations

import difflib
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.program import PROGRAM
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, cases_here, out, say, tell, toolchain_for
from harness.register.defects import read_register
from harness.register.facts import Place
from harness.register.standing import read_expectations
from harness.report.flattened import drawn, write
from harness.run import doctor as checks
from harness.runs.candidates import candidates_of, changed_since, file_of
from harness.runs.case_filter import select_cases
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import choose_subjects
from harness.subjects.packages import whole_package
from harness.subjects.specs import builtin_subjects, release_subject, torch_subject
from harness.toolchain import Toolchain, clean
from harness.toolchain.rig_client import absolute, ask_rig, graph_lane, package_lane, split_text
from harness.wire.builders import SEGMENT
from harness.wire.record_json import to_json
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind


def list_command(
    expression: option.Expression = "",
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    corpus: option.CorpusPlaces = None,
    as_json: option.Json = False,
) -> None:
    """List the cases, and the defect that each one would catch."""
    known = cases_here(absolute(corpus or ()))
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
    draw: Annotated[
        Path | None, typer.Option(help="A folder: draw it, and what --subject makes of it.")
    ] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="A release or inliner whose graph is drawn; often.")
    ] = None,
) -> None:
    """Show a case's split graph: its engines, its fallbacks, and what feeds what."""
    places = absolute(corpus or ())
    if Lane.GRAPH not in known_case(case, places).lanes:
        raise UsageError(
            f"{case} goes through the package lane alone, where each release splits it anew; "
            f"`{PROGRAM} explain {case} --subject RELEASE` shows how"
        )
    if draw is None:
        if subject:
            raise UsageError("--subject says whose graph is drawn; give --draw FOLDER too")
        print(split_text(sys.executable, case, captures(capture)[0], places))
        return
    toolchain = toolchain_for()
    drawn_by = [subject_for(name, None, "", toolchain, option.RESULTS) for name in subject or ()]
    files = drawn(toolchain.emulated_runtime(), case, captures(capture)[0], drawn_by, places)
    for path in write(files, draw):
        tell(str(path))


def explain_command(
    case: Annotated[str, typer.Argument(help="A case's name, or a defect's id.")],
    subject: option.Subject = "",
    route: Annotated[str, typer.Option(help="One route; all of the subject's by default.")] = "",
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    lane: LaneOfCase = "",
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
    places = places_of(corpus, run, out_dir)
    case = case_of(case)
    info = known_case(case, places)
    toolchain = toolchain_for(wheelhouse, offline)
    mode = captures(capture)[0]
    for number, chosen in enumerate(lanes_meant(info, lane, route, subject, bool(places))):
        if chosen is Lane.PACKAGE:
            spec = packaged_subject(subject, exporter, like, toolchain, out_dir, run, wheel)
            found, site = whole_package(spec, toolchain, load_catalogue(), builder)
            known = routes_of(info, found.package_routes)
            setup, name = package_lane(site, places, seed), site.release
        else:
            spec = subject_for(subject, exporter, like, toolchain, out_dir, run, wheel)
            known, name = routes_of(info, spec.routes), spec.subject
            setup = graph_lane(toolchain.emulated_runtime(), [spec], places, seed)
        routes = chosen_routes(subject, known, route, case)
        asked = {"subject": name, "case": case, "capture": mode, "routes": routes}
        try:
            for line in ask_rig(sys.executable, "explain", **setup, **asked):
                tell(line)
        except UsageError as error:
            if not number:
                raise
            tell(f"the {chosen} lane, which has the inliner alone, does not answer: {error.what}")
        for line in [] if places else known_defects(info, mode, subject, routes, like):
            tell(line)


def places_of(corpus: Sequence[str] | None, run: str, out_dir: Path) -> tuple[str, ...]:
    """Where the cases are: as the user says, or else as the run that he names has them."""
    if corpus or run == LATEST:
        return absolute(corpus or ())
    return RunFolder.open(run, out_dir).provenance().corpus


def case_of(name: str) -> str:
    """The case that a name means: a defect's id is its minimal case."""
    defect = read_register().by_id.get(name)
    return defect.minimal_case if defect else name


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


LaneOfCase = Annotated[
    str,
    typer.Option("--lane", help="graph or package; that of the route, or else the case's first."),
]


def lane_of(case: CaseInfo, lane: str, route: str) -> Lane:
    """The lane that a user means: the one that is named, the route's, or the case's first."""
    if route and route not in list(Route):
        raise UsageError(f"--route {route!r}: there are {', '.join(Route)}")
    meant = lane or (Route(route).lane if route else case.lanes[0])
    if meant not in case.lanes:
        raise UsageError(
            f"{case.name} goes through the lane {' and '.join(case.lanes)}, and not {meant}"
        )
    return Lane(meant)


def lanes_meant(case: CaseInfo, lane: str, route: str, subject: str, own: bool) -> tuple[Lane, ...]:
    """The lanes that a user means: of his own case, both that the subject has, the package first.

    Args:
        own: whether the case is not the project's.
    """
    releases = load_catalogue()
    whole = subject in releases.versions and bool(releases.get(subject).package_routes)
    if own and not lane and not route and whole and {*case.lanes} > {Lane.PACKAGE}:
        return (Lane.PACKAGE, Lane.GRAPH)
    return (lane_of(case, lane, route),)


def routes_of(case: CaseInfo, known: Sequence[Route]) -> tuple[Route, ...]:
    """The routes of a subject that a case is asked by."""
    return tuple(each for each in known if case.dynamic or not each.row.dynamic)


def chosen_routes(subject: str, known: Sequence[str], route: str, case: str) -> tuple[str, ...]:
    """The route that a user names, or all that a subject has."""
    if not known or (route and route not in known):
        has = f"it has {', '.join(known)}" if known else "it has none: the lane begins with 2.7.0"
        raise UsageError(f"{subject} has no route {route or 'to save ' + case}; {has}")
    return (route,) if route else tuple(known)


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


def known_case(name: str, places: Sequence[str]) -> CaseInfo:
    corpus = cases_here(places)
    if name not in corpus.names:
        near = difflib.get_close_matches(name, corpus.names, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(f"no case is named {name}{hint} `{PROGRAM} list` shows them all")
    return next(case for case in corpus.cases if case.name == name)


def subject_for(
    name: str,
    exporter: Path | None,
    like: str,
    toolchain: Toolchain,
    out_dir: Path,
    run: str = LATEST,
    wheel: Path | None = None,
) -> SubjectSpec:
    """The subject that a user names: built in, a release, a file, or a candidate of a run."""
    if exporter is not None or wheel is not None:
        chosen = choose_subjects(
            toolchain, load_catalogue(), exporter=exporter, wheel=wheel, like=like
        )
        return _asked(next(spec for spec in chosen if spec.kind is SubjectKind.FILE))
    if not name:
        raise UsageError("name a --subject, such as 2.13.0, or give an --exporter or a --wheel")
    # The commands that a run prints name its candidates by their subject alone.
    for spec in (*builtin_subjects(), torch_subject()):
        if spec.subject == name:
            return spec
    if found := _candidate(name, out_dir, run):
        return found
    catalogue = load_catalogue()
    catalogue.get(name)  # a specifier would name several
    chosen = choose_subjects(toolchain, catalogue, releases=name)
    return _asked(next(spec for spec in chosen if spec.subject == name))


def packaged_subject(
    name: str,
    exporter: Path | None,
    like: str,
    toolchain: Toolchain,
    out_dir: Path,
    run: str = LATEST,
    wheel: Path | None = None,
) -> SubjectSpec:
    """The subject whose whole package a user names; a release's inliner alone is not fetched."""
    catalogue = load_catalogue()
    if exporter is None and wheel is None and name in catalogue.versions:
        return release_subject(catalogue.get(name), None, "its inliner alone was not asked for")
    return subject_for(name, exporter, like, toolchain, out_dir, run, wheel)


def _candidate(name: str, out_dir: Path, run: str) -> SubjectSpec | None:
    """The candidate of that name with the file that the run kept; None if there is no such one."""
    if run == LATEST and not (out_dir / LATEST).exists():
        return None
    folder = RunFolder.open(run, out_dir)
    for spec in candidates_of(folder):
        if spec.subject == name:
            if not file_of(spec).is_file():
                raise UsageError(
                    f"{file_of(spec)} is gone, and run {folder.run_id} has no copy of it",
                    "run the candidate again",
                )
            if file := changed_since(folder, name):
                say(f"{file} has changed since; this is as it was in run {folder.run_id}")
            return spec
    return None


def _asked(spec: SubjectSpec) -> SubjectSpec:
    if spec.unavailable:
        raise SurroundingsError(f"{spec.subject} cannot be had: {spec.unavailable}")
    return spec
