"""A model taken apart, shrunk by what is asked of its graph alone, and written down as code."""

import os
import signal
import sys
import time
import types

import pytest

from corpus import case as cases
from harness.rig.capture.capture import capture
from harness.rig.reducing.candidate import Candidate, value_of
from harness.rig.reducing.edits import smaller_sizes
from harness.rig.reducing.search import reduced
from harness.rig.reducing.taking_apart import taken_apart
from harness.rig.reducing.writing import case_text
from harness.rig.trying import CameToNothing, tried
from tests.rig.reducing.models import DEEP


def declared(text, name, monkeypatch):
    """A case of a module that has this text."""
    monkeypatch.setattr(cases, "_REGISTRY", {})
    module = types.ModuleType("declared_here")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, "declared_here", "exec"), module.__dict__)
    return cases._REGISTRY[name]


@pytest.fixture
def candidate_of(monkeypatch):
    def find(name):
        return taken_apart(capture(declared(DEEP, name, monkeypatch), "nonstrict"), "nonstrict")

    return find


def ops(candidate: Candidate) -> list[str]:
    return [str(node.target) for node in candidate.calls]


def smallest(candidate, fails):
    *_, last = (candidate, *reduced(candidate, fails))
    return last


def test_a_model_shrinks_to_what_is_asked_for_and_no_more(candidate_of):
    found = smallest(candidate_of("small_effect"), lambda c: "aten.cos.default" in ops(c))
    assert ops(found) == ["aten.cos.default"]
    assert (found.nodes, list(found.leaves), list(found.held)) == (3, ["x"], [])
    assert found.case.fallback == ()


def test_what_only_writes_is_kept_where_it_is_asked_for(candidate_of):
    found = smallest(candidate_of("small_effect"), lambda c: "aten.add_.Tensor" in ops(c))
    assert ops(found) == ["aten.add_.Tensor"]


def test_of_an_op_of_several_values_one_of_the_same_sizes_is_left(candidate_of):
    def fails(candidate: Candidate) -> bool:
        """What is returned is an element of a tuple, of the sizes of the model's input."""
        (returned,) = candidate.outputs[:1]
        return "getitem" in str(returned) and value_of(returned).shapes[0] == (4, 16)

    found = smallest(candidate_of("halves"), fails)
    assert ops(found) == ["aten.chunk.default", "<built-in function getitem>"]
    assert found.nodes == 4


def test_every_candidate_that_is_taken_is_smaller_and_runs(candidate_of):
    candidate = candidate_of("small_effect")
    before = candidate.measure()
    for each in reduced(candidate, lambda c: ops(c).count("aten.tanh.default") >= 2):
        assert each.measure() < before
        before = each.measure()
        capture(each.as_case(), "nonstrict")
    assert ops(each) == ["aten.tanh.default"] * 2


def test_a_reduction_gives_the_same_twice(candidate_of):
    def fails(candidate):
        return {"aten.linear.default", "aten.add_.Tensor"} <= {*ops(candidate)}

    first, second = (smallest(candidate_of("small_effect"), fails) for _ in range(2))
    assert first.digest() == second.digest()


def test_containers_keywords_and_sizes_go_where_they_need_not_stay(candidate_of):
    found = smallest(candidate_of("packed_call"), lambda c: "aten.relu.default" in ops(c))
    assert (found.positional, found.dynamic, found.out_spec) == (True, False, None)
    assert ops(found) == ["aten.relu.default"]


def test_containers_keywords_and_sizes_stay_where_they_matter(candidate_of):
    def fails(candidate):
        return candidate.dynamic and bool(candidate.kwargs) and candidate.out_spec is not None

    found = smallest(candidate_of("packed_call"), fails)
    assert found.dynamic
    assert list(found.kwargs) == ["extra"]
    capture(found.as_case(), "nonstrict")


def test_a_dynamic_model_that_is_called_one_by_one_keeps_its_dimensions(candidate_of):
    found = smallest(
        candidate_of("packed_call"), lambda c: c.dynamic and "aten.relu.default" in ops(c)
    )
    assert found.positional
    (leaf,) = found.leaves.values()
    assert leaf.spec[0].__name__ == "batch"
    exported = capture(found.as_case(), "nonstrict").exported
    assert len(exported.range_constraints) == 1


def test_a_dynamic_model_never_loses_all_of_its_dimensions(candidate_of):
    found = smallest(candidate_of("dynamic_call"), lambda c: c.dynamic)
    assert any(found.program.dynamic_shapes)
    assert len(capture(found.as_case(), "nonstrict").exported.range_constraints) == 1


def test_sizes_that_do_not_fit_are_no_candidate(candidate_of):
    candidate = candidate_of("small_effect")
    made = [edit() for edit in smaller_sizes(candidate)]
    assert any(each is not None for each in made)
    for each in (one for one in made if one is not None):
        capture(each.as_case(), "nonstrict")


@pytest.mark.parametrize("name", ["small_effect", "packed_call", "returns_a_named_tuple"])
def test_a_candidate_written_as_code_computes_the_same(name, candidate_of, monkeypatch):
    candidate = candidate_of(name)
    text = case_text(candidate, "nothing", exact=True)
    again = taken_apart(capture(declared(text, "reduced", monkeypatch), "nonstrict"), "nonstrict")
    assert ops(again) == ops(candidate)
    assert again.case.fallback == candidate.case.fallback
    assert (again.dynamic, again.out_spec) == (candidate.dynamic, candidate.out_spec)
    shapes = [{n: each.value.shape for n, each in c.held.items()} for c in (candidate, again)]
    assert shapes[0] == shapes[1]


def test_a_try_that_dies_or_raises_or_hangs_comes_to_nothing():
    assert tried(lambda: {"is": 1}, 10.0) == {"is": 1}
    with pytest.raises(CameToNothing, match="was killed by SIGKILL"):
        tried(lambda: os.kill(os.getpid(), signal.SIGKILL), 10.0)
    with pytest.raises(CameToNothing, match="ZeroDivisionError"):
        tried(lambda: {"is": 1 // 0}, 10.0)
    with pytest.raises(CameToNothing, match="did not end in its time"):
        tried(lambda: time.sleep(60), 0.2)
