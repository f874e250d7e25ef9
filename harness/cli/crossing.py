"""`crossing`: programs that one release saved, loaded by each other one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.base.program import command_line
from harness.catalogue.releases import Catalogue, Release, load_catalogue
from harness.cli import options as option
from harness.cli.common import listed, say, tell, toolchain_for
from harness.crossing.expected import CROSSING_FILE, read_classes
from harness.crossing.folder import crossing_journal, open_crossing
from harness.crossing.judge import (
    CASES,
    ROUTES,
    idle_parts,
    judge_pairs,
    plan_programs,
    saving_routes,
    settle,
)
from harness.crossing.run import cross
from harness.report.pages.crossing_page import (
    CrossingView,
    crossing_html,
    crossing_markdown,
    headline,
    table_files,
)
from harness.runs.case_filter import select_cases
from harness.runs.provenance import collect_provenance, provenance_to_json
from harness.subjects.choosing import released
from harness.subjects.stations import stations_of, toolchains_of
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import read_corpus
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane

_SHOWN = 12


def crossing_command(
    releases: option.Releases = "",
    routes: Annotated[str, typer.Option(help="Routes of the package lane.")] = ",".join(ROUTES),
    expression: Annotated[
        str, typer.Option("-k", help="Cases that match, as pytest's -k, in place of the four.")
    ] = "",
    python: Annotated[
        list[str] | None,
        typer.Option(help="RELEASE=PATH: the Python of that release, with a torch of its own."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds for one program.")] = 120.0,
    seed: option.Seed = 0,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="The run's folder; one that has a crossing is gone on with."),
    ] = None,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    expectations: Annotated[
        Path, typer.Option(help="The classes of expected failures.")
    ] = CROSSING_FILE,
) -> int:
    """Save with each release, load with each other one, and judge what is loaded."""
    classes = read_classes(expectations)
    catalogue = load_catalogue()
    known = tuple(release for release in catalogue if release.package_routes)
    chosen = _releases(releases, catalogue)
    toolchain = toolchain_for(wheelhouse, offline)
    toolchains = toolchains_of(chosen, toolchain, python or (), catalogue)
    corpus = read_corpus(toolchain.python, cache=toolchain.cache)
    cases = corpus.of_lane(Lane.PACKAGE)
    programs = plan_programs(chosen, _cases(cases, expression), _routes(routes, known))
    if not programs:
        raise UsageError(f"--routes {routes!r}: no release saves any of these cases so")
    specs = [released(toolchains[release.version], release) for release in chosen]
    stations = stations_of(specs, toolchains, catalogue)
    provenance = collect_provenance(
        root=PROJECT_ROOT,
        corpus_digest=corpus.digest,
        subjects=stations.subjects,
        seeds=(seed,),
        command_line=command_line(places=False),
    )
    folder = out_dir or option.RESULTS / "crossing" / provenance.run_id
    provenance, warnings = open_crossing(folder, provenance, stations.at)
    for warning in warnings:
        say(f"goes on all the same: {warning}")
    with crossing_journal(folder) as journal:
        cross(stations.at, programs, journal, folder, seed=seed, timeout_s=timeout, tell=say)
        pairs = settle(
            programs,
            [release.version for release in chosen],
            journal.saved,
            journal.loaded,
            stations.unavailable,
        )
    judged = judge_pairs(
        pairs,
        classes,
        tuple(
            idle_parts(
                classes, [release.version for release in known], [case.name for case in cases]
            )
        ),
    )
    _write(
        folder,
        CrossingView(
            judged=judged,
            classes=classes,
            releases={version: at.described for version, at in stations.at.items()},
            provenance=provenance_to_json(provenance),
        ),
    )
    tell(headline(judged))
    for sentence in [*judged.faults, *(each.sentence for each in judged.unexpected)][:_SHOWN]:
        tell(f"  {sentence}")
    for version, reason in stations.unavailable.items():
        tell(f"  not asked: {version}: {reason}")
    tell(f"table: {folder / 'crossing.html'}")
    return int(judged.gate.exit_code)


def _releases(asked: str, catalogue: Catalogue) -> tuple[Release, ...]:
    chosen = catalogue.select(asked) if asked else tuple(catalogue)
    whole = tuple(release for release in chosen if release.package_routes)
    if asked and len(whole) < len(chosen):
        names = ", ".join(release.version for release in chosen if release not in whole)
        raise UsageError(f"--releases {asked!r}: the whole package of {names} cannot be run here")
    return whole


def _routes(text: str, releases: Sequence[Release]) -> tuple[str, ...]:
    known = list(dict.fromkeys(route for each in releases for route in saving_routes(each)))
    asked = listed(text)
    if not asked or set(asked) - set(known):
        raise UsageError(f"--routes {text!r}: {', '.join(known)}")
    return asked


def _cases(known: Sequence[CaseInfo], expression: str) -> tuple[CaseInfo, ...]:
    if expression:
        return select_cases(known, expression)
    by_name = {case.name: case for case in known}
    return tuple(by_name[name] for name in CASES)


def _write(folder: Path, view: CrossingView) -> None:
    files = [
        *table_files(view.judged),
        ("crossing.md", crossing_markdown(view).encode()),
        ("crossing.html", crossing_html(view).encode()),
    ]
    for name, data in files:
        replace_file(folder / name, data)
