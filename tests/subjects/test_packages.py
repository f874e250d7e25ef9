"""The package lane of a run: which release gets which packages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from harness.base.errors import Unavailable, UsageError
from harness.catalogue.releases import Catalogue, load_catalogue
from harness.machine.cuda import Device
from harness.subjects.packages import Installed, with_installed, with_packages
from harness.subjects.specs import (
    builtin_subjects,
    exporter_subject,
    release_subject,
    torch_subject,
)
from harness.toolchain import PackageSite, Toolchain
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane
from tests.mutants import source_of


class Sites:
    """A toolchain that makes nothing; it has no bindings for the releases of ``lacking``."""

    def __init__(self, *lacking: str) -> None:
        self.lacking = lacking

    def package_site(
        self, release: Any, builder: str, tensorrt: str | None = None, wheel: Path | None = None
    ) -> PackageSite:
        if release.version in self.lacking:
            raise Unavailable("no bindings here")
        running = tensorrt or ("9.9" if builder == "segment" else "1.6.1.120")
        return PackageSite(Path("site"), release.version, builder, "9.9", running)


CATALOGUE: Catalogue = load_catalogue()


def subjects(*versions: str) -> tuple[SubjectSpec, ...]:
    chosen = [release_subject(CATALOGUE.get(each), None, "not asked") for each in versions]
    return (*chosen, *builtin_subjects(), torch_subject())


def packages(builders: list[str], *versions: str, lacking: str = "") -> dict[str, list[str]]:
    toolchain = cast(Toolchain, Sites(lacking))
    described, _ = with_packages(subjects(*versions), toolchain, CATALOGUE, builders)
    return {spec.subject: [package.builder for package in spec.packages] for spec in described}


@pytest.fixture
def exporter_like(toolchain: Toolchain, tmp_path: Path) -> Callable[[str], SubjectSpec]:
    def made(like: str) -> SubjectSpec:
        release = CATALOGUE.get(like)
        wheel = toolchain.wheel(release)
        file = tmp_path / "_exporter.py"
        file.write_text(source_of(wheel) + "\n# changed\n")
        return exporter_subject(file, release, wheel)

    return made


def test_a_release_has_a_package_from_2_7_on_and_no_other_subject_has_one():
    found = packages(["segment"], "2.6.0", "2.7.0", "2.14.0")
    assert found.pop("2.7.0") == found.pop("2.14.0") == ["segment"]
    assert set(found) == {"2.6.0", "name-matching", "positional", "torch"}
    assert not any(found.values())


def test_real_engines_are_of_the_newest_two_releases_where_no_version_is_asked_for():
    found = packages(["segment", "tensorrt-rtx"], "2.12.1", "2.13.0", "2.14.0")
    assert found["2.12.1"] == ["segment"]
    assert found["2.13.0"] == found["2.14.0"] == ["segment", "tensorrt-rtx-1.6.1.120"]


@pytest.mark.parametrize(("like", "real"), [("2.14.0", ["tensorrt-rtx-1.6.1.120"]), ("2.12.1", [])])
def test_a_candidate_has_real_engines_where_its_release_has_them(
    like: str, real: list[str], exporter_like: Callable[[str], SubjectSpec], tmp_path: Path
):
    candidate = exporter_like(like)
    sites = cast(Any, Sites())
    sites.cache = tmp_path
    (described, *_), _ = with_packages([candidate], sites, CATALOGUE, ["tensorrt-rtx"])
    assert [package.builder for package in described.packages] == real


def test_every_version_is_one_builder_more():
    found = packages(["tensorrt-rtx-*"], "2.8.0", "2.14.0")
    versions = ["1.4.0.76", "1.5.0.114", "1.6.1.120", "1.7.1.116"]
    assert found["2.14.0"] == [f"tensorrt-rtx-{version}" for version in versions]
    assert found["2.8.0"] == ([] if not CATALOGUE.get("2.8.0").pins.tensorrt_rtx else versions)


def test_a_package_that_cannot_be_had_says_why():
    toolchain = cast(Toolchain, Sites("2.14.0"))
    described, sites = with_packages(subjects("2.14.0"), toolchain, CATALOGUE, ["segment"])
    assert described[0].packages[0].unavailable == "no bindings here"
    assert sites == {}


@pytest.mark.parametrize("text", ["tensorrt", "segment,tensorrt-rtx", "segments", ""])
def test_what_is_no_builder_is_refused_by_its_name(text):
    with pytest.raises(UsageError, match=f"--builder '{text}'"):
        packages([text], "2.14.0")


def test_a_run_that_goes_on_makes_the_packages_that_it_had_and_no_others():
    had = {"2.13.0": ["segment"], "2.14.0": ["segment", "tensorrt-rtx-1.6.1.120"]}
    builders = ["segment", "tensorrt-rtx-1.6.1.120"]
    toolchain = cast(Toolchain, Sites())
    described, _ = with_packages(subjects("2.13.0", "2.14.0"), toolchain, CATALOGUE, builders, had)
    found = {spec.subject: [p.builder for p in spec.packages] for spec in described[:2]}
    assert found == had


INSTALLED = Installed("2.14.0", "tensorrt", "11.1.0.106", Device("a GPU", (9, 0)))


def test_the_engine_lane_has_the_one_package_that_is_installed():
    described = with_installed(subjects("2.13.0", "2.14.0"), INSTALLED, CATALOGUE)
    found = {spec.subject: spec.packages for spec in described}
    (package,) = found.pop("2.14.0")
    assert (package.lane, package.builder) == (Lane.ENGINE, "tensorrt-11.1.0.106")
    assert package.routes == CATALOGUE.get("2.14.0").package_routes
    assert not any(found.values())


def test_an_installed_package_that_was_not_asked_for_is_told():
    with pytest.raises(Unavailable, match=r"2\.14\.0 is installed here, .* --releases 2\.14\.0"):
        with_installed(subjects("2.13.0"), INSTALLED, CATALOGUE)


def test_a_run_goes_on_with_the_engines_that_it_had_and_no_others():
    had = {"2.14.0": ["tensorrt-11.1.0.106"]}
    assert with_installed(subjects("2.14.0"), INSTALLED, CATALOGUE, had)[0].packages
    other = {"2.14.0": ["tensorrt-rtx-1.6.1.120"]}
    with pytest.raises(UsageError, match=r"engines of tensorrt-rtx-1\.6\.1\.120 of 2\.14\.0, and"):
        with_installed(subjects("2.14.0"), INSTALLED, CATALOGUE, other)
