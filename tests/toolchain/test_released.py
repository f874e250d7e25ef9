"""A release that no catalogue knows: its wheel is found by version alone. No network is needed."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.toolchain import Toolchain
from tests.fake_releases import FULL_EXPORTER, full_wheel, make_release, script

# Gives the wheel that it has for the interpreter, and else says what pip says of its folder.
FAKE_PIP = """
import pathlib, shutil, sys
arguments = sys.argv
with open({log!r}, "a") as log:
    log.write(" ".join(arguments[1:]) + "\\n")
abi = arguments[arguments.index("--abi") + 1]
version = arguments[-3].partition("==")[2]
there = [path for path in pathlib.Path({folder!r}).glob("*.whl") if f"-{{abi}}-" in path.name]
for path in there:
    if path.name.startswith(f"torch_tensorrt-{{version}}-"):
        shutil.copy(path, arguments[-1])
        sys.exit(0)
versions = ", ".join(path.name.split("-")[1] for path in there) or "none"
sys.stderr.write({warning!r})
sys.stderr.write(f"ERROR: Could not find a version (from versions: {{versions}})\\n")
sys.stderr.write("ERROR: No matching distribution found\\n")
sys.exit(1)
"""


@dataclasses.dataclass(frozen=True)
class Registry:
    """A folder of wheels behind a pip that is a script."""

    folder: Path

    def add(self, version: str, interpreter: str = "cp311", platform: str = "linux_x86_64") -> Path:
        release = make_release(self.folder / "made", version, FULL_EXPORTER, full_wheel(version))
        name = f"torch_tensorrt-{version}-{interpreter}-{interpreter}-{platform}.whl"
        return (self.folder / "made" / release.wheel).rename(self.folder / name)

    def toolchain(self, warning: str = "", **fields: object) -> Toolchain:
        body = FAKE_PIP.format(folder=str(self.folder), log=str(self.log), warning=warning)
        python = script(self.folder / "python", body)
        return Toolchain(self.folder / "cache", python, **fields)  # type: ignore[arg-type]

    @property
    def log(self) -> Path:
        return self.folder / "pip.log"

    @property
    def asked(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.partition("--abi ")[2].split()[0] for line in lines]


@pytest.fixture
def registry(tmp_path):
    return Registry(tmp_path)


def test_it_is_fetched_into_the_cache_where_a_run_finds_it(registry):
    made = registry.add("9.1.0", platform="manylinux_2_28_x86_64")
    found = registry.toolchain().released_wheel("9.1.0")
    assert found == registry.folder / "cache" / "wheels" / made.name
    assert found.read_bytes() == made.read_bytes()
    (asked,) = registry.log.read_text().splitlines()
    for platform in ("manylinux_2_17", "manylinux_2_34", "manylinux2014", "linux"):
        assert f"--platform {platform}_x86_64" in asked
    assert "--no-deps --only-binary=:all:" in asked
    assert "--python-version 3.11" in asked


def test_a_wheel_for_another_python_will_do(registry):
    registry.add("9.0.0")
    made = registry.add("9.1.0", "cp310")
    assert registry.toolchain().released_wheel("9.1.0").name == made.name
    assert registry.asked == ["cp311", "cp312", "cp310"]


@pytest.mark.parametrize(
    ("version", "near"),
    [
        ("9.0.1", "9.0.0, 9.1.0, 9.2.0 and 2 others"),
        ("1.0", "9.0.0, 9.1.0, 9.2.0 and 2 others"),
        ("9.9", "9.2.0, 9.10.0, 9.11.0 and 2 others"),
    ],
)
def test_a_version_that_is_not_there_is_told_with_the_nearest(registry, version, near):
    for known in ("9.0.0", "9.1.0", "9.2.0", "9.10.0", "9.11.0"):
        registry.add(known, "cp311" if known != "9.11.0" else "cp313")
    with pytest.raises(UsageError) as refused:
        registry.toolchain().released_wheel(version)
    assert str(refused.value) == (
        "the registry, asked for cp311, cp312, cp310, cp313, has no wheel of torch-tensorrt "
        f"{version} for Linux on x86_64; it has {near}"
    )


def test_a_registry_without_any_is_told_so(registry):
    with pytest.raises(UsageError, match="it has none of any version"):
        registry.toolchain().released_wheel("9.1.0")


def test_a_registry_that_cannot_be_reached_lacks_no_version(registry):
    broken = "WARNING: Retrying after connection broken by 'ConnectTimeoutError'\n"
    with pytest.raises(SurroundingsError, match=r"9\.1\.0: no registry could be reached"):
        registry.toolchain(broken).released_wheel("9.1.0")
    assert registry.asked == ["cp311"]


def test_a_pip_that_fails_otherwise_is_told_with_its_reason(tmp_path):
    body = "import sys; sys.exit('ERROR: Invalid requirement')"
    toolchain = Toolchain(tmp_path / "cache", script(tmp_path / "python", body))
    with pytest.raises(SurroundingsError, match=r"pip could not fetch .*: Invalid requirement"):
        toolchain.released_wheel("9.1.0")


class TestAtHand:
    """A wheelhouse, or the cache of a machine that is offline: no pip is asked."""

    @pytest.mark.parametrize("offline", [False, True])
    def test_the_wheel_is_found_by_its_name_and_that_for_the_first_python_is_taken(
        self, registry, offline
    ):
        made = [registry.add("9.1.0", interpreter) for interpreter in ("cp39", "cp312", "cp311")]
        registry.add("9.1.0", "cp311", "win_amd64")
        cached = registry.folder / "cache" / "wheels"
        cached.mkdir(parents=True)
        for path in made:
            shutil.copy(path, cached)
        fields = {"offline": True} if offline else {"wheelhouse": registry.folder}
        assert registry.toolchain(**fields).released_wheel("9.1").name == made[2].name
        assert registry.asked == []

    def test_a_wheel_for_another_system_does_not_count(self, registry):
        registry.add("9.1.0", platform="win_amd64")
        registry.add("9.0.0", platform="manylinux_2_28_aarch64")
        with pytest.raises(UsageError, match=r"wheelhouse .* Linux on x86_64; it has none of any"):
            registry.toolchain(wheelhouse=registry.folder).released_wheel("9.1.0")

    def test_what_is_not_there_is_told_with_the_folder(self, registry):
        registry.add("9.1.0")
        with pytest.raises(UsageError, match=r"the wheelhouse .* it has 9\.1\.0$"):
            registry.toolchain(wheelhouse=registry.folder).released_wheel("9.2.0")
        with pytest.raises(UsageError, match=r"this run is offline, and the cache has no wheel"):
            registry.toolchain(offline=True).released_wheel("9.1.0")
        with pytest.raises(UsageError, match="nowhere: no such folder"):
            registry.toolchain(wheelhouse=registry.folder / "nowhere").released_wheel("9.1.0")
