import dataclasses

import pytest
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind

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
    bounds: tuple[int, int | None] | None = BOUNDS,
) -> set[str]:
    found = signature.check_program(program, expected, [bounds] if bounds else [], Stage.LOAD)
    return {finding.kind for finding in found}


def test_keywords_in_another_order_are_no_finding_since_torch_binds_them_by_name():
    program = exported()
    turned = Inputs(EXAMPLE.args, dict(reversed(EXAMPLE.kwargs.items())))
    got, expected = (program.module()(*call.args, **call.kwargs) for call in (turned, EXAMPLE))
    assert all(torch.equal(got[name], expected[name]) for name in expected)
    assert kinds(program, specs(turned)) == set()


ONE = torch.ones(2)
OTHER_INPUTS = {"input structure differs"}
MORE_INPUTS = {"another number of inputs", *OTHER_INPUTS}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (EXAMPLE, set()),
        (Inputs((*EXAMPLE.args, ONE), {"b": ONE}), OTHER_INPUTS),
        (Inputs((), {"x": torch.ones(3, 2), **EXAMPLE.kwargs}), OTHER_INPUTS),
        (Inputs(EXAMPLE.args, {"a": {"b": ONE}, "b": ONE}), OTHER_INPUTS),
        (Inputs((*EXAMPLE.args, torch.ones(1)), EXAMPLE.kwargs), MORE_INPUTS),
    ],
)
def test_another_call_than_the_programs_own_is_found(call, found):
    assert kinds(exported(), specs(call)) == found


def test_an_input_structure_that_is_no_call_is_found():
    program = exported()
    program.module_call_graph[0].signature.in_spec = pytree.tree_structure([1, 2, 3])
    assert kinds(program, specs()) == OTHER_INPUTS


@pytest.mark.parametrize(
    ("outputs", "found"),
    [((1, 2), "output structure differs"), ((1, 2, 3), "another number of outputs")],
)
def test_other_outputs_are_found(outputs, found):
    assert found in kinds(exported(), (specs()[0], pytree.tree_structure(outputs)))


@pytest.mark.parametrize(
    ("high", "bounds", "found"),
    [
        (9, BOUNDS, {"another upper bound"}),
        (BOUNDS[1], (2, None), {"another upper bound"}),  # one that the user did not state
        (None, BOUNDS, {"the dynamic dimension became static"}),
        (None, None, set()),  # of a static program none is asked
    ],
)
def test_another_bound_is_found(high, bounds, found):
    assert kinds(exported(high), specs(), bounds) == found


def test_a_lost_range_constraint_is_found_and_one_that_nobody_stated_is_not_missed():
    program = exported()
    program.range_constraints.clear()
    assert kinds(program, specs()) == {"a range constraint is lost"}
    shapes = {"x": {0: torch.export.Dim("n")}, "a": None, "b": None}
    unbounded = torch.export.export(
        Model(), EXAMPLE.args, dict(EXAMPLE.kwargs), dynamic_shapes=shapes
    )
    assert kinds(unbounded, specs(), (2, None)) == set()


def test_a_program_that_takes_a_size_above_its_bound_is_found():
    over = dataclasses.replace(EXAMPLE, args=(torch.ones(9, 2),))
    assert list(signature.check_refusal(exported().module(), over)) == []
    found = list(signature.check_refusal(Model(), over))
    assert [finding.kind for finding in found] == ["takes a size above the bound"]


class Counting(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count + 1


def test_a_buffer_whose_update_is_declared_twice_is_found():
    program = torch.export.export(Counting(), (ONE,)).run_decompositions()
    expected = signature.expected_specs(Inputs((ONE,)), ONE)
    assert kinds(program, expected, bounds=None) == set()
    outputs = program.graph_signature.output_specs
    outputs.insert(0, outputs[0])
    found = kinds(program, expected, bounds=None)
    assert found == {"an update of one tensor is declared more than once"}


@pytest.mark.parametrize("decomposed", [False, True])
def test_a_write_is_told_by_an_op_of_the_graph_or_by_the_signature(decomposed):
    program = torch.export.export(Counting(), (ONE,))
    program = program.run_decompositions() if decomposed else program
    assert list(signature.check_writes(program, changed=1)) == []


@pytest.mark.parametrize("kind", [OutputKind.USER_OUTPUT, OutputKind.USER_INPUT_MUTATION])
def test_a_write_of_which_neither_graph_nor_signature_tells_is_found(kind):
    program = torch.export.export(Counting(), (ONE,)).run_decompositions()
    outputs = program.graph_signature.output_specs
    outputs[0] = dataclasses.replace(outputs[0], kind=kind)
    (found,) = signature.check_writes(program, changed=1)
    assert (found.stage, found.kind) == (Stage.RUN, "state is written, and nothing tells of it")


class Masked(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, mask])  # which does not ask that they are of one size


@pytest.mark.parametrize(
    ("shared", "found"), [(True, set()), (False, {"sizes that are one vary on their own"})]
)
def test_a_batch_of_two_inputs_that_became_two_batches_is_a_finding(shared, found):
    rows = torch.export.Dim("rows", min=2, max=8)
    other = rows if shared else torch.export.Dim("other", min=2, max=8)
    inputs = torch.ones(3, 2), torch.ones(3, 2)
    program = torch.export.export(Masked(), inputs, dynamic_shapes=({0: rows}, {0: other}))
    expected = signature.expected_specs(Inputs(inputs), Masked()(*inputs))
    told = signature.check_program(program, expected, [(2, 8)], Stage.LOAD, own=1)
    assert {finding.kind for finding in told} == found
