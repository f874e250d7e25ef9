from __future__ import annotations

import dataclasses

import pytest
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram

from corpus.case import Inputs
from harness.rig.oracles import signature
from harness.wire.vocabulary import Stage

BOUNDS = (1, 8)
EXAMPLE = Inputs((torch.ones(3, 2),), {"b": torch.ones(2), "a": torch.ones(2)})


class Model(torch.nn.Module):
    def forward(
        self, x: torch.Tensor, *, a: torch.Tensor, b: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        return {"sum": x + a, "difference": x - b}


def exported(high: int | None = BOUNDS[1]) -> ExportedProgram:
    dim = torch.export.Dim("n", min=1, max=high) if high else None
    shapes = {"x": {0: dim} if dim else None, "a": None, "b": None}
    return torch.export.export(
        Model(), EXAMPLE.args, dict(EXAMPLE.kwargs), dynamic_shapes=shapes if dim else None
    )


def specs(example: Inputs = EXAMPLE) -> tuple[pytree.TreeSpec, pytree.TreeSpec]:
    return signature.expected_specs(example, Model()(*EXAMPLE.args, **EXAMPLE.kwargs))


def kinds(
    program: ExportedProgram,
    expected: tuple[pytree.TreeSpec, pytree.TreeSpec],
    bounds: tuple[int, int] | None = BOUNDS,
) -> set[str]:
    found = signature.check_program(program, expected, bounds, Stage.LOAD)
    return {finding.kind for finding in found}


def test_a_correct_signature_has_no_finding():
    assert kinds(exported(), specs()) == set()


def test_keywords_in_another_order_are_no_finding_since_torch_binds_them_by_name():
    program = exported()
    turned = Inputs(EXAMPLE.args, dict(reversed(EXAMPLE.kwargs.items())))
    got, expected = (program.module()(*call.args, **call.kwargs) for call in (turned, EXAMPLE))
    assert all(torch.equal(got[name], expected[name]) for name in expected)
    assert kinds(program, specs(turned)) == set()


@pytest.mark.parametrize(
    "call",
    [
        Inputs((*EXAMPLE.args, torch.ones(2)), {"b": torch.ones(2)}),
        Inputs((), {"x": torch.ones(3, 2), **EXAMPLE.kwargs}),
        Inputs(EXAMPLE.args, {"a": {"b": torch.ones(2)}, "b": torch.ones(2)}),
    ],
)
def test_keywords_that_are_none_or_others_are_found(call):
    assert kinds(exported(), specs(call)) == {"input structure differs"}


def test_an_input_structure_that_is_no_call_is_found():
    program = exported()
    program.module_call_graph[0].signature.in_spec = pytree.tree_structure([1, 2, 3])
    assert kinds(program, specs()) == {"input structure differs"}


def test_another_number_of_inputs_is_found():
    more = Inputs((*EXAMPLE.args, torch.ones(1)), EXAMPLE.kwargs)
    assert kinds(exported(), specs(more)) == {
        "another number of inputs",
        "input structure differs",
    }


def test_a_flattened_output_is_found():
    flat = pytree.tree_structure((1, 2))
    assert kinds(exported(), (specs()[0], flat)) == {"output structure differs"}


def test_another_number_of_outputs_is_found():
    flat = pytree.tree_structure((1, 2, 3))
    assert "another number of outputs" in kinds(exported(), (specs()[0], flat))


def test_a_lost_range_constraint_is_found():
    program = exported()
    program.range_constraints.clear()
    assert kinds(program, specs()) == {"a range constraint is lost"}


def test_another_upper_bound_is_found():
    assert kinds(exported(high=9), specs()) == {"another upper bound"}


def test_a_bound_that_the_user_did_not_state_is_found():
    shapes = {"x": {0: torch.export.Dim("n")}, "a": None, "b": None}
    unbounded = torch.export.export(
        Model(), EXAMPLE.args, dict(EXAMPLE.kwargs), dynamic_shapes=shapes
    )
    assert not list(signature.check_program(unbounded, specs(), (2, None), Stage.LOAD))
    found = signature.check_program(exported(), specs(), (2, None), Stage.LOAD)
    assert [finding.kind for finding in found] == ["another upper bound"]


def test_a_dimension_that_became_static_is_found():
    assert kinds(exported(high=None), specs()) == {"the dynamic dimension became static"}


def test_a_program_that_takes_a_size_above_its_bound_is_found():
    over = dataclasses.replace(EXAMPLE, args=(torch.ones(9, 2),))
    assert list(signature.check_refusal(exported().module(), over)) == []
    found = list(signature.check_refusal(Model(), over))
    assert [finding.kind for finding in found] == ["takes a size above the bound"]


def test_a_static_program_is_not_asked_for_bounds():
    assert kinds(exported(high=None), specs(), bounds=None) == set()
