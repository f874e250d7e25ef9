"""The wheel holds all that the harness needs, and runs beside folders of the same names."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from harness.toolchain.environment import PROJECT_ROOT, rig_command


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source = tmp_path_factory.mktemp("source")
    for name in ("harness", "corpus"):
        shutil.copytree(
            PROJECT_ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(PROJECT_ROOT / name, source)
    gone = source / "build" / "lib" / "corpus" / "families" / "gone.py"  # of an earlier build
    gone.parent.mkdir(parents=True)
    gone.touch()
    out = tmp_path_factory.mktemp("wheel")
    page = (PROJECT_ROOT / "docs" / "commands.md").read_text()
    (requirement,) = re.findall(r'`pip install "(.+)"`', page)
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out)]
    subprocess.run([sys.executable, "-m", "pip", *build, requirement], cwd=source, check=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    target = tmp_path_factory.mktemp("installed")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(wheel)], check=True)
    return target


@pytest.fixture
def foreign(tmp_path):
    """A user's folder that holds a `corpus` and a `harness` of its own, which end whoever asks."""
    for name in ("corpus", "harness"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')\n")
    return tmp_path


def test_the_wheel_holds_every_file_of_both_packages(wheel):
    here = {
        path.relative_to(PROJECT_ROOT).as_posix()
        for package in ("harness", "corpus")
        for path in (PROJECT_ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    there = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert there == here


def test_the_console_script_tells_the_defects_and_names_itself(installed, foreign):
    done = subprocess.run(
        [installed / "bin" / "inliner-regress", "defects", "effect-deleted"],
        cwd=foreign,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "inliner-regress explain " in done.stdout
    assert "python -m harness" not in done.stdout


def test_what_the_harness_starts_finds_its_own_packages_whatever_the_folder(foreign):
    command = rig_command(sys.executable, "harness.wire.routes")
    environment = {**os.environ, "PYTHONPATH": str(foreign)}
    assert subprocess.run(command, cwd=foreign, env=environment, check=False).returncode == 0
