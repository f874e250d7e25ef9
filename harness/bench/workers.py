"""The subjects that a bench measures, and the processes that measure them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from harness.base.errors import SurroundingsError, UsageError
from harness.bench.options import BenchOptions, subjects_of
from harness.bench.plan import AGAIN, BASELINE, CANDIDATE
from harness.bench.process import FreshZygotes, StationSetup, Zygote, whole_packages
from harness.bench.sampling import Asked
from harness.catalogue.releases import PACKAGE_LANE_SINCE, Catalogue, Release
from harness.runs.provenance import Provenance
from harness.subjects.choosing import found_again
from harness.subjects.packages import packaged_release
from harness.subjects.stations import Station, stations_of, toolchains_of
from harness.toolchain import Toolchain
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from harness.workers.process import WorkerSetup


class Running(Asked, Protocol):
    """Processes that do jobs. ``ready`` describes them, and ``start_s`` is their start-up time."""

    ready: dict[str, Any]
    start_s: float


@dataclass(frozen=True)
class Workers:
    """The baseline and the candidate, and a function that starts the processes that measure them.

    ``torch`` is version and build, unless it is the torch of the harness's own Python.
    """

    subjects: tuple[SubjectSpec, SubjectSpec]
    start: Callable[[Provenance, Path], AbstractContextManager[Running]]
    torch: tuple[str, str] | None = None

    def stamp(self, provenance: Provenance) -> Provenance:
        """The provenance with the torch that is measured."""
        if self.torch is None:
            return provenance
        version, build = self.torch
        return replace(provenance, torch_version=version, torch_build=build)


def workers_for(options: BenchOptions, toolchain: Toolchain, catalogue: Catalogue) -> Workers:
    """The workers of a new bench."""
    return _workers(subjects_of(options, toolchain, catalogue), options, toolchain, catalogue)


def workers_again(
    options: BenchOptions, before: Provenance, toolchain: Toolchain, catalogue: Catalogue
) -> Workers:
    """The workers of a resumed bench, with today's subjects."""
    baseline, *others = found_again(before, toolchain, catalogue)
    subjects = baseline, others[0] if others else baseline
    return _workers(subjects, options, toolchain, catalogue)


def _workers(
    subjects: tuple[SubjectSpec, SubjectSpec],
    options: BenchOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
) -> Workers:
    if options.lane == Lane.PACKAGE:
        return _whole(subjects, options, toolchain, catalogue)
    return inliner_workers(subjects, toolchain, spawn=options.spawn)


def setup_for(
    provenance: Provenance,
    subjects: tuple[SubjectSpec, ...],
    log_folder: Path,
    toolchain: Toolchain,
) -> WorkerSetup:
    """The setup of a zygote. A subject that is its own baseline is loaded once."""
    return WorkerSetup(
        python=toolchain.python,
        library=toolchain.emulated_runtime(),
        subjects=tuple(dict.fromkeys(subjects)),
        seed=provenance.seeds[0],
        log_folder=log_folder,
        corpus_digest=provenance.corpus_digest,
        corpus=provenance.corpus,
    )


def inliner_workers(
    subjects: tuple[SubjectSpec, SubjectSpec], toolchain: Toolchain, *, spawn: bool = False
) -> Workers:
    """The workers of the graph lane, forked from a zygote that holds both inliners.

    Args:
        spawn: start fresh processes instead of forks.
    """

    @contextmanager
    def start(provenance: Provenance, log_folder: Path) -> Iterator[Running]:
        setup = setup_for(provenance, subjects, log_folder, toolchain)
        if spawn:
            yield FreshZygotes(setup)
            return
        with Zygote(setup) as zygote:
            yield zygote

    return Workers(subjects, start)


def _whole(
    pair: tuple[SubjectSpec, SubjectSpec],
    options: BenchOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
) -> Workers:
    releases = {spec.subject: _whole_release(spec, toolchain, catalogue) for spec in pair}
    toolchains = toolchains_of(tuple(releases.values()), toolchain, options.pythons, catalogue)
    stations = stations_of(tuple(dict.fromkeys(pair)), toolchains, catalogue, options.builder)
    for name in releases:
        if name not in stations.at:
            reason = stations.unavailable.get(name, f"no {options.builder} for it is known")
            raise SurroundingsError(f"{name} cannot be measured: {reason}")
    specs = {spec.subject: spec for spec in stations.subjects}
    baseline, candidate = (spec.subject for spec in pair)
    arms = {BASELINE: baseline, CANDIDATE: candidate, AGAIN: baseline}
    return Workers(
        subjects=(specs[baseline], specs[candidate]),
        start=functools.partial(_start_whole, arms, stations.at, toolchain),
        torch=_torch_of(toolchains, toolchain),
    )


def _whole_release(spec: SubjectSpec, toolchain: Toolchain, catalogue: Catalogue) -> Release:
    packaged = packaged_release(spec, toolchain, catalogue)
    if packaged is None:
        raise UsageError(
            f"the whole package of {spec.subject} cannot be run here",
            f"name a release from {PACKAGE_LANE_SINCE} on",
        )
    return packaged[0]


@contextmanager
def _start_whole(
    arms: Mapping[str, str],
    stations: Mapping[str, Station],
    toolchain: Toolchain,
    provenance: Provenance,
    log_folder: Path,
) -> Iterator[Running]:
    setups = {
        arm: StationSetup(
            python=stations[release].python,
            subjects=(),
            seed=provenance.seeds[0],
            log_folder=log_folder / arm,
            corpus_digest=provenance.corpus_digest,
            corpus=provenance.corpus,
            release=release,
            site=stations[release].site,
            engines=toolchain.engines,
        )
        for arm, release in arms.items()
    }
    with whole_packages(setups) as running:
        yield running


def _torch_of(toolchains: Mapping[str, Toolchain], own: Toolchain) -> tuple[str, str] | None:
    """Version and build of the measured torch, for each release if there are several."""
    if all(other.python == own.python for other in toolchains.values()):
        return None
    facts = {name: other.python_env() for name, other in toolchains.items()}
    versions = {name: fact.torch_version for name, fact in facts.items()}
    builds = {name: f"git_version {fact.torch_git_version}" for name, fact in facts.items()}
    return _joined(versions), _joined(builds)


def _joined(by_release: Mapping[str, str]) -> str:
    """`2.13.0` if all have that, or `2.9.0 under 2.10.0, 2.14.0 under 2.14.0`."""
    one, *others = dict.fromkeys(by_release.values())
    if not others:
        return one
    return ", ".join(f"{what} under {release}" for release, what in by_release.items())
