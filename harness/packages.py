"""The package lane of a run: which releases have a whole package here, and their workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.errors import Unavailable
from harness.plan import PlannedCell
from harness.releases import Catalogue
from harness.rig.records import CellKey, Lane, PackageSpec, SubjectKind, SubjectSpec
from harness.toolchain import PackageSite, Toolchain
from harness.workers.jobs import Job, make_jobs
from harness.workers.process import PackageSetup

SEGMENT: Final = "segment"

#: By subject and builder.
Sites = Mapping[tuple[str, str], PackageSite]


def with_packages(
    subjects: Sequence[SubjectSpec], toolchain: Toolchain, catalogue: Catalogue
) -> tuple[tuple[SubjectSpec, ...], Sites]:
    """The subjects, each release of the package lane with its packages, and where these lie.

    A package that cannot be had here is one whose cells end as unsupported, with the reason.

    Raises:
        SurroundingsError: as `Toolchain.package_site`.
    """
    sites: dict[tuple[str, str], PackageSite] = {}
    described = []
    for spec in subjects:
        packages = []
        routes = _routes(spec, catalogue)
        for builder in (SEGMENT,) if routes else ():
            try:
                site = toolchain.package_site(catalogue.get(spec.subject), builder)
            except Unavailable as reason:
                packages.append(PackageSpec(builder, routes, unavailable=str(reason)))
            else:
                sites[spec.subject, builder] = site
                packages.append(PackageSpec(builder, routes, site.tensorrt_running))
        described.append(dataclasses.replace(spec, packages=tuple(packages)))
    return tuple(described), sites


def package_groups(
    missing: Collection[PlannedCell],
    sites: Sites,
    setup_for: Callable[[PackageSite, SubjectSpec, Path], PackageSetup],
    subjects: Sequence[SubjectSpec],
    log_folder: Path,
) -> list[tuple[list[Job], PackageSetup]]:
    """The jobs of each package, and what its worker is started with."""
    groups = []
    for spec in subjects:
        for package in spec.packages:
            jobs = make_jobs([cell for cell in missing if _is_of(cell.key, spec, package)])
            if jobs:
                site = sites[spec.subject, package.builder]
                folder = log_folder / f"{spec.subject}-{package.builder}"
                groups.append((jobs, setup_for(site, spec, folder)))
    return groups


def _routes(spec: SubjectSpec, catalogue: Catalogue) -> tuple[str, ...]:
    if spec.kind is not SubjectKind.RELEASE:
        return ()
    return catalogue.get(spec.subject).package_routes


def _is_of(key: CellKey, spec: SubjectSpec, package: PackageSpec) -> bool:
    return (key.lane, key.subject, key.builder) == (
        Lane.PACKAGE.value,
        spec.subject,
        package.builder,
    )
