"""Recorded splits beside the graph lane's own: the splitter is the same, lowering is not."""

import pytest

from corpus.case import Case, Family, all_cases, find_case
from corpus.recorded.build import RecordedModules, recording_of
from corpus.recorded.difference import difference
from corpus.recorded.recording import Recording
from corpus.recorded.to_record import TO_RECORD
from corpus.recorded.values import CannotRecord
from harness.rig.capture.split import split_module
from harness.rig.questions.recording import GraphRecorder, calling_convention, own_split
from tests.rig.conftest import prepared_case

CASES = [case for case in all_cases() if case.family is Family.RECORDED]


def recorded(case: Case) -> Recording:
    found = recording_of(case)
    assert found is not None
    return found


def ops_of(recording: Recording, kind: str) -> set[str]:
    """The ops of all children whose names begin so."""
    return {
        node.target
        for name, child in recording.split.children.items()
        if name.startswith(kind)
        for node in child.nodes
        if node.op == "call_function"
    }


def told_by_names(case: Case) -> bool:
    """Whether an op's name alone says where it goes: some converters look at its arguments.

    By the global partitioner no case of the graph lane's own is split.
    """
    recording = recorded(case)
    engines, fallbacks = (ops_of(recording, kind) for kind in ("_run_on_acc_", "_run_on_gpu_"))
    return bool(fallbacks) and not engines & fallbacks


ADJACENT = [case for case in CASES if told_by_names(case)]


@pytest.mark.parametrize("case", ADJACENT, ids=lambda case: case.name)
def test_what_the_product_lowered_is_split_by_the_graph_lane_as_by_the_product(case):
    recording = recorded(case)
    split = split_module(
        RecordedModules(recording).handed(),
        ops_of(recording, "_run_on_gpu_"),
        recording.settings["min_block_size"],
    )
    assert not list(difference(GraphRecorder().split(split), recording.split))


def test_most_recordings_are_such():
    assert len(ADJACENT) >= 28


def test_another_op_in_pytorch_is_seen():
    recording = recorded(find_case("recorded_pr_4360"))
    split = split_module(RecordedModules(recording).handed(), {"aten.mul.Tensor"}, 1)
    assert list(difference(GraphRecorder().split(split), recording.split))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_recorded_difference_is_that_of_today_s_own_split(case):
    recording = recorded(case)
    own = own_split(find_case(recording.model), recording.settings["min_block_size"])
    assert tuple(difference(own, recording.split)) == recording.difference


def test_what_is_recorded_is_what_is_asked_for():
    asked = {wanted.name: wanted for wanted in TO_RECORD}
    for case in CASES:
        recording, wanted = recorded(case), asked[case.name]
        assert recording.product == wanted.case.name
        # A case may name an op as torch.export does, too: of that the package has nothing.
        assert set(recording.settings["torch_executed_ops"]) <= set(wanted.case.fallback)
        assert recording.settings["torch_executed_ops"]
        assert case.full == wanted.full


def test_a_compiled_module_and_a_plain_one_are_refused():
    prepared = prepared_case("cond_in_fallback")
    with pytest.raises(CannotRecord):
        GraphRecorder().split(prepared.split)
    child = prepared_case("pr_4360").split.get_submodule("_run_on_gpu_1")
    with pytest.raises(CannotRecord, match="a module called by way of CodeGen"):
        calling_convention(child)  # type: ignore[arg-type]
