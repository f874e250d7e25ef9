"""Where each release runs: its Python, its torch, and the folder of its package."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import UsageError
from harness.catalogue.releases import Catalogue, Release
from harness.subjects.packages import packaged_release, with_packages
from harness.toolchain import PackageSite, Toolchain
from harness.wire.builders import SEGMENT
from harness.wire.records import SubjectSpec


@dataclass(frozen=True)
class Station:
    """Where one release runs: its Python, and the folder of its package."""

    release: str
    python: str
    torch: str
    abi: str
    site: PackageSite

    @property
    def described(self) -> dict[str, str]:
        """The versions that affect results."""
        return {"torch": self.torch, "tensorrt": self.site.tensorrt_running, "abi": self.abi}


@dataclass(frozen=True)
class Stations:
    """The releases that can run here, and the reasons why others cannot."""

    at: Mapping[str, Station]
    subjects: tuple[SubjectSpec, ...]
    unavailable: Mapping[str, str]


def toolchains_of(
    chosen: Sequence[Release], toolchain: Toolchain, pythons: Sequence[str], catalogue: Catalogue
) -> dict[str, Toolchain]:
    """Each release's toolchain. Releases with the same Python share one.

    Args:
        pythons: ``RELEASE=PATH`` for releases that have a Python, and so a torch, of their own.
    """
    own: dict[str, str] = {}
    for text in pythons:
        release, equals, path = text.partition("=")
        if not equals or not Path(path).is_file():
            raise UsageError(f"--python {text!r}: RELEASE=PATH, the path of a Python that is there")
        # Not resolved: a virtual environment's Python is known by the place of its link.
        own[catalogue.get(release).version] = str(Path(path).absolute())
    by_python = {path: dataclasses.replace(toolchain, python=path) for path in own.values()}
    return {
        release.version: by_python[own[release.version]] if release.version in own else toolchain
        for release in chosen
    }


def stations_of(
    chosen: Sequence[SubjectSpec],
    toolchains: Mapping[str, Toolchain],
    catalogue: Catalogue,
    builder: str = SEGMENT,
) -> Stations:
    """Where each release or candidate runs; packages are put together on first use."""
    at: dict[str, Station] = {}
    subjects: list[SubjectSpec] = []
    unavailable: dict[str, str] = {}
    for spec in chosen:
        version, toolchain = spec.subject, toolchains[spec.subject]
        described, sites = with_packages([spec], toolchain, catalogue, (builder,))
        subjects += described
        for package in described[0].packages:
            if package.unavailable:
                unavailable[version] = package.unavailable
        for site in sites.values():
            torch = toolchain.python_env().torch_version
            packaged = packaged_release(spec, toolchain, catalogue)
            assert packaged is not None
            at[version] = Station(version, toolchain.python, torch, packaged[0].abi, site)
    return Stations(at, tuple(subjects), unavailable)
