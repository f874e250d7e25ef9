"""The folder that a release's whole package is imported from: no network, no TensorRT, no torch.

Wheels are a few bytes, and the compiler is a script; tests/rig/package has the real ones.
"""

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import sys
import threading
import zipfile
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.version import Version

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.catalogue.bindings import Bindings, WheelFile, choose, load_bindings
from harness.catalogue.releases import Release, load_catalogue
from harness.toolchain import EnvironmentFacts, PackageSite, clean
from harness.toolchain.native import Compiler
from harness.toolchain.package_site import engine_slots, package_site
from harness.toolchain.wheels import WheelSource
from tests.fake_releases import make_release, script, with_changes

LAYOUT = "torch_tensorrt/dynamo/runtime/_serialized_engine_layout.py"
OLD_LAYOUT = "torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py"
FACTS = EnvironmentFacts("3.11.4", "linux", "2.13.0", "abc", None, True, (), "/lib", 2)

FAKE_COMPILER = """
import pathlib, sys
log = pathlib.Path({log!r})
if "--version" in sys.argv:
    print("fake 1.0")
else:
    with log.open("a") as file:
        file.write("built\\n")
    pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_bytes(b"library")
"""


def write_wheel(path: Path, contents: dict[str, bytes]) -> str:
    """A zip of these files; its SHA-256."""
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in contents.items():
            wheel.writestr(zipfile.ZipInfo(name), data)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class House:
    """A wheelhouse with one release and bindings for it, a compiler, and a cache."""

    folder: Path
    release: Release
    bindings: Bindings
    compiler: str
    told: list[str] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def site(
        self,
        *,
        release: Release | None = None,
        bindings: Bindings | None = None,
        facts: EnvironmentFacts = FACTS,
        builder: str = "segment",
    ) -> PackageSite:
        return package_site(
            release or self.release,
            wheels=WheelSource(
                self.cache, self.folder / "house", sys.executable, True, self.told.append
            ),
            compiler=Compiler(self.compiler, self.cache, self.told.append),
            facts=facts,
            bindings=bindings or self.bindings,
            builder=builder,
        )

    def made(self) -> list[str]:
        folder = self.cache / "packages"
        return sorted(os.listdir(folder)) if folder.exists() else []


@pytest.fixture
def house(tmp_path):
    release = make_release(
        tmp_path / "house",
        others={
            "torch_tensorrt/__init__.py": b"",
            "torch_tensorrt/lib/libtorchtrt.so": b"real",
            "torch_tensorrt/bin/tool": b"real",
            "torch_tensorrt/_C.cpython-311.so": b"real",
            LAYOUT: b'ABI_VERSION = "9"\n    ABI_TARGET_IDX = 0\n    NAME_IDX = 1\nNAME_IDX = X\n',
            "torch_tensorrt-9.1.0.dist-info/METADATA": b"Name: torch_tensorrt\n",
            "torch_tensorrt-9.1.0.dist-info/RECORD": b"",
            "torch_tensorrt.libs/libthing.so.1": b"real",
        },
    )
    name = "tensorrt_cu13_bindings-99.0.1.5-cp311-none-manylinux_2_28_x86_64.whl"
    sha256 = write_wheel(
        tmp_path / "house" / name,
        {
            "tensorrt_bindings/__init__.py": b"from .tensorrt import *",
            "tensorrt_bindings/tensorrt.so": b"\x7fELF\0libnvinfer.so.99\0libnvinfer_plugin.so.99\0"
            b"libnvonnxparser.so.99\0libdl.so.2\0",
            "tensorrt_cu13_bindings-99.0.1.5.dist-info/METADATA": b"",
        },
    )
    compiler = script(tmp_path / "compiler", FAKE_COMPILER.format(log=str(tmp_path / "built")))
    return House(tmp_path, release, Bindings("99.0.1.5", "cp311", name, sha256), compiler)


def test_it_holds_the_releases_python_and_stand_ins_for_all_that_is_compiled(house):
    site = house.site()
    found = {
        str(path.relative_to(site.folder))
        for path in site.folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert found == {
        "torch_tensorrt/__init__.py",
        "torch_tensorrt/dynamo/_exporter.py",
        LAYOUT,
        "torch_tensorrt/lib/libtorchtrt_runtime.so",
        "torch_tensorrt-9.1.0.dist-info/METADATA",
        "tensorrt/__init__.py",
        "tensorrt/tensorrt.so",
        "tensorrt/libnvinfer.so.99",
        "tensorrt/libnvinfer_plugin.so.99",
        "tensorrt/libnvonnxparser.so.99",
        "site.json",
    }
    assert (site.folder / "torch_tensorrt/lib/libtorchtrt_runtime.so").read_bytes() == b"library"


def test_it_says_which_tensorrt_was_named_and_which_one_is_there(house):
    site = house.site()
    assert (site.release, site.builder) == ("9.1.0", "segment")
    assert (site.tensorrt_pinned, site.tensorrt_running) == ("99.0", "99.0.1.5")
    described = json.loads((site.folder / "site.json").read_text())
    assert (described["slots"], described["abi"]) == (2, "9")


def test_no_file_in_it_names_the_place_where_it_was_made(house):
    site = house.site()
    place = str(house.cache).encode()
    assert not [
        path for path in site.folder.rglob("*") if path.is_file() and place in path.read_bytes()
    ]


def test_every_module_that_compiles_has_bytecode_that_a_copy_keeps(house):
    """As in an installation: what compiles while it is measured is not what users have."""
    folder = house.site().folder
    kept = {
        str(path.relative_to(folder)): Path(cache_from_source(str(path)))
        for path in folder.rglob("*.py")
    }
    assert {name for name, path in kept.items() if not path.exists()} == {LAYOUT}  # no Python
    assert len(kept) == 4
    unchecked = (1).to_bytes(4, "little")  # by hash, whatever time the source has (PEP 552)
    assert {path.read_bytes()[4:8] for path in kept.values() if path.exists()} == {unchecked}


def test_it_is_made_once_and_then_taken_from_the_cache(house):
    first = house.site()
    built = (house.folder / "built").read_text()
    assert house.site() == first
    assert (house.folder / "built").read_text() == built
    assert sum(line.startswith("putting") for line in house.told) == 1


def test_two_at_once_make_it_once_and_both_get_it(house):
    found: list[PackageSite] = []
    threads = [threading.Thread(target=lambda: found.append(house.site())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert house.made() == [found[0].folder.name]
    assert sum(line.startswith("putting") for line in house.told) == 1


@pytest.mark.parametrize("change", ["torch_git_version", "torch_version"])
def test_another_torch_gets_a_folder_of_its_own(house, change):
    other = EnvironmentFacts(**{**vars(FACTS), change: "other"})
    assert house.site().folder != house.site(facts=other).folder


def test_bindings_with_a_wrong_hash_are_refused_and_nothing_is_made(house):
    damaged = Bindings("99.0.1.5", "cp311", house.bindings.wheel, "0" * 64)
    with pytest.raises(SurroundingsError, match=r"bindings.*wrong SHA-256: expected 0{64}"):
        house.site(bindings=damaged)
    assert house.made() == []


def test_a_release_with_a_wrong_hash_is_refused_and_nothing_is_made(house):
    with pytest.raises(SurroundingsError, match=r"torch_tensorrt.*wrong SHA-256: expected 0{64}"):
        house.site(release=with_changes(house.release, sha256="0" * 64))
    assert house.made() == []


def test_what_breaks_off_half_way_leaves_nothing_and_the_next_one_succeeds(house):
    whole = house.folder / "house" / house.bindings.wheel
    kept = whole.read_bytes()
    whole.write_bytes(b"not a zip")
    broken = Bindings("99.0.1.5", "cp311", whole.name, hashlib.sha256(b"not a zip").hexdigest())
    with pytest.raises(SurroundingsError, match="cannot be read as a wheel"):
        house.site(bindings=broken)
    assert house.made() == []
    whole.write_bytes(kept)
    site = house.site()
    assert house.made() == [site.folder.name]


def test_it_is_not_put_beside_a_real_tensorrt(house):
    real = EnvironmentFacts(**{**vars(FACTS), "real_tensorrt": ("tensorrt",)})
    with pytest.raises(Unavailable, match="tensorrt is installed in this environment"):
        house.site(facts=real)
    assert house.made() == []


def test_clean_removes_it(house):
    house.site()
    (house.cache / "engines").mkdir()
    assert clean(house.cache, wheels=False, native=False) > 0
    assert not (house.cache / "packages").exists()
    assert not (house.cache / "engines").exists()


class TestRealLibraries:
    """Builder tensorrt-rtx: TensorRT-RTX whole, as a distribution torch-tensorrt-rtx asks."""

    @pytest.fixture
    def bindings(self, house):
        name = "tensorrt_rtx_cu13_bindings-9.0.0.7-cp311-none-manylinux_2_28_x86_64.whl"
        bound = {
            "tensorrt_rtx_bindings/__init__.py": b"import tensorrt_rtx_libs",
            "tensorrt_rtx_bindings/tensorrt_rtx.so": b"\0libtensorrt_rtx.so.1\0",
        }
        libraries = "tensorrt_rtx_cu13_libs-9.0.0.7-py3-none-manylinux_2_28_x86_64.whl"
        whole = {"tensorrt_rtx_libs/__init__.py": b"", "tensorrt_rtx_libs/libx.so.1": b"real"}
        return Bindings(
            "9.0.0.7",
            "cp311",
            name,
            write_wheel(house.folder / "house" / name, bound),
            WheelFile(libraries, write_wheel(house.folder / "house" / libraries, whole)),
        )

    def test_the_package_is_told_to_take_it(self, house, bindings):
        site = house.site(bindings=bindings, builder="tensorrt-rtx")
        assert (site.tensorrt_pinned, site.tensorrt_running) == ("9.0", "9.0.0.7")
        names = {path.name for path in site.folder.iterdir()}
        assert names == {
            "torch_tensorrt",
            "torch_tensorrt_rtx-9.1.0.dist-info",
            "tensorrt_rtx",
            "site.json",
        }
        (found,) = importlib.metadata.distributions(path=[str(site.folder)])
        assert found.metadata["Name"] == "torch-tensorrt-rtx"

    def test_the_libraries_are_unpacked_once_for_all_sites(self, house, bindings):
        site = house.site(bindings=bindings, builder="tensorrt-rtx")
        other = house.site(
            bindings=bindings,
            builder="tensorrt-rtx",
            facts=EnvironmentFacts(**{**vars(FACTS), "torch_version": "other"}),
        )
        said = [json.loads((each.folder / "site.json").read_text()) for each in (site, other)]
        assert said[0]["libraries"] == said[1]["libraries"] != ""
        libraries = site.folder.parent / said[0]["libraries"]
        assert (libraries / "tensorrt_rtx_libs" / "libx.so.1").read_bytes() == b"real"
        assert len(house.made()) == 3

    def test_a_release_that_names_none_is_unavailable(self, house, bindings):
        pins = dataclasses.replace(house.release.pins, tensorrt_rtx="")
        with pytest.raises(Unavailable, match="names no TensorRT for tensorrt-rtx"):
            house.site(
                release=with_changes(house.release, pins=pins),
                bindings=bindings,
                builder="tensorrt-rtx",
            )


class TestEngineSlots:
    def test_up_to_2_12_slots_are_counted_where_they_are_used(self, tmp_path):
        path = tmp_path / "wheel.whl"
        text = b"A_IDX = -1\nB_IDX = -1\nif X:\n    A_IDX = torch.ops.tensorrt.A_IDX()\n"
        write_wheel(path, {OLD_LAYOUT: text})
        assert engine_slots(path, "7") == 2

    def test_another_number_than_the_catalogues_is_refused(self, tmp_path):
        path = tmp_path / "wheel.whl"
        write_wheel(path, {LAYOUT: b'ABI_VERSION = "10"\nA_IDX = 0\n'})
        with pytest.raises(SurroundingsError, match="ABI is 10, but the catalogue says 9"):
            engine_slots(path, "9")

    def test_a_release_before_2_5_is_unavailable_and_is_told_where_the_package_lane_begins(
        self, tmp_path
    ):
        path = tmp_path / "torch_tensorrt-2.4.0.whl"
        write_wheel(path, {OLD_LAYOUT: b"class TorchTensorRTModule: ...\n"})
        with pytest.raises(Unavailable, match=r"2\.4\.0.*from 2\.7\.0 on"):
            engine_slots(path, "5")


class TestChoice:
    known = tuple(
        Bindings(version, python, "", "")
        for version in ("10.3.0", "10.13.3.9", "10.13.3.9.post1", "10.16.1.11", "11.0.0.114")
        for python in ("cp311", "cp312")
    )

    @pytest.mark.parametrize(
        ("pinned", "chosen"),
        [
            ("10.16.1", "10.16.1.11"),
            ("10.13.3", "10.13.3.9.post1"),  # the newest of those that agree
            ("10.14.1", "10.16.1.11"),  # the nearest above
            ("12.0.0", "11.0.0.114"),  # none above: the newest
        ],
    )
    def test_the_named_version_or_the_nearest(self, pinned, chosen):
        assert choose(self.known, pinned, "cp312") == Bindings(chosen, "cp312", "", "")

    def test_a_version_that_is_asked_for_is_taken(self):
        assert choose(self.known, "11.0.0", "cp311", "10.3.0").version == "10.3.0"

    def test_one_that_is_not_there_is_wrong_use_and_the_known_ones_are_told(self):
        with pytest.raises(UsageError, match=r"no TensorRT bindings 9\.9 .*known: 10\.3\.0, "):
            choose(self.known, "11.0.0", "cp311", "9.9")

    def test_a_python_without_any_makes_it_unavailable(self):
        with pytest.raises(Unavailable, match="for cp399; there are some for cp311, cp312"):
            choose(self.known, "11.0.0", "cp399")


def test_the_catalogue_has_what_each_release_from_2_5_names():
    known = load_bindings()["bindings"]
    for release in load_catalogue():
        if Version(release.version) >= Version("2.5"):
            chosen = choose(known, release.pins.tensorrt, "cp311")
            assert Version(chosen.version).release[:3] == Version(release.pins.tensorrt).release[:3]


def test_a_catalogue_with_a_misspelt_key_is_refused(tmp_path):
    path = tmp_path / "bindings.toml"
    table = f'[rtx]\n[bindings."1.0".cp311]\nwheel = "a.whl"\nsha256 = "{"0" * 64}"\nsha265 = ""\n'
    path.write_text(f"schema = 1\n\n{table}")
    with pytest.raises(SurroundingsError, match="unknown key 'sha265'"):
        load_bindings(path)
