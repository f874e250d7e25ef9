"""The corpus lock: equal programs are equal, and what differs is named with whose doing it is."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.corpus_checks.lock import (
    LOCK_FILE,
    CorpusLock,
    close,
    differences,
    lock_of,
    read_lock,
    renewed,
    write_lock,
)
from harness.toolchain.rig_client import read_corpus
from harness.wire.routes import Lane
from tests.commands import harness

ROW: Mapping[str, Any] = {
    "case": "a_case",
    "capture": "nonstrict",
    "graph": "g",
    "ops": {"aten.relu.default": 2},
    "split": "s",
    "children": {"_run_on_gpu_1": {"aten.relu.default": 2}},
    "inputs": [[["torch.float32", [2, 8], 0.25, 0.5, 1.0]]],
    "outputs": [[["torch.float32", [2, 8], 0.125, 0.5, 1.0]]],
}
LOCK = lock_of("2.13.0", [ROW])


def changed(**fields: Any) -> CorpusLock:
    return lock_of("2.13.0", [{**copy.deepcopy(dict(ROW)), **fields}])


def told(now: CorpusLock) -> list[str]:
    return [difference.what for difference in differences(LOCK, now)]


def test_the_same_programs_have_no_difference():
    assert told(changed()) == []


def test_a_number_may_differ_in_its_last_digits_and_no_more():
    nearly = [[["torch.float32", [2, 8], 0.1250001, 0.5, 1.0]]]
    assert told(changed(outputs=nearly)) == []
    (found,) = told(changed(outputs=[[["torch.float32", [2, 8], 0.126, 0.5, 1.0]]]))
    assert found.startswith("the machine computes other numbers: eager outputs are")
    (found,) = told(changed(inputs=[[["torch.float32", [2, 9], 0.25, 0.5, 1.0]]]))
    assert "inputs are" in found


def test_another_graph_is_blamed_on_torch_only_if_it_is_another_torch():
    now = changed(graph="h", ops={"aten.relu.default": 1, "aten.add.Tensor": 1})
    assert told(now) == [
        "the case was edited, and captures another graph: aten.add.Tensor 0 -> 1, "
        "aten.relu.default 2 -> 1"
    ]
    newer = dataclasses.replace(now, torch_version="2.14.0")
    assert told(newer)[0].startswith("torch 2.14.0 (locked: 2.13.0) captures another graph")
    assert told(changed(graph="h")) == [
        "the case was edited, and captures another graph: the same ops under other names, wires "
        "or metadata"
    ]


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ({"_run_on_gpu_0": {"aten.relu.default": 2}}, "children _run_on_gpu_0; locked"),
        ({"_run_on_gpu_1": {"aten.relu.default": 3}}, "_run_on_gpu_1: aten.relu.default 2 -> 3"),
        (ROW["children"], "the same children, wired otherwise"),
    ],
)
def test_another_split_of_the_same_graph_is_told_apart(children, message):
    (found,) = told(changed(split="t", children=children))
    assert found.startswith("the same graph is split otherwise: ")
    assert message in found


def test_a_case_that_came_or_went_is_a_difference():
    none = lock_of("2.13.0", [])
    assert told(none) == ["is in the lock, and no longer in the corpus"]
    assert [each.what for each in differences(none, LOCK)] == ["is not in the lock"]


def test_a_renewed_lock_keeps_the_line_of_a_program_that_is_as_locked():
    rounded = changed(outputs=[[["torch.float32", [2, 8], 0.1250001, 0.5, 1.0]]])
    assert renewed(LOCK, rounded, {"a_case"}) == LOCK
    edited = changed(graph="h")
    assert renewed(LOCK, edited, {"a_case"}) == edited


def test_a_lock_of_some_cases_leaves_the_others_and_forgets_those_that_are_gone():
    new = lock_of("2.13.0", [{**ROW, "case": "new"}])
    assert renewed(LOCK, new, {"a_case", "new"}).cases == {**LOCK.cases, **new.cases}
    assert renewed(LOCK, new, {"new"}) == new


def test_some_cases_alone_are_not_locked_by_another_torch():
    new = lock_of("2.14.0", [{**ROW, "case": "new"}])
    with pytest.raises(UsageError, match="lock all cases, without -k"):
        renewed(LOCK, new, {"a_case", "new"})


def test_nan_equals_nan_and_other_types_do_not_pass_for_numbers():
    assert close([float("nan")], [float("nan")])
    assert not close(1.0, "1.0")
    assert not close([1.0], [1.0, 2.0])


def test_a_lock_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "corpus.lock"
    write_lock(LOCK, path)
    assert read_lock(path) == LOCK
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a corpus lock"),
        ("{}", "not a corpus lock"),
        ("nonsense", "not a corpus lock"),
        ('{"schema": 99, "torch": "2.13.0"}', "schema 99; this harness reads 2"),
        (None, "harness lock` writes one"),
    ],
)
def test_a_foreign_truncated_or_missing_lock_is_refused(tmp_path, content, message):
    path = tmp_path / "corpus.lock"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_lock(path)


def test_the_committed_lock_holds_on_this_machine():
    done = harness("verify", "-k", "pr_4360 or returns_a_list")
    assert done.returncode == 0, done.stderr
    assert "programs as locked" in done.stdout


def test_locking_a_case_that_is_locked_changes_nothing():
    before = LOCK_FILE.read_bytes()
    done = harness("lock", "-k", "returns_a_list")
    assert done.returncode == 0, done.stderr
    assert LOCK_FILE.read_bytes() == before


def test_every_case_is_locked_in_both_modes(toolchain):
    # What a package makes of a model is each release's own.
    corpus = read_corpus(toolchain.python, cache=toolchain.cache)
    names = {case.name for case in corpus.of_lane(Lane.GRAPH)}
    locked = set(read_lock().cases)
    assert locked == {(name, mode) for name in names for mode in ("nonstrict", "strict")}
