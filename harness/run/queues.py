"""Which cells share a process: those of the releases' inliners, and those of each package. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from harness.runs.plan import PlannedCell
from harness.wire.records import CellKey, PackageSpec, SubjectSpec
from harness.workers.jobs import Job, make_jobs
from harness.workers.process import PackageSetup


def processes(subjects: Sequence[SubjectSpec]) -> list[list[SubjectSpec]]:
    """The subjects that share workers; a candidate comes after what it is held against."""
    brought = [[spec] for spec in subjects if spec.kind.brought]
    return [[spec for spec in subjects if not spec.kind.brought], *brought]


def names(subjects: Sequence[SubjectSpec]) -> set[str]:
    return {spec.subject for spec in subjects}


def package_groups(
    missing: Collection[PlannedCell],
    setup_for: Callable[[SubjectSpec, PackageSpec], PackageSetup],
    subjects: Sequence[SubjectSpec],
) -> list[tuple[list[Job], PackageSetup]]:
    """The jobs of each package, and what its worker is started with.

    The largest come first, so that none is left alone at the end; of equals, the newest release.
    """
    groups = []
    for spec in reversed(subjects):
        for package in spec.packages:
            jobs = make_jobs([cell for cell in missing if _is_of(cell.key, spec, package)])
            if jobs:
                groups.append((jobs, setup_for(spec, package)))
    return sorted(groups, key=lambda group: -sum(len(job.cells) for job in group[0]))


def _is_of(key: CellKey, spec: SubjectSpec, package: PackageSpec) -> bool:
    return (key.lane, key.subject, key.builder) == (package.lane, spec.subject, package.builder)
