"""The package lane of a run: which releases have a whole package here, and their workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.errors import Unavailable, UsageError
from harness.plan import PlannedCell
from harness.releases import Catalogue, Release
from harness.rig.records import (
    RTX,
    SEGMENT,
    CellKey,
    Lane,
    PackageSpec,
    SubjectKind,
    SubjectSpec,
)
from harness.toolchain import PackageSite, Toolchain
from harness.toolchain.bindings import rtx_versions
from harness.workers.jobs import Job, make_jobs
from harness.workers.process import PackageSetup

#: So many releases get real engines where no version of TensorRT-RTX is asked for.
NEWEST: Final = 2

#: By subject and builder.
Sites = Mapping[tuple[str, str], PackageSite]


def with_packages(
    subjects: Sequence[SubjectSpec],
    toolchain: Toolchain,
    catalogue: Catalogue,
    builders: Sequence[str] = (SEGMENT,),
    before: Mapping[str, Collection[str]] | None = None,
) -> tuple[tuple[SubjectSpec, ...], Sites]:
    """The subjects, each release of the package lane with its packages, and where these lie.

    A package that cannot be had here is one whose cells end as unsupported, with the reason.

    Args:
        builders: `segment`; `tensorrt-rtx` for the version that a release names, of the newest two
            releases; `tensorrt-rtx-VERSION` for that version, or `tensorrt-rtx-*` for all that
            there are, of every release that names any.
        before: the builders of each subject in the run that is gone on with; no others are made.

    Raises:
        UsageError: an unknown builder, or a version that there is not.
        SurroundingsError: as `Toolchain.package_site`.
    """
    for builder in builders:
        if builder not in (SEGMENT, RTX) and not builder.startswith(f"{RTX}-"):
            raise UsageError(
                f"--builder {builder!r}: {SEGMENT}, {RTX}, or a version of it, such as "
                f"{RTX}-1.6.1.120"
            )
    builders = tuple(each for builder in builders for each in _expanded(builder))
    sites: dict[tuple[str, str], PackageSite] = {}
    described = []
    for spec in subjects:
        packages = []
        for builder in builders if _packaged(spec, catalogue) else ():
            release = catalogue.get(spec.subject)
            if builder != SEGMENT and not _builds_real(release, builder, catalogue):
                continue
            if before is not None and builder not in before.get(spec.subject, ()):
                continue
            kind, _, version = builder.partition(f"{RTX}-")
            try:
                site = toolchain.package_site(release, RTX if version else kind, version or None)
            except Unavailable as reason:
                named = PackageSpec(builder, release.package_routes, unavailable=str(reason))
            else:
                running = site.tensorrt_running
                name = f"{RTX}-{running}" if builder != SEGMENT else builder
                sites[spec.subject, name] = site
                named = PackageSpec(name, release.package_routes, running)
            packages.append(named)
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


def _expanded(builder: str) -> tuple[str, ...]:
    if builder != f"{RTX}-*":
        return (builder,)
    return tuple(f"{RTX}-{version}" for version in rtx_versions())


def _packaged(spec: SubjectSpec, catalogue: Catalogue) -> bool:
    if spec.kind is not SubjectKind.RELEASE:
        return False
    return bool(catalogue.get(spec.subject).package_routes)


def _builds_real(release: Release, builder: str, catalogue: Catalogue) -> bool:
    if not release.pins.tensorrt_rtx:
        return False
    return builder != RTX or release in tuple(catalogue)[-NEWEST:]


def _is_of(key: CellKey, spec: SubjectSpec, package: PackageSpec) -> bool:
    return (key.lane, key.subject, key.builder) == (
        Lane.PACKAGE.value,
        spec.subject,
        package.builder,
    )
