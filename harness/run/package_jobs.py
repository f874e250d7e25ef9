"""The jobs of the package lane: one release a process, with what its worker is started with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from harness.runs.plan import PlannedCell
from harness.wire.records import CellKey, PackageSpec, SubjectSpec
from harness.workers.jobs import Job, make_jobs
from harness.workers.process import PackageSetup


def package_groups(
    missing: Collection[PlannedCell],
    setup_for: Callable[[SubjectSpec, PackageSpec], PackageSetup],
    subjects: Sequence[SubjectSpec],
) -> list[tuple[list[Job], PackageSetup]]:
    """The jobs of each package, and what its worker is started with.

    The largest come first, so that none is left alone at the end.
    """
    groups = []
    for spec in subjects:
        for package in spec.packages:
            jobs = make_jobs([cell for cell in missing if _is_of(cell.key, spec, package)])
            if jobs:
                groups.append((jobs, setup_for(spec, package)))
    return sorted(groups, key=lambda group: -sum(len(job.cells) for job in group[0]))


def _is_of(key: CellKey, spec: SubjectSpec, package: PackageSpec) -> bool:
    return (key.lane, key.subject, key.builder) == (
        package.lane.value,
        spec.subject,
        package.builder,
    )
