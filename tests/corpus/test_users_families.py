"""The cases of what users met show what they say, in the split or in what the model does."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.utils._pytree as pytree

from corpus.axes.catalogue import AXES
from corpus.axes.space import values_held
from corpus.case import Case, Inputs, all_cases, find_case
from corpus.families import cache_forms, call_forms, sizes, writes_to_inputs
from harness.rig.capture import capture
from harness.rig.coverage import view_of
from harness.rig.oracles.values import first_difference, observe

OF_SIZES, OF_WRITES, OF_CACHES, OF_CALLS = (
    [item for item in all_cases() if item.build.__module__ == module.__name__]
    for module in (sizes, writes_to_inputs, cache_forms, call_forms)
)


def axes_of(case: Case) -> set[str]:
    return {value.partition("/")[0] for value in values_held(AXES, view_of(case))}


@pytest.mark.parametrize("case", OF_SIZES, ids=lambda case: case.name)
def test_a_number_or_a_size_crosses_an_engine_s_boundary(case: Case) -> None:
    assert "number at an engine" in axes_of(case)


@pytest.mark.parametrize("case", OF_WRITES, ids=lambda case: case.name)
def test_a_model_writes_to_what_it_is_given(case: Case) -> None:
    program = case.build()
    given = program.inputs(torch.Generator().manual_seed(0), None)
    before = copy.deepcopy(given)
    assert program.model is not None
    program.model(*given.args)
    pairs = zip(given.args, before.args, strict=True)
    assert not all(torch.equal(after, untouched) for after, untouched in pairs)
    assert "write to an input" in axes_of(case)


@pytest.mark.parametrize("case", OF_CACHES, ids=lambda case: case.name)
def test_what_a_call_leaves_in_a_cache_changes_what_the_next_one_returns(case: Case) -> None:
    captured = capture(case, "nonstrict")
    one_by_one = observe(copy.deepcopy(captured.eager), captured.calls, repeat=False)
    fresh = observe(copy.deepcopy(captured.eager), captured.calls[-1:], repeat=False)
    assert one_by_one.state, "the model writes to a buffer"
    assert first_difference(one_by_one.returned[-1], fresh.returned[0], tolerance=1e-3)


def test_a_cache_goes_through_the_package_lane_alone() -> None:
    assert all(case.lanes == ("package",) for case in OF_CACHES)


@pytest.mark.parametrize("case", OF_CALLS, ids=lambda case: case.name)
def test_a_model_is_called_as_no_other_family_calls_one(case: Case) -> None:
    assert "form of a call" in axes_of(case) or case.name == "tuple_of_one"


@pytest.mark.parametrize(
    "name", ["keywords_in_another_order_at_save", "dictionary_in_another_order_at_save"]
)
def test_keys_in_another_order_are_the_same_call_and_by_position_another(name: str) -> None:
    captured = capture(find_case(name), "nonstrict")
    given, saved = captured.example, captured.given_to_save
    assert first_difference(_call(captured.eager, given), _call(captured.eager, saved)) is None
    one, other = (pytree.tree_leaves((each.args, dict(each.kwargs))) for each in (given, saved))
    assert not all(map(torch.equal, one, other))


def _call(model: torch.nn.Module, inputs: Inputs) -> object:
    return model(*inputs.args, **inputs.kwargs)
