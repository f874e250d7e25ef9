"""A candidate that is 2.14.0 under another version is green by every command, and one with a
planted fault is red by each, told in defects."""

import re
import zipfile
from pathlib import Path

import pytest

from harness.base.errors import ExitCode
from harness.catalogue.releases import CATALOGUE_FILE, EXPORTER_MODULE, load_catalogue
from harness.cli import qualifying, running
from harness.toolchain.cache import WHEELS
from harness.toolchain.environment import PROJECT_ROOT
from tests.cli.test_bench import invoke

LIKE, CANDIDATE = "2.14.0", "2.15.0rc1"
RIGHT = "copied_placeholder.replace_all_uses_with(submodule_inputs[idx])"
WRONG = "copied_placeholder.replace_all_uses_with(submodule_inputs[-1 - idx])"
#: A case that the planted fault breaks, and one that 2.14.0 is known to get wrong, in both lanes.
CASES = "inputs_read_in_reverse and not recorded or cache_in_one_engine"
ASKED = ("-k", CASES, "--jobs", "1")
pytestmark = pytest.mark.slow


def renamed(released: Path, folder: Path, *, broken: bool = False) -> Path:
    """A wheel with the content of a released one, under the candidate's version."""
    target = folder / released.name.replace(LIKE, CANDIDATE)
    with zipfile.ZipFile(released) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename.endswith(".dist-info/METADATA"):
                content = content.replace(f"Version: {LIKE}".encode(), b"Version: 2.15.0rc1", 1)
            if broken and item.filename == EXPORTER_MODULE:
                assert content.count(RIGHT.encode()) == 1
                content = content.replace(RIGHT.encode(), WRONG.encode())
            new.writestr(item.filename.replace(f"-{LIKE}.", f"-{CANDIDATE}."), content)
    return target


@pytest.fixture(scope="module", params=[False, True], ids=["identical", "broken"])
def made(request, tmp_path_factory, release_specs):
    """A candidate's wheel, and whether it has the fault."""
    released = Path(str(release_specs[LIKE].wheel_path))
    return renamed(released, tmp_path_factory.mktemp("made"), broken=request.param), request.param


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache that has what the project's has, and keeps what a test puts into it to itself."""
    cache = tmp_path / "cache"
    for part in (PROJECT_ROOT / ".cache").iterdir():
        if part.name in (WHEELS, "packages"):
            (cache / part.name).mkdir(parents=True)
            for each in part.iterdir():
                (cache / part.name / each.name).symlink_to(each)
        else:
            cache.mkdir(exist_ok=True)
            (cache / part.name).symlink_to(part)
    monkeypatch.setenv("INLINER_REGRESS_CACHE", str(cache))
    return cache


@pytest.fixture
def as_release(made, own_cache, tmp_path, monkeypatch):
    """The candidate in a copy of the catalogue, put there by `add-release`: is it broken?"""
    wheel, broken = made
    catalogue = tmp_path / "releases.toml"
    catalogue.write_bytes(CATALOGUE_FILE.read_bytes())
    code, told = invoke(
        "add-release", CANDIDATE, "--wheel", str(wheel), "--catalogue", str(catalogue)
    )
    assert code == ExitCode.GREEN, told
    for command in (running, qualifying):
        monkeypatch.setattr(command, "load_catalogue", lambda: load_catalogue(catalogue))
    return broken


def test_a_wheel_that_is_no_release_is_held_against_the_newest(made, tmp_path):
    wheel, broken = made
    code, told = invoke("run", "--wheel", str(wheel), *ASKED, "--out", str(tmp_path))
    assert code == (ExitCode.RED if broken else ExitCode.GREEN), told
    _told_in_defects(told, broken, by_cause=True)


def test_a_release_without_rows_of_its_own_is_held_against_the_one_before_it(as_release, tmp_path):
    code, told = invoke(
        "run", "--lane", "graph,package", "--releases", f"{LIKE},{CANDIDATE}", *ASKED,
        "--out", str(tmp_path),
    )  # fmt: skip
    assert code == (ExitCode.RED if as_release else ExitCode.GREEN), told
    _told_in_defects(told, as_release)
    assert re.search(rf"^defects.*: {re.escape(LIKE)} has ", told, re.MULTILINE)


def test_qualify_ships_what_is_the_same_and_nothing_else(as_release, tmp_path):
    code, told = invoke(
        "qualify", "--baseline", LIKE, "--candidate", CANDIDATE, "--budget", "0", *ASKED,
        "--out", str(tmp_path),
    )  # fmt: skip
    assert code == (ExitCode.RED if as_release else ExitCode.GREEN), told
    decision = "do not ship (only: " if as_release else "nothing forbids it (only: "
    assert f"{CANDIDATE} in place of {LIKE}: {decision}" in told
    _told_in_defects(told, as_release)
    page = (tmp_path / "latest" / "qualify.md").read_text(encoding="utf-8")
    (in_defects,) = re.findall(r"^- \*\*In defects\*\*: (.*)$", page, re.MULTILINE)
    brought_back = "A PyTorch fallback reads the wrong tensor" in in_defects
    assert (brought_back, in_defects.endswith(f"all else as {LIKE}")) == (as_release, as_release)
    assert as_release or in_defects == f"all as {LIKE}"


def _told_in_defects(told: str, broken: bool, *, by_cause: bool = False) -> None:
    """The lines of the candidate; and of a broken one the cell, the symptom and the command."""
    if not broken:
        assert f"\n{CANDIDATE}: all as {LIKE}\n" in told
        return
    assert f"all else as {LIKE}" in told
    back = '"A PyTorch fallback reads the wrong tensor'
    if by_cause:
        assert told.count(back) == 1
        assert re.search(rf"\n  breaks: wrong wiring .*; looks like the known defect {back}", told)
    else:
        assert re.search(rf'\n{CANDIDATE}:\n  brings back: {back}.*" \(fixed in {LIKE}\) in ', told)
    assert "inputs_read_in_reverse [" in told
    assert "numbers differ" in told
    assert f"python -m harness explain inputs_read_in_reverse --subject {CANDIDATE}" in told
