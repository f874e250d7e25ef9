"""Nightly wheels judged into a store, told as a trend, and bisected; and commits bisected.

The nightlies are released wheels under other versions: one of 2.14.0, then two with the inliner of
before, which wires by name.
"""

import re
import zipfile

import pytest

from harness.base.errors import ExitCode, UsageError
from harness.catalogue.releases import EXPORTER_MODULE
from harness.run.nightlies import new_wheels, runs_in, wheels_in
from harness.toolchain.unpacking import is_of_package
from tests.cli.test_bench import invoke
from tests.test_checkout_run import RIGHT, tree_as_released
from tests.toolchain.test_checkout import git

VERSIONS = [f"2.15.0.dev2026110{day}" for day in (1, 2, 3)]
CASE = "inputs_read_in_reverse"


def nightly(folder, version: str, wheel: str) -> None:
    """The Python of a released wheel as a wheel of another version."""
    with zipfile.ZipFile(wheel) as released:
        (released_as,) = {n.split("/")[0] for n in released.namelist() if n.endswith("/METADATA")}
        content = {n: released.read(n) for n in released.namelist() if is_of_package(n)}
    target = folder / f"torch_tensorrt-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(target, "w") as made:
        for name, data in content.items():
            if name.endswith("/METADATA"):
                data = re.sub(rb"(?m)^Version: .*$", f"Version: {version}".encode(), data)
            made.writestr(name.replace(released_as, f"torch_tensorrt-{version}.dist-info"), data)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory, release_specs):
    folder = tmp_path_factory.mktemp("wheels")
    for version, release in zip(VERSIONS, ("2.14.0", "2.13.0", "2.13.0"), strict=True):
        nightly(folder, version, release_specs[release].wheel_path)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory, wheels):
    """The first and the last nightly, judged."""
    place, store = tmp_path_factory.mktemp("some"), tmp_path_factory.mktemp("store")
    for wheel in (wheels_in(wheels)[0], wheels_in(wheels)[2]):
        (place / wheel.name).symlink_to(wheel)
    code, told = watched(place, store)
    assert code == ExitCode.RED, told
    assert 'looks like the known defect "A PyTorch fallback reads the wrong tensor' in told
    return store


def watched(place, store):
    return invoke(
        "releases", "watch", str(place), "--store", str(store), "--cases", CASE, "--jobs", "1"
    )


def test_a_wheel_is_judged_once_whatever_its_folder(store, wheels):
    assert [wheel.name for wheel in new_wheels(wheels_in(wheels), store)] == [
        wheels_in(wheels)[1].name
    ]
    code, told = watched(wheels, store)
    assert code == ExitCode.RED, told
    assert "3 wheels in" in told
    assert "1 to judge" in told
    assert len(runs_in(store)) == 3


def test_bisect_names_the_first_nightly_that_shows_a_defect_and_asks_none_that_was_judged(
    store, wheels
):
    before = len(runs_in(store))
    code, told = invoke(
        "bisect", "--wheels", str(wheels), "--good", VERSIONS[0], "--bad", VERSIONS[2],
        "--defect", "wired-by-name", "--cases", CASE, "--store", str(store), "--jobs", "1",
    )  # fmt: skip
    assert code == ExitCode.GREEN, told
    assert f"first: {wheels_in(wheels)[1].name}" in told
    assert f"last without it: {wheels_in(wheels)[0].name}" in told
    assert "3 runs for 3" in told
    assert len(runs_in(store)) - before == (0 if before == 3 else 1)


def test_the_trend_says_when_a_defect_was_first_seen(store):
    code, told = invoke("trend", "--store", str(store))
    assert code == ExitCode.GREEN, told
    lines = told.splitlines()
    assert re.fullmatch(rf"\d nightlies: {VERSIONS[0]} to {VERSIONS[2]}", lines[0])
    (at,) = [n for n, line in enumerate(lines) if line.startswith("wired-by-name: A PyTorch")]
    assert re.search(rf"first seen in {VERSIONS[1]}|first seen in {VERSIONS[2]}", lines[at + 1])
    assert f", not in {VERSIONS[0]}" in lines[at + 1]
    assert "gone" not in lines[at + 1]


def test_what_cannot_be_bisected_is_told(wheels, tmp_path):
    def asked(good: str, bad: str, defect: str = "wired-by-name", *more: str) -> None:
        invoke(
            "bisect", "--wheels", str(wheels), "--good", good, "--bad", bad, "--defect", defect,
            "--store", str(tmp_path), *more,
        )  # fmt: skip

    with pytest.raises(UsageError, match=r"--good 1\.0: not in"):
        asked("1.0", VERSIONS[1])
    with pytest.raises(UsageError, match="is not before"):
        asked(VERSIONS[1], VERSIONS[0])
    with pytest.raises(UsageError, match="no known defect; name the case"):
        asked(VERSIONS[0], VERSIONS[1], "nonsense")
    with pytest.raises(UsageError, match="--wheels FOLDER for nightlies, or --checkout"):
        asked(VERSIONS[0], VERSIONS[1], "wired-by-name", "--checkout", str(wheels))
    with pytest.raises(UsageError, match="no run of a nightly"):
        invoke("trend", "--store", str(tmp_path))


def test_the_newest_wheel_of_an_index_is_fetched_by_pip_and_judged_like_one_of_a_folder(
    store, wheels, tmp_path
):
    """It was judged from a folder, and is known as that."""
    page = tmp_path / "index" / "torch-tensorrt" / "index.html"
    page.parent.mkdir(parents=True)
    links = [f'<a href="{wheel.as_uri()}">{wheel.name}</a>' for wheel in wheels_in(wheels)]
    page.write_text("\n".join(links))
    index = (tmp_path / "index").as_uri()
    code, told = invoke(
        "releases", "watch", index, "--store", str(store), "--cases", CASE, "--jobs", "1",
    )  # fmt: skip
    assert code == ExitCode.GREEN, told
    assert "1 wheel in" in told
    assert "0 to judge" in told
    assert [wheel.name for wheel in wheels_in(store / "wheels")] == [wheels_in(wheels)[2].name]


def test_bisect_over_a_checkout_names_the_first_commit_and_leaves_no_working_tree(
    tmp_path, release_specs
):
    root = tree_as_released(tmp_path / "tree", release_specs["2.14.0"])
    exporter = root / "py" / EXPORTER_MODULE
    by_name = exporter.read_text().replace(RIGHT, "raise KeyError(idx)")
    for title, text in (
        ("breaks", by_name),
        ("more", f"{by_name}# two\n"),
    ):
        exporter.write_text(text)
        git(root, "commit", "-q", "-a", "-m", title)
    (root / "README.md").write_text("no Python of the package")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "words")
    code, told = invoke(
        "bisect", "--checkout", str(root), "--good", "HEAD~3", "--bad", "HEAD~1",
        "--defect", "completion error@inline-fallbacks: KeyError: #", "--cases", CASE,
        "--store", str(tmp_path / "store"), "--jobs", "1",
    )  # fmt: skip
    assert code == ExitCode.GREEN, told
    assert f"first: {git(root, 'rev-parse', 'HEAD~2')}" in told
    assert "3 runs for 3" in told
    assert len(git(root, "worktree", "list").splitlines()) == 1
