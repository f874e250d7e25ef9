"""The real package of a release on a CPU, and what fails without each of its patches.

Every release is asked in processes of its own (see `hybrid`): a process has one release.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.rig.package.patches import PATCHES, patches_for
from tests.rig.conftest import QuestionFailed
from tests.rig.package import hybrid

RTX = "tensorrt-rtx"
NEWEST, OLDEST = "2.14.0", "2.6.0"
BETWEEN = ("2.7.0", "2.8.0", "2.9.0", "2.10.0", "2.11.0", "2.12.0", "2.12.1", "2.13.0")
SLOTS = {"2.6.0": 9, "2.7.0": 10, "2.8.0": 10, "2.9.0": 10, "2.10.0": 10, "2.11.0": 11,
         "2.12.0": 12, "2.12.1": 12, "2.13.0": 12, "2.14.0": 13}  # fmt: skip
NO_CUDA = "Torch not compiled with CUDA|no NVIDIA driver"
# What a user of the package would meet without the patch.
PREVENTED = {
    "engine-layout": "ABI|list assignment index out of range",
    "current-device": NO_CUDA,
    "device-properties-type": "_CudaDeviceProperties",
    "device-properties": NO_CUDA,
    "device-memory": NO_CUDA,
    "tensors-to-device": NO_CUDA,
    "compile-device": "accelerator device when none is available|" + NO_CUDA,
    "plugin-registry": "'NoneType' object has no attribute 'get_creator'",
    "engine-build": "factory function returned nullptr",
    "engine-run": "Could not run 'tensorrt::execute_engine'",
    "rtx-chosen": "Could not find libnvinfer",
    "engine-held": "AssertionError",
    "segment-carried": "no segment in these engine bytes",
}

everywhere = pytest.mark.parametrize(
    "release",
    [NEWEST, OLDEST, *(pytest.param(release, marks=pytest.mark.slow) for release in BETWEEN)],
)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("2.14.0rc1", "2.14.0"),
        ("2.10.0.dev20260101+cu130", "2.10.0"),
        ("2.7.0+wheel.0a1b2c3d", "2.7.0"),
        ("2.8rc2", "2.8.0"),
    ],
)
def test_a_release_candidate_and_a_nightly_need_the_patches_of_their_release(version, release):
    for builder in ("segment", "tensorrt-rtx"):
        assert patches_for(version, builder) == patches_for(release, builder)


def compiled_and_loaded(
    ask_package: Callable[..., Any], release: str, archive: Path, **setup: str
) -> dict[str, Any]:
    """What a release compiles, after it was held to load what it saved in a fresh process."""
    compiled: dict[str, Any] = ask_package(release, hybrid.compiled, str(archive), **setup)
    assert all(compiled["conforms"].values()), compiled["conforms"]
    loaded = ask_package(release, hybrid.loaded, str(archive), **setup)
    for route in ("retrace True", "retrace False"):
        assert loaded[route] == {"equal": True, "runs": 2, "tampered": False}, route
    return compiled


@everywhere
def test_it_compiles_saves_and_loads_in_a_fresh_process(
    release, toolchain, catalogue, ask_package, tmp_path
):
    site = toolchain.package_site(catalogue.get(release)).folder
    if release != NEWEST:  # that one's package is imported for other tests already
        # Relocatable: nothing in it names where it was made.
        site = Path(shutil.copytree(site, tmp_path / "moved"))
    compiled = compiled_and_loaded(ask_package, release, tmp_path / "program", site=str(site))
    assert compiled["engines"] == 2
    assert compiled["runs"] == 3  # two of the program, and one called alone
    assert (compiled["slots"], compiled["abi"]) == (SLOTS[release], catalogue.get(release).abi)
    assert compiled["built_bytes"] == 0  # nothing that TensorRT built
    assert Path(compiled["file"]).is_relative_to(site)
    assert compiled["sums"]
    # As a conversion leaves them, which takes the entries of fallbacks' nodes away, too.
    assert compiled["module_stacks"].count(0) >= 2


# This hybrid needs them all from 2.8.0 on; before, only truncate_double asks for that device.
@pytest.mark.slow  # an import of the package and a compile for every patch
@pytest.mark.parametrize(
    ("release", "builder"),
    [(NEWEST, "segment"), ("2.8.0", "segment"), (NEWEST, RTX), ("2.10.0", RTX)],
)
def test_without_each_patch_something_fails(
    release, builder, toolchain, catalogue, ask_torch, tmp_path
):
    site = str(toolchain.package_site(catalogue.get(release), builder).folder)
    for patch in patches_for(release, builder):
        with pytest.raises(QuestionFailed, match=PREVENTED[patch.name]):
            ask_torch(hybrid.compiled_without, site, str(tmp_path / patch.name), patch.name)


@pytest.mark.slow
class TestRealEngines:
    """TensorRT-RTX builds without a GPU; its wheels are 90 MB a version."""

    def test_they_are_built_once_carry_their_segment_and_load_in_a_fresh_process(
        self, toolchain, catalogue, ask_package, tmp_path
    ):
        made = toolchain.package_site(catalogue.get(NEWEST), RTX)
        assert (made.tensorrt_pinned, made.tensorrt_running) == ("1.6.1", "1.6.1.120")
        setup = {"builder": RTX, "engines": str(tmp_path / "engines")}
        compiled = compiled_and_loaded(ask_package, NEWEST, tmp_path / "program", **setup)
        assert compiled["built_bytes"] > 1000
        again = ask_package(NEWEST, hybrid.compiled, str(tmp_path / "again"), **setup)
        assert (compiled["kept"], again["kept"]) == ([False, False], [True, True])
        assert again["built_bytes"] == compiled["built_bytes"]
        assert not any(compiled["module_stacks"])
        assert again["module_stacks"] == compiled["module_stacks"]

    def test_a_release_that_sets_what_rtx_1_5_made_read_only_fails_with_it(
        self, toolchain, catalogue, ask_package, tmp_path
    ):
        site = toolchain.package_site(catalogue.get("2.12.1"), RTX, "1.5.0.114").folder
        with pytest.raises(QuestionFailed, match="'ITensor' object has no setter"):
            ask_package("2.12.1", hybrid.compiled, str(tmp_path), builder=RTX, site=str(site))


def test_every_patch_has_a_name_of_its_own_and_says_why():
    assert len({patch.name for patch in PATCHES}) == len(PATCHES)
    assert all(len(patch.why) > 30 for patch in PATCHES)
    assert {patch.name for patch in PATCHES} == set(PREVENTED)


def test_a_release_outside_a_patchs_range_does_without_it():
    ((patch, *_),) = [[each for each in PATCHES if each.name == "engine-run"]]
    ranged = type(patch)(**{**vars(patch), "since": (2, 8, 0), "until": (2, 10, 0)})
    needed = {release: ranged.needed(release, "segment") for release in ("2.7.0", *BETWEEN)}
    assert [release for release, wanted in needed.items() if wanted] == ["2.8.0", "2.9.0", "2.10.0"]
    assert not ranged.needed("2.9.0", "another-builder")
