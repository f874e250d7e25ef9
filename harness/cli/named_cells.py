"""The cells that a user names to `explain`, `reproduce` and `reduce`."""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import SurroundingsError, UsageError
from harness.base.program import PROGRAM
from harness.catalogue.releases import load_catalogue
from harness.cli.common import cases_here, say
from harness.cli.options import RESULTS
from harness.register.defects import read_register
from harness.register.expected import read_expectations
from harness.runs.candidates import candidates_of, changed_since, file_of
from harness.runs.kept_cases import kept_cases
from harness.runs.plan import asked_by
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import choose_subjects
from harness.subjects.packages import whole_package
from harness.subjects.specs import builtin_subjects, release_subject, torch_subject
from harness.toolchain import PackageSite, Toolchain
from harness.toolchain.rig_client import absolute, graph_lane, package_lane
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind


@dataclass(frozen=True)
class NamedSubject:
    """A subject as a user names it: by its name, or by the file or wheel that is a candidate."""

    name: str
    exporter: Path | None = None
    wheel: Path | None = None
    like: str = ""
    run: str = LATEST
    out_dir: Path = RESULTS

    def spec(self, toolchain: Toolchain) -> SubjectSpec:
        """The subject itself: built in, a release, a file, or a candidate of a run."""
        catalogue = load_catalogue()
        if self.exporter is not None or self.wheel is not None:
            chosen = choose_subjects(
                toolchain, catalogue, exporter=self.exporter, wheel=self.wheel, like=self.like
            )
            return _at_hand(next(spec for spec in chosen if spec.kind is SubjectKind.FILE))
        if not self.name:
            raise UsageError("name a --subject, such as 2.13.0, or give an --exporter or a --wheel")
        # The commands that a run prints name its candidates by their subject alone.
        for spec in (*builtin_subjects(), torch_subject()):
            if spec.subject == self.name:
                return spec
        if found := self._candidate():
            return found
        catalogue.get(self.name)  # a specifier would name several
        chosen = choose_subjects(toolchain, catalogue, releases=self.name)
        return _at_hand(next(spec for spec in chosen if spec.subject == self.name))

    def packaged(self, toolchain: Toolchain) -> SubjectSpec:
        """The subject whose whole package is meant; a release's inliner alone is not fetched."""
        catalogue = load_catalogue()
        if self.exporter is None and self.wheel is None and self.name in catalogue.versions:
            reason = "its inliner alone was not asked for"
            return release_subject(catalogue.get(self.name), None, reason)
        return self.spec(toolchain)

    def _candidate(self) -> SubjectSpec | None:
        """The candidate of that name with the file that the run kept; None if there is none."""
        if self.run == LATEST and not (self.out_dir / LATEST).exists():
            return None
        folder = RunFolder.open(self.run, self.out_dir)
        for spec in candidates_of(folder):
            if spec.subject == self.name:
                if not file_of(spec).is_file():
                    raise UsageError(
                        f"{file_of(spec)} is gone, and run {folder.run_id} has no copy of it",
                        "run the candidate again",
                    )
                if file := changed_since(folder, self.name):
                    say(f"{file} has changed since; this is as it was in run {folder.run_id}")
                return spec
        return None


@dataclass(frozen=True)
class NamedCells:
    """The cells of one case and one subject in one lane, by these routes.

    ``site`` is the subject's whole package, in the package lane; ``setup`` is what a question to
    the rig is given.
    """

    spec: SubjectSpec
    routes: tuple[Route, ...]
    builder: str
    site: PackageSite | None
    setup: Mapping[str, Any]


def named_cells(
    case: CaseInfo,
    subject: NamedSubject,
    lane: Lane,
    route: str,
    builder: str,
    toolchain: Toolchain,
    places: Sequence[str],
    seed: int,
) -> NamedCells:
    """What a user means in one lane.

    Raises:
        UsageError, SurroundingsError, Unavailable: the subject or its package cannot be had, or
            does not have the route.
    """
    if lane is Lane.PACKAGE:
        spec = subject.packaged(toolchain)
        release, site = whole_package(spec, toolchain, load_catalogue(), builder)
        routes = _routes(spec, case, release.package_routes, route)
        setup = package_lane(site, places, seed)
        return NamedCells(spec, routes, builder, site, setup)
    spec = subject.spec(toolchain)
    routes = _routes(spec, case, spec.routes, route)
    setup = graph_lane(toolchain.emulated_runtime(), [spec], places, seed)
    return NamedCells(spec, routes, builder, None, setup)


def _routes(
    spec: SubjectSpec, case: CaseInfo, known: Sequence[Route], route: str
) -> tuple[Route, ...]:
    """The route that a user names, or all that a subject has and a run asks the case by."""
    known = [each for each in known if case.fits(each)]
    if not known or (route and route not in known):
        has = f"it has {', '.join(known)}" if known else "it has none: the lane begins with 2.7.0"
        raise UsageError(f"{spec.subject} has no route {route or 'to save ' + case.name}; {has}")
    return (Route(route),) if route else tuple(each for each in known if asked_by(case, each))


def places_of(
    case: str, corpus: Sequence[str] | None, run: str, out_dir: Path
) -> tuple[tuple[str, ...], str]:
    """Where the cases are, and the Python that has what they import.

    Both are as the user says, or else as the run that he names had them. The latest run is meant
    where nothing is named and it kept a case of this name; the project's cases are, else.
    """
    if corpus:
        return absolute(corpus), sys.executable
    if run == LATEST and RunFolder.find(run, out_dir) is None:
        return (), sys.executable
    folder = RunFolder.open(run, out_dir)
    kept = kept_cases(folder)
    if run == LATEST and case not in {each.name for each in (kept.cases if kept else ())}:
        return (), sys.executable
    if kept is None:
        return folder.provenance().corpus, sys.executable
    if kept.words:
        say(kept.words)
    return kept.runnable(), kept.interpreter


def case_of(name: str, places: Sequence[str], python: str) -> CaseInfo:
    """The case that a name means: a defect's id is its minimal case."""
    defect = read_register().by_id.get(name)
    return known_case(defect.minimal_case if defect else name, places, python)


def newest_with(name: str) -> str:
    """The newest release that shows the defect of this id; empty where no defect is meant."""
    known = read_expectations(undecided=True)
    if name not in known.register.by_id:
        return ""
    shown = known.standings.newest_with(name)
    return shown.release if shown else ""


def known_case(name: str, places: Sequence[str], python: str = sys.executable) -> CaseInfo:
    corpus = cases_here(places, python)
    if name not in corpus.names:
        near = difflib.get_close_matches(name, corpus.names, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        places_told = "".join(f" --corpus {shlex.quote(place)}" for place in places)
        raise UsageError(
            f"no case is named {name}{hint or ';'} `{PROGRAM} list{places_told}` shows them all"
        )
    return next(case for case in corpus.cases if case.name == name)


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


def _at_hand(spec: SubjectSpec) -> SubjectSpec:
    if spec.unavailable:
        raise SurroundingsError(f"{spec.subject} cannot be had: {spec.unavailable}")
    return spec
