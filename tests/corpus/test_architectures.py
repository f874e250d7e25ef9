import itertools

import pytest
import torch
from torch.fx import GraphModule
from torch.fx.node import _get_qualified_name

from corpus.case import Case, Family, Program, all_cases
from harness.rig.capture.capture import capture
from harness.rig.engines.builder import build_segment_engine

CASES = [case for case in all_cases() if case.family is Family.ARCHITECTURES]
HUB = {"bert", "clip", "gpt2", "llama", "t5", "vit", "whisper"}


def architecture(case: Case) -> str:
    return case.name.split("_")[0]


ARCHITECTURES = {
    name: list(cases)
    for name, cases in itertools.groupby(sorted(CASES, key=architecture), key=architecture)
}


def targets(children: list[GraphModule]) -> set[str]:
    """Every op in these children, by the names a case can give it."""
    nodes = [node for child in children for node in child.graph.nodes]
    called = {node.target for node in nodes if node.op == "call_function"}
    return {name for op in called for name in (str(op), _get_qualified_name(op))}


# The LSTM layer and the LSTM of cells are two.
TWICE = {"lstm": 2}


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_two_choices_are_for_every_run_and_one_of_them_is_dynamic(name):
    default = [case.name.endswith("_dynamic") for case in ARCHITECTURES[name] if not case.full]
    assert sorted(default) == [False, True] or sorted(default) == [False, False, True, True]
    assert len(default) == 2 * TWICE.get(name, 1)


def test_there_are_architectures_of_every_kind():
    kinds = {"resnet", "mobilenet", "unet", "detector", "yolo", "lstm", "gru", "experts"}
    assert kinds | {"diffusion", "graph"} | HUB <= set(ARCHITECTURES)
    assert len(ARCHITECTURES) >= 16


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_architecture_has_two_fallback_choices_and_a_dynamic_batch(name):
    cases = ARCHITECTURES[name]
    assert len({case.fallback for case in cases}) >= 2
    assert any(case.name.endswith("_dynamic") for case in cases)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.slow if case.full else ()) for case in CASES],
    ids=lambda case: case.name,
)
def test_a_split_has_buildable_engines_and_every_op_that_falls_back(case):
    captured = capture(case, "nonstrict")
    split = captured.split()
    children = dict(split.named_children())
    engines = {name: child for name, child in children.items() if "_acc_" in name}
    fallbacks = [child for name, child in children.items() if "_gpu_" in name]
    assert engines
    for name, segment in engines.items():
        assert build_segment_engine(name, segment).contract.outputs
    # Others are names that lowering gives to an op that is here by torch.export's name.
    exported = targets([captured.fresh_module()])
    assert targets(fallbacks) >= set(case.fallback) & exported
    assert set(case.fallback) & exported
    assert (captured.program.bounds is not None) == case.name.endswith("_dynamic")


def test_a_case_of_the_hub_says_what_it_needs():
    for case in CASES:
        assert case.requires == (("transformers",) if architecture(case) in HUB else ())


def test_token_ids_take_the_dynamic_size():
    program: Program = next(case for case in CASES if case.name == "t5_relu_dynamic").build()
    (ids,) = program.inputs(torch.Generator().manual_seed(0), 7).args
    assert ids.shape == (7, 5)
    assert ids.dtype is torch.int64
