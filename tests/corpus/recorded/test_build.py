"""A recorded split is built again as it was, node for node, and runs."""

import pytest
import torch
import torch.utils._pytree as pytree

from corpus.case import Family, all_cases
from corpus.recorded.build import RecordedModules, recording_of
from harness.rig.questions.recording import GraphRecorder, calling_convention

CASES = [case for case in all_cases() if case.family is Family.RECORDED]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_built_is_what_was_recorded(case):
    recording = recording_of(case)
    assert recording is not None
    modules = RecordedModules(recording)
    handed, split = modules.handed(), modules.split()
    recorder = GraphRecorder()
    assert recorder.graph(handed) == recording.handed
    assert recorder.split(split) == recording.split
    assert [name for name, _ in split.named_children()] == list(recording.split.children)
    assert calling_convention(split) == (
        recording.argument_names,
        recording.in_spec,
        recording.out_spec,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_computes_what_the_module_does_that_was_handed_to_the_splitter(case):
    recording = recording_of(case)
    assert recording is not None
    program = case.build()
    handed = RecordedModules(recording).handed()
    for size in (None,) if program.bounds is None else program.bounds:
        call = program.inputs(torch.Generator().manual_seed(1), size)
        with torch.no_grad():
            leaves = []
            for module in (handed, program.split):
                torch.manual_seed(0)
                assert module is not None
                leaves.append(pytree.tree_leaves(module(*call.args, **call.kwargs)))
        assert all(torch.equal(one, other) for one, other in zip(*leaves, strict=True))


def test_a_case_that_is_written_as_code_is_no_recording():
    assert recording_of(next(case for case in all_cases() if case.name == "pr_4360")) is None
