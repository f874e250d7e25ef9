"""What unflattening gives back is held against what went in."""

import pytest
import torch
from torch.export import ExportedProgram

from harness.rig.cell.prepare import PreparedCase
from harness.rig.oracles import unflatten
from harness.wire.vocabulary import Stage
from tests.rig.conftest import inlined, reloaded


def kinds(
    case: PreparedCase, program: ExportedProgram, children: frozenset[str] | None = None
) -> set[tuple[Stage, str]]:
    found = unflatten.check_program(program, case.captured.calls, case.reference, children=children)
    return {(finding.stage, finding.kind) for finding in found}


@pytest.mark.parametrize("name", ["pr_4360", "linears_in_two_fallbacks", "cond_in_fallback"])
def test_what_was_not_inlined_gives_back_the_children_that_went_in(prepared, name):
    case = prepared(name)
    children = unflatten.called_children(case.split)
    assert len(children) > 1
    assert kinds(case, reloaded(case.split, case), children) == set()


def test_a_child_that_is_missing_and_one_that_is_too_many_are_found(prepared):
    case = prepared("pr_4360")
    children = unflatten.called_children(case.split)
    wrong = (Stage.LOAD, "unflattened: other children")
    assert kinds(case, reloaded(case.split, case), children | {"_run_on_acc_9"}) == {wrong}
    assert kinds(case, reloaded(case.split, case), children - {"_run_on_acc_0"}) == {wrong}


def test_other_numbers_are_found(prepared):
    case = prepared("linears_in_two_fallbacks")
    program = reloaded(case.split, case)
    with torch.no_grad():
        next(iter(program.state_dict.values()))[0] += 1
    assert kinds(case, program) == {(Stage.RUN, "unflattened: numbers differ")}


def test_a_program_that_cannot_be_run_when_unflattened_is_found(prepared):
    case, other = prepared("linears_in_two_fallbacks"), prepared("dynamic_batch_of_two_inputs")
    assert kinds(case, reloaded(other.split, other)) == {
        (Stage.RUN, "unflattened: raises TypeError")
    }


def test_a_hybrid_whose_nodes_know_no_module_cannot_be_unflattened(prepared):
    case = prepared("batch_norm_in_fallback")
    program = reloaded(inlined(case), case)
    for node in program.graph.nodes:
        node.meta.pop("nn_module_stack", None)
    (found,) = kinds(case, program)
    assert found == (Stage.LOAD, "unflatten raises RuntimeError")
