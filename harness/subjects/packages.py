"""Which releases have a whole package here, for the package lane and the engine lane."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.version import Version

from harness.base.errors import Unavailable, UsageError
from harness.catalogue.bindings import rtx_versions
from harness.catalogue.entry import subject_for_wheel
from harness.catalogue.releases import EXPORTER_MODULE, Catalogue, Release
from harness.machine.cuda import DRIVER, Device, first_device
from harness.toolchain import PackageSite, Toolchain
from harness.toolchain.checkout import made_wheel
from harness.toolchain.rig_client import ask_rig
from harness.wire.builders import BUILDERS, CUDA, SEGMENT, Builder, BuilderKind
from harness.wire.records import PackageSpec, SubjectSpec
from harness.wire.vocabulary import SubjectKind

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
    """The subjects, in which those that have any have their packages, and the packages' folders.

    The cells of a package that is not available here end as unsupported, with the reason.

    Args:
        builders: `segment`; `tensorrt-rtx` for the version that a release names, of the newest two
            releases; `tensorrt-rtx-VERSION` for that version, or `tensorrt-rtx-*` for all that
            there are, of every release that names any.
        before: the builders of each subject in a resumed run, which gets no others.
    """
    wanted = [builder for text in builders for builder in _builders(text)]
    sites: dict[tuple[str, str], PackageSite] = {}
    described = []
    for spec in subjects:
        packages = []
        packaged = packaged_release(spec, toolchain, catalogue)
        for builder in wanted if packaged else ():
            assert packaged is not None
            release, wheel = packaged
            if builder.real and not _builds_real(release, builder, catalogue):
                continue
            if before is not None and builder not in before.get(spec.subject, ()):
                continue
            try:
                site = toolchain.package_site(release, builder.kind, builder.version or None, wheel)
            except Unavailable as reason:
                named = PackageSpec(builder, release.package_routes, unavailable=str(reason))
            else:
                running = site.tensorrt_running
                name = Builder.of(builder.kind, running) if builder.real else builder
                sites[spec.subject, name] = site
                named = PackageSpec(name, release.package_routes, running)
            packages.append(named)
        described.append(dataclasses.replace(spec, packages=tuple(packages)))
    return tuple(described), sites


def with_installed(
    subjects: Sequence[SubjectSpec],
    installed: Installed,
    catalogue: Catalogue,
    before: Mapping[str, Collection[str]] | None = None,
) -> tuple[SubjectSpec, ...]:
    """The subjects, in which the installed release has its package for the engine lane.

    Args:
        before: the builders of each subject's real packages in a resumed run.

    Raises:
        Unavailable: another release was asked for than the one that is installed.
    """
    release = catalogue.get(installed.release)
    builder = Builder.of(installed.builder, installed.tensorrt)
    if before is not None and builder not in before.get(release.version, ()):
        had = ", ".join(f"{each} of {name}" for name in before for each in before[name])
        raise UsageError(
            f"the run has engines of {had}, and {builder} of {release.version} is installed here; "
            "start a new run"
        )
    if release.version not in [spec.subject for spec in subjects]:
        raise Unavailable(
            f"torch_tensorrt {release.version} is installed here, and it was not asked for; "
            f"ask with --releases {release.version}"
        )
    package = PackageSpec(builder, release.package_routes, installed.tensorrt, executor=CUDA)
    return tuple(
        dataclasses.replace(spec, packages=(*spec.packages, package))
        if spec.subject == release.version
        else spec
        for spec in subjects
    )


def _builders(text: str) -> tuple[Builder, ...]:
    """The builders that an option of the command line asks for."""
    kinds = [kind for kind in BuilderKind if kind.row.without_gpu]
    try:
        builder = Builder(text)
    except ValueError:
        builder = None
    if builder is None or builder.kind not in kinds or (builder.version and not builder.real):
        raise UsageError(
            f"--builder {text!r}: {', '.join(kinds)}, or a version of it, such as "
            f"{BuilderKind.RTX}-1.6.1.120"
        )
    if builder.version == "*":
        return tuple(Builder.of(builder.kind, version) for version in rtx_versions())
    return (builder,)


def packaged_release(
    spec: SubjectSpec, toolchain: Toolchain, catalogue: Catalogue
) -> tuple[Release, Path | None] | None:
    """What the whole package of a subject is made of; None if it has none, or cannot be had.

    Of a candidate it is its wheel; of a file, that of its release with the file in it.
    """
    if spec.kind is SubjectKind.RELEASE:
        found, wheel = catalogue.get(spec.subject), None
    elif spec.kind.brought and spec.wheel_path and not spec.unavailable:
        wheel = Path(spec.wheel_path)
        if spec.exporter_path is not None:
            replaced = {EXPORTER_MODULE: Path(spec.exporter_path).read_bytes()}
            wheel = made_wheel(toolchain.cache, wheel, replaced, whole=False)
        found = subject_for_wheel(wheel, catalogue)
    else:
        return None
    return (found, wheel) if found.package_routes else None


def whole_package(
    spec: SubjectSpec, toolchain: Toolchain, catalogue: Catalogue, builder: str = SEGMENT
) -> tuple[Release, PackageSite]:
    """The whole package of a release or a candidate, for one builder of engines.

    Raises:
        UsageError: it has none.
        Unavailable: the package cannot be had here.
    """
    packaged = packaged_release(spec, toolchain, catalogue)
    if packaged is None:
        raise UsageError(f"{spec.subject} has no whole package: the lane begins with 2.7.0")
    release, wheel = packaged
    return release, toolchain.package_site(release, builder, wheel=wheel)


def _builds_real(release: Release, builder: Builder, catalogue: Catalogue) -> bool:
    if not release.pins.tensorrt_rtx:
        return False
    # A candidate's version is that of its release with a label behind it.
    newest = {Version(each.version).public for each in tuple(catalogue)[-NEWEST:]}
    return bool(builder.version) or Version(release.version).public in newest


_BUILDERS: Final = {row.distribution: kind for kind, row in BUILDERS.items() if row.distribution}
_INSTALL: Final = "`nox -s engine` makes an environment that has it"
_MATCH_DRIVER: Final = "install a torch build that this driver supports, or update the driver"


@dataclass(frozen=True)
class Installed:
    """What real engines are built and run with."""

    release: str
    builder: BuilderKind
    tensorrt: str
    device: Device


def preflight(python: str, driver: str = DRIVER) -> Installed:
    """What the engine lane would run with, in the environment of ``python``.

    The lane is the package lane with builder and executor real. It takes the package that is
    installed in its environment, on the GPU that CUDA takes.

    Raises:
        Unavailable: something is missing; says what, and what to do, in one line.
    """
    device = first_device(driver)  # first: without one, what is installed does not matter
    return installed(ask_rig(python, "installed")[0], device)


def installed(facts: Mapping[str, Any], device: Device) -> Installed:
    """`preflight` for an environment with these facts, and for this device."""
    package, release = facts["package"], facts["release"]
    if facts["no_gpu"]:
        raise Unavailable(
            f"torch {facts['torch']} cannot use the {device.name} here: {facts['no_gpu']}",
            _INSTALL if facts["torch_cuda"] is None else _MATCH_DRIVER,
        )
    if package is None:
        raise Unavailable(
            f"neither {' nor '.join(_BUILDERS)} is installed in this environment", _INSTALL
        )
    if facts["tensorrt"] is None:
        raise Unavailable(
            f"{package} {release} is installed here, and its TensorRT cannot be imported: "
            f"{facts['no_tensorrt']}",
            _INSTALL,
        )
    builder = _BUILDERS[package]
    if facts["no_engine"]:
        raise Unavailable(
            f"{builder} {facts['tensorrt']} runs no engine on the {device.name} here "
            f"({device.architecture}): {facts['no_engine']}",
            "see that it runs one there at all, or take another GPU",
        )
    return Installed(release, builder, facts["tensorrt"], device)
