"""Programs saved by one release and loaded by all: what is asked and expected. Pure.

A *pair* is a program (a case that one release compiled and saved by one route) and the release that
loads it, in a fresh process. Most pairs of unlike releases fail, and each failure is listed in
`expectations/crossing.toml` with its cause. The list is exact, as the expected table is: a failure
that is not listed is red, and so is a listed one that passes or fails otherwise.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.catalogue.releases import Release
from harness.gate.findings import CellClass, Gate
from harness.register.facts import NAMED_SUBJECTS, parsed_version
from harness.wire.records import CaseInfo
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome

#: One of every shape that a split can have and that every release can save both ways: engines and
#: fallbacks in turn, a nested output, weights in fallbacks, and a dynamic batch.
CASES: Final = (
    "relu_four_steps",
    "nested_output",
    "linears_in_two_fallbacks",
    "dynamic_batch",
)
ROUTES: Final = (Route.NO_RETRACE, Route.RETRACE)

OK: Final = Outcome.OK
NOT_SAVED: Final = "not-saved"  # there was nothing to load; the message is the saver's
UNSUPPORTED: Final = "unsupported"  # one of the two could not be asked here


@dataclass(frozen=True, order=True)
class Program:
    """A case that a release saves by a route."""

    saver: str
    case: str
    route: str


@dataclass(frozen=True)
class Saved:
    """What became of saving a program, with the torch that saved it."""

    program: Program
    torch: str
    outcome: str  # ``ok``, or ``symptom@stage``
    message: str = ""
    detail: str = ""
    archive_bytes: int | None = None


@dataclass(frozen=True)
class Pair:
    """One row of the results: a program, and what became of it in one loader.

    ``outcome`` is ``ok``, ``wrong-values``, ``symptom@stage``, ``not-saved`` or ``unsupported``;
    ``message`` holds no path or address. Times are in seconds, None if it did not get there.
    """

    saver: str
    loader: str
    case: str
    route: str
    outcome: str
    message: str = ""
    detail: str = ""
    saver_torch: str | None = None
    loader_torch: str | None = None
    archive_bytes: int | None = None
    load_s: float | None = None
    run_s: float | None = None

    @property
    def program(self) -> Program:
        return Program(self.saver, self.case, self.route)

    @property
    def name(self) -> str:
        return f"{self.case} [{self.saver} {self.route} -> {self.loader}]"


@dataclass(frozen=True)
class FailureClass:
    """One table of `crossing.toml`: failures that are expected, and their cause.

    Its scope is the whole product of savers, loaders, cases and routes; each pair of it must fail
    with this outcome and a message that the pattern matches whole. ``loader_torch``, if it is not
    empty, narrows it to loaders with such a torch.
    """

    id: str
    savers: tuple[str, ...]
    loaders: tuple[str, ...]
    cases: tuple[str, ...]
    routes: tuple[str, ...]
    outcome: str
    message: str
    upstream: str
    why: str
    loader_torch: str = ""

    def covers(self, pair: Pair) -> bool:
        return (
            pair.route in self.routes
            and (
                not self.loader_torch or selects_subject(self.loader_torch, pair.loader_torch or "")
            )
            and any(selects_subject(selector, pair.saver) for selector in self.savers)
            and any(selects_subject(selector, pair.loader) for selector in self.loaders)
            and any(selects_case(selector, pair.case) for selector in self.cases)
        )

    def expects(self, pair: Pair) -> bool:
        matched = re.fullmatch(self.message, pair.message, re.DOTALL)
        return pair.outcome == self.outcome and matched is not None


@dataclass(frozen=True)
class JudgedPair:
    """A pair, its standing against what was expected, and the class that lists it, if any."""

    pair: Pair
    standing: CellClass
    listed: FailureClass | None = None

    @property
    def unexpected(self) -> bool:
        return self.standing in (CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS)

    @property
    def sentence(self) -> str:
        """For a person: what is not as it should be."""
        was = (
            f"{self.pair.outcome}: {self.pair.message}" if self.pair.message else self.pair.outcome
        )
        if self.listed is None:
            return f"{self.pair.name}: {was}, and no class lists it"
        return (
            f"{self.pair.name}: {was}, but {self.listed.id} expects "
            f"{self.listed.outcome} /{self.listed.message}/"
        )


@dataclass(frozen=True)
class JudgedCrossing:
    """All pairs, judged. ``faults`` says what is wrong with the list of classes itself."""

    pairs: tuple[JudgedPair, ...]
    faults: tuple[str, ...] = ()

    @property
    def unexpected(self) -> tuple[JudgedPair, ...]:
        return tuple(judged for judged in self.pairs if judged.unexpected)

    @property
    def gate(self) -> Gate:
        if self.unexpected or self.faults:
            return Gate.RED
        if any(judged.standing is CellClass.UNSUPPORTED for judged in self.pairs):
            return Gate.INCONCLUSIVE
        return Gate.GREEN


def plan_programs(
    releases: Iterable[Release], cases: Sequence[CaseInfo], routes: Collection[str]
) -> tuple[Program, ...]:
    """What each release saves, in their order.

    A dynamic model does not go through `retrace`, which specialises it to its example and so makes
    another program. A static model does not go through routes with dynamic shapes.
    """
    return tuple(
        Program(release.version, case.name, route)
        for release in releases
        for case in cases
        for route in saving_routes(release)
        if route in routes and _goes(case, route)
    )


def saving_routes(release: Release) -> tuple[Route, ...]:
    """The routes by which a release's users save; a module in memory cannot be loaded."""
    return tuple(route for route in release.package_routes if not route.row.in_memory)


def _goes(case: CaseInfo, route: Route) -> bool:
    if route.row.state and not case.state:
        return False
    return route is not Route.RETRACE if case.dynamic else not route.row.dynamic


def settle(
    programs: Iterable[Program],
    loaders: Sequence[str],
    saved: Mapping[Program, Saved],
    loaded: Mapping[tuple[Program, str], Pair],
    unavailable: Mapping[str, str],
) -> tuple[Pair, ...]:
    """Every pair of the plan, also those that could not be asked.

    Args:
        unavailable: why some releases cannot be had here.
    """
    return tuple(
        _settled(program, loader, saved, loaded, unavailable)
        for program in programs
        for loader in loaders
    )


def _settled(
    program: Program,
    loader: str,
    saved: Mapping[Program, Saved],
    loaded: Mapping[tuple[Program, str], Pair],
    unavailable: Mapping[str, str],
) -> Pair:
    for release in (program.saver, loader):
        if release in unavailable:
            return _pair(program, loader, UNSUPPORTED, unavailable[release])
    made = saved[program]
    if made.outcome != OK:
        message = f"{made.outcome}: {made.message}"
        return _pair(program, loader, NOT_SAVED, message, detail=made.detail, torch=made.torch)
    return loaded[program, loader]


def _pair(
    program: Program,
    loader: str,
    outcome: str,
    message: str,
    *,
    detail: str = "",
    torch: str | None = None,
) -> Pair:
    return Pair(
        saver=program.saver,
        loader=loader,
        case=program.case,
        route=program.route,
        outcome=outcome,
        message=message,
        detail=detail,
        saver_torch=torch,
    )


def judge_pairs(
    pairs: Iterable[Pair], classes: Sequence[FailureClass], faults: Sequence[str] = ()
) -> JudgedCrossing:
    """Judge pairs by the classes of expected failures.

    Args:
        faults: what is wrong with the classes themselves, from `idle_parts`.
    """
    judged, doubles = [], dict[str, None]()
    for pair in pairs:
        covering = [listed for listed in classes if listed.covers(pair)]
        if len(covering) > 1 and pair.outcome != UNSUPPORTED:
            ids = " and ".join(listed.id for listed in covering)
            doubles[f"{ids} both list {pair.name}, and others maybe; narrow one"] = None
        judged.append(_judged(pair, covering[0] if covering else None))
    return JudgedCrossing(tuple(judged), (*doubles, *faults))


def _judged(pair: Pair, listed: FailureClass | None) -> JudgedPair:
    if pair.outcome == UNSUPPORTED:
        return JudgedPair(pair, CellClass.UNSUPPORTED)
    if listed is None:
        standing = CellClass.OK if pair.outcome == OK else CellClass.UNEXPECTED_FAILURE
    elif listed.expects(pair):
        standing = CellClass.EXPECTED_FAILURE
    else:
        passed = pair.outcome == OK
        standing = CellClass.UNEXPECTED_PASS if passed else CellClass.UNEXPECTED_FAILURE
    return JudgedPair(pair, standing, listed)


def idle_parts(
    classes: Iterable[FailureClass], versions: Collection[str], cases: Collection[str]
) -> Iterator[str]:
    """A sentence for each selector of the classes that selects nothing."""
    for listed in classes:
        selectors = [
            *((name, selects_subject, versions) for name in (*listed.savers, *listed.loaders)),
            *((name, selects_case, cases) for name in listed.cases),
        ]
        for selector, selects, known in selectors:
            if not any(selects(selector, name) for name in known):
                yield f"{listed.id}: {selector!r} selects nothing; take it out"


@functools.cache
def selects_case(selector: str, name: str) -> bool:
    """Whether a case name or fnmatch glob selects a case."""
    return selector == name or fnmatchcase(name, selector)


@functools.cache
def selects_subject(selector: str, subject: str) -> bool:
    """Whether a version, a PEP 440 specifier or a named subject selects a subject.

    Versions and specifiers select releases only: the subjects whose name is a version.
    """
    if selector in NAMED_SUBJECTS:
        return selector == subject
    version = parsed_version(subject)
    if version is None:
        return False
    exact = parsed_version(selector)
    if exact is not None:
        return exact == version
    # Pre-releases are named by nobody by accident: a catalogue that has one means it.
    return parsed_specifier(selector).contains(version, prereleases=True)


def parsed_specifier(text: str) -> SpecifierSet:
    """A PEP 440 specifier that restricts something; any other text is a ValueError."""
    try:
        specifier = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error
    if not len(specifier):
        raise ValueError("an empty specifier")
    return specifier
