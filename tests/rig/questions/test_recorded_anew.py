"""The committed recordings are what the newest release's package does today.

But for the weights, which a case draws by the seed of its name, and for the ops that it names for
torch.export's sake: cases were renamed since.
"""

import copy
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from corpus.recorded.recording import FOLDER, to_text
from corpus.recorded.to_record import TO_RECORD
from harness.rig.questions.recording import partitioning_seen, record
from harness.toolchain.rig_client import ask_rig, package_lane

FEW = ["recorded_pr_4360", "recorded_chunk_halves_global_partitioner"]


def recorded(package: ModuleType, release: str) -> dict[str, str]:
    wanted = [each for each in TO_RECORD if each.name in FEW]
    return {each.name: to_text(record(package, release, each)) for each in wanted}


def test_a_recording_is_what_the_package_makes_today(ask_package, catalogue):
    newest = catalogue.newest.version
    files = {name: (FOLDER / f"{name}.json").read_text() for name in FEW}
    assert ask_package(newest, recorded, newest) == files


@pytest.mark.slow
def test_every_recording_is_what_the_package_makes_today(toolchain, catalogue):
    lane = package_lane(toolchain.package_site(catalogue.newest))
    answers = ask_rig(sys.executable, "recordings", **lane, names=[])
    files = {path.stem: path.read_text() for path in FOLDER.glob("*.json")}
    assert {answer["name"] for answer in answers} == set(files)
    for answer in answers:
        assert "text" in answer, answer
        today, then = (json.loads(text) for text in (answer["text"], files[answer["name"]]))
        named, before = (data["settings"].pop("torch_executed_ops") for data in (today, then))
        assert set(before) <= set(named)
        assert made_by_the_package(today) == made_by_the_package(then)


def made_by_the_package(data: Any) -> Any:
    """A recording without the numbers of its tensors, and without its digest."""
    if isinstance(data, list):
        return [made_by_the_package(each) for each in data]
    if not isinstance(data, dict):
        return data
    drawn = {"values", "low", "high", "digest"}
    return {key: made_by_the_package(each) for key, each in data.items() if key not in drawn}


def test_another_wire_is_another_recording():
    data = json.loads((FOLDER / f"{FEW[0]}.json").read_text())
    other = copy.deepcopy(data)
    other["split"]["parent"]["nodes"].pop()
    assert made_by_the_package(other) != made_by_the_package(data)


def test_a_package_has_its_own_partitioners_back_whatever_happens():
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
