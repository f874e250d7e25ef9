"""Smaller blueprints: below what they were made of, and minimal in the end."""

import itertools
from collections.abc import Callable

import pytest

from corpus.blueprints.blueprint import (
    AttributeKind,
    Blueprint,
    Form,
    FormKind,
    Ref,
    StepKind,
    packed,
    value,
)
from corpus.blueprints.build import build
from corpus.blueprints.cases import blueprint_of, case_of
from corpus.case import Family, all_cases, find_case
from corpus.drawn.shrink import pruned, size, smaller
from harness.rig.questions.reduce import reduced
from tests.corpus.blueprints.draft import Draft, item, tuple_of


def sample() -> Blueprint:
    """Two engines, a fallback of two outputs with a weight, a value that nobody reads."""
    draft = Draft()
    x, y, unused = draft.input("rows", 8), draft.input("rows", 8), draft.input(8)
    draft.arguments = [packed(FormKind.LIST, value(x.at), value(y.at)), value(unused.at)]
    low = draft.engine([x, y], ("add", 0, ("times", 1, 2.0)))
    draft.engine([x], ("plus", 0, 1.0))
    weight = draft.tensor("weight", AttributeKind.PARAMETER)
    both = draft.fallback(
        [low], tuple_of(("relu", 0), ("mul", 0, 1)), attributes=(weight,), nested=False
    )
    high = draft.engine([item(both, 1), item(both, 0)], ("sub", 0, 1))
    returns = packed(FormKind.TUPLE, Form(FormKind.VALUE, high), Form(FormKind.VALUE, low))
    return draft.finished("sample", "nothing", returns)


def minimal(blueprint: Blueprint, still_fails: Callable[[Blueprint], bool]) -> Blueprint:
    return [blueprint, *reduced(blueprint, still_fails)][-1]


def has_a_fallback(blueprint: Blueprint) -> bool:
    return any(step.kind is StepKind.FALLBACK for step in blueprint.steps)


def stands(blueprint: Blueprint) -> bool:
    """Whether all that is read stands before its reader: cheaper than to build it."""
    first = len(blueprint.inputs)
    for at, step in enumerate(blueprint.steps, start=first):
        given = len(step.reads) + len(step.attributes)
        inner = [read < given + index for index, op in enumerate(step.ops) for read in op.reads]
        if not step.reads or not all(inner) or any(ref.at >= at for ref in step.reads):
            return False
    return True


def builds(blueprint: Blueprint) -> bool:
    try:
        build(blueprint)
    except Exception:  # noqa: BLE001 - whatever a blueprint raises that is no program
        return False
    return True


def test_every_candidate_is_smaller():
    candidates = list(smaller(sample()))
    assert len(candidates) > 20
    assert all(size(each) < size(sample()) for each in candidates)
    assert len({str(each) for each in candidates}) == len(candidates)


def test_many_candidates_can_be_built():
    assert builds(sample())
    first = itertools.islice((each for each in smaller(sample()) if stands(each)), 12)
    assert sum(map(builds, first)) >= 6


def test_what_nobody_reads_goes_and_nothing_else_does():
    found = pruned(sample())
    assert (len(found.steps), len(found.inputs)) == (3, 2)
    assert pruned(found) == found
    assert builds(found)


def test_a_blueprint_shrinks_to_one_that_has_what_was_asked_and_no_more():
    found = minimal(sample(), lambda each: has_a_fallback(each) and stands(each))
    (step,) = found.steps
    assert (step.kind, len(found.inputs), len(step.attributes)) == (StepKind.FALLBACK, 1, 0)
    assert found.returns == Form(FormKind.VALUE, Ref(1))


def test_what_is_minimal_has_no_candidate_that_fails():
    def fails(each: Blueprint) -> bool:
        return has_a_fallback(each) and stands(each)

    found = minimal(sample(), fails)
    assert not any(fails(each) for each in smaller(found))


def test_the_same_reduction_twice_is_the_same_and_nothing_is_asked_twice():
    asked: list[str] = []

    def fails(each: Blueprint) -> bool:
        asked.append(str(each))
        return has_a_fallback(each) and stands(each)

    first = minimal(sample(), fails)
    assert len(asked) == len(set(asked))
    assert minimal(sample(), fails) == first


def test_a_case_tells_whether_it_is_a_blueprint():
    assert blueprint_of(find_case("relu_once")) is None
    drawn = blueprint_of(find_case("drawn_lone_fallback"))
    assert drawn is not None
    assert case_of(drawn).name == "drawn_lone_fallback"


@pytest.mark.parametrize(
    "case",
    [case for case in all_cases() if case.family is Family.FOUND],
    ids=lambda case: case.name,
)
def test_a_found_case_is_small_and_named_as_its_file_is(case):
    found = blueprint_of(case)
    assert found is not None
    assert found.name == case.name
    assert len(found.steps) <= 6
