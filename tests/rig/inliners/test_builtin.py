"""The built-in inliners are models of released ones: held equal to them, verdict for verdict."""

import itertools

import pytest
from torch.fx import GraphModule

from corpus.case import cases_of
from harness.rig.cell.prepare import NotPrepared, PreparedCase
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.protocol import Inliner
from harness.wire.oracles import Oracle
from tests.chosen import QUICK, quick_first
from tests.rig.conftest import cell_record

WIRING_CASES = [case.name for case in cases_of("graph") if case.wiring and not case.full]

# There #4360's form, which maps placeholders to arguments before it copies, passes; the merged form
# returns a placeholder that it has erased.
MERGED_FORM_FAILS = ("returns_its_own_input", "found_in_drawn_0001")
#: Both find no engine of the call's name: the release asserts that there is one.
RAISES_OTHERWISE = "engine_called_by_another_name"
AGREEING = [name for name in WIRING_CASES if name != RAISES_OTHERWISE]


Verdicts = dict[Oracle, tuple[str, str]]
KNOWN: dict[tuple[str, str], Verdicts] = {}


@pytest.fixture
def askable(prepared):
    """A case, prepared; what a segment cannot be made of is asked of nobody in this lane."""

    def prepare(name: str) -> PreparedCase:
        try:
            return prepared(name)
        except NotPrepared as error:
            pytest.skip(f"no cell of it can be asked: {error}")

    return prepare


def verdicts(inliner: Inliner, case: PreparedCase) -> Verdicts:
    """What each oracle says; the tests of this module ask every cell once."""
    cell = inliner.name, case.case.name
    if cell not in KNOWN:
        found = cell_record(case, inliner).verdicts
        KNOWN[cell] = {verdict.oracle: (verdict.label, verdict.message) for verdict in found}
    return KNOWN[cell]


@pytest.mark.parametrize("name", quick_first(AGREEING))
def test_name_matching_agrees_with_2_13_0(inliners, askable, name):
    case = askable(name)
    assert verdicts(inliners["name-matching"], case) == verdicts(inliners["2.13.0"], case)


@pytest.mark.parametrize(
    "name", quick_first(name for name in AGREEING if name not in MERGED_FORM_FAILS)
)
def test_positional_agrees_with_2_14_0(inliners, askable, name):
    case = askable(name)
    assert verdicts(inliners["positional"], case) == verdicts(inliners["2.14.0"], case)


@pytest.mark.parametrize(
    ("ours", "release"), [("name-matching", "2.13.0"), ("positional", "2.14.0")]
)
def test_an_engine_that_is_called_by_another_name_is_found_by_neither(
    inliners, prepared, ours, release
):
    case = prepared(RAISES_OTHERWISE)
    both = (verdicts(inliners[name], case)[Oracle.COMPLETION] for name in (ours, release))
    assert [label for label, _ in both] == ["error@inline-engines"] * 2


@pytest.mark.parametrize("name", MERGED_FORM_FAILS)
def test_a_fallback_that_returns_its_own_input_passes_in_the_form_of_4360_alone(
    inliners, prepared, name
):
    case = prepared(name)
    positional = verdicts(inliners["positional"], case)
    assert {label for label, _ in positional.values()} == {"ok"}
    merged = verdicts(inliners["2.14.0"], case)
    assert merged[Oracle.COMPLETION][0] == "error@clean"


def test_the_wiring_cases_tell_the_two_algorithms_apart(inliners, prepared):
    apart = (
        name
        for name in sorted(WIRING_CASES, key=lambda name: name not in QUICK)
        if verdicts(inliners["name-matching"], prepared(name))
        != verdicts(inliners["positional"], prepared(name))
    )
    assert len(list(itertools.islice(apart, 2))) == 2


def test_the_two_passes_can_be_called_one_after_the_other(prepared):
    inliner = BuiltinInliner("positional")
    gm: GraphModule = inliner.transform(prepared("pr_4360").split)
    assert [node for node in gm.graph.nodes if node.op == "call_module"] == []


def test_transform_leaves_the_split_module_as_it_was(prepared):
    split = prepared("chunk_of_chunk").split
    before = split.graph.python_code("self").src
    BuiltinInliner("name-matching")
    BuiltinInliner("positional").transform(split)
    assert split.graph.python_code("self").src == before
