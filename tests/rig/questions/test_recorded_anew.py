"""The committed recordings are what the newest release's package does today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corpus.recorded.recording import FOLDER
from harness.catalogue.releases import Catalogue
from harness.rig.questions.recording import partitioning_seen
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import ask_rig, package_lane

FEW = ["recorded_pr_4360", "recorded_chunk_halves_global_partitioner"]


def recorded_anew(
    toolchain: Toolchain, catalogue: Catalogue, names: list[str]
) -> dict[str, dict[str, str]]:
    lane = package_lane(toolchain.package_site(catalogue.newest))
    answers = ask_rig(sys.executable, "recordings", **lane, names=names)
    return {answer["name"]: answer for answer in answers}


def held_against_the_files(answers: dict[str, dict[str, str]]) -> None:
    for name, answer in answers.items():
        assert answer.get("text") == (FOLDER / f"{name}.json").read_text(), answer.get("refused")


def test_a_recording_is_what_the_package_makes_today(
    toolchain: Toolchain, catalogue: Catalogue
) -> None:
    answers = recorded_anew(toolchain, catalogue, FEW)
    assert list(answers) == FEW
    held_against_the_files(answers)


@pytest.mark.slow
def test_every_recording_is_what_the_package_makes_today(
    toolchain: Toolchain, catalogue: Catalogue
) -> None:
    answers = recorded_anew(toolchain, catalogue, [])
    assert {f"{name}.json" for name in answers} == {path.name for path in FOLDER.iterdir()}
    held_against_the_files(answers)


def test_a_package_has_its_own_partitioners_back_whatever_happens() -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no converter")

    partitioning = SimpleNamespace(fast_partition=fail, global_partition=fail)
    package: Any = SimpleNamespace(dynamo=SimpleNamespace(partitioning=partitioning))
    with partitioning_seen(package):
        wrapped = partitioning.fast_partition
    assert wrapped is not fail
    with pytest.raises(ValueError, match="no converter"), partitioning_seen(package):
        fail()
    assert partitioning.fast_partition is partitioning.global_partition is fail


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["recorded_nothing"], 2, "no recording is named recorded_nothing; "),
        (["--release", "1.0.0"], 2, "1.0.0"),
    ],
)
def test_what_cannot_be_recorded_is_told_in_one_message(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness", "record", "--out", str(tmp_path), *arguments],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
