import operator
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from corpus.case import Inputs
from corpus.structures import NamedPair
from harness.rig.oracles import metadata
from harness.wire.vocabulary import Stage

CALL = Inputs((torch.randn(4, 2),))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.project(x).chunk(2, dim=-1)
        return left * right.reshape(-1, 1)


def exported() -> ExportedProgram:
    shapes = ({0: torch.export.Dim("n", min=1, max=8)},)
    return torch.export.export(Model(), (torch.randn(3, 2),), dynamic_shapes=shapes)


def node_of(program: ExportedProgram, name: str) -> Node:
    return next(node for node in program.graph.nodes if node.name == name)


def kinds(program: ExportedProgram) -> set[str]:
    return {finding.kind for finding in metadata.check_program(program, CALL, Stage.LOAD)}


def test_correct_symbolic_metadata_has_no_finding():
    assert kinds(exported()) == set()


def test_engines_with_correct_metadata_have_no_finding(prepared):
    case = prepared("dynamic_batch_chunk")
    example = case.captured.example
    program = torch.export.export(
        case.split, example.args, dynamic_shapes=case.captured.program.dynamic_shapes
    )
    for call in case.captured.calls:
        assert list(metadata.check_program(program, call, Stage.EXPORT)) == []


def test_a_node_that_nobody_reads_and_that_raises_is_a_finding_beside_those_before_it():
    program = exported()
    chunk = node_of(program, "getitem").args[0]
    with program.graph.inserting_after(node_of(program, "getitem_1")):
        behind = program.graph.call_function(operator.getitem, (chunk, 2))
    behind.meta["val"] = node_of(program, "getitem").meta["val"]
    assert kinds(program) == {"element of an op: raises IndexError"}
    node_of(program, "getitem").meta["val"] = None
    assert kinds(program) == {
        "element of an op: no value", "element of an op: raises IndexError",
    }  # fmt: skip


def in_list(value: Any) -> Any:
    return [value]


def as_double(value: torch.Tensor) -> torch.Tensor:
    return value.double()


def transposed(value: torch.Tensor) -> torch.Tensor:
    return value.t()


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [
        ("linear", in_list, "op: a list for a tensor"),
        ("linear", as_double, "op: another dtype"),
        ("linear", transposed, "op: another shape"),
        ("linear", lambda value: None, "op: no value"),
        ("getitem_1", in_list, "element of an op: a list for a tensor"),
        ("chunk", lambda value: value[:1], "op: a list of another length"),
        ("chunk", lambda value: value[0], "op: a FakeTensor for a list"),
        ("chunk", lambda value: [value[0], value[1].double()], "op: another dtype"),
        ("p_project_weight", transposed, "lifted parameter: another stride"),
        ("p_project_bias", as_double, "lifted parameter: another dtype"),
        ("x", as_double, "model input: another dtype"),
    ],
)
def test_every_planted_fault_is_found(name, change, kind):
    program = exported()
    node = node_of(program, name)
    node.meta["val"] = change(node.meta["val"])
    assert kinds(program) == {kind}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (as_double, "op: another dtype"),
        (transposed, "op: another shape"),
        (lambda value: value.new_empty((7, 7), dtype=torch.int8), "op: another dtype"),
        (lambda value: None, "op: no value"),
    ],
)
def test_a_list_for_a_tensor_does_not_hide_what_is_in_it(change, kind):
    program = exported()
    node = node_of(program, "linear")
    node.meta["val"] = [change(node.meta["val"])]
    assert kinds(program) == {"op: a list for a tensor", kind}


@pytest.mark.parametrize("several", [lambda value: [], lambda value: [value, value]])
def test_a_list_for_a_tensor_holds_one(several):
    program = exported()
    node = node_of(program, "linear")
    node.meta["val"] = several(node.meta["val"])
    assert kinds(program) == {"op: a list for a tensor", "op: a list of another length"}


def test_a_static_size_in_a_dynamic_program_is_found():
    program = exported()
    node = node_of(program, "linear")
    node.meta["val"] = torch.empty(3, 2)  # right for the example, and for no other call
    assert kinds(program) == {"op: another shape"}


def test_symbolic_strides_of_lifted_state_are_asked_in_this_run_and_add_no_guard():
    program = exported()
    fake_mode = node_of(program, "x").meta["val"].fake_mode
    guards = list(fake_mode.shape_env.guards)
    weight = node_of(program, "p_project_weight")
    weight.meta["val"] = fake_mode.from_tensor(
        program.state_dict["project.weight"], static_shapes=False
    )
    assert kinds(program) == set()
    weight.meta["val"] = weight.meta["val"].t()
    assert kinds(program) == {"lifted parameter: another stride"}
    assert fake_mode.shape_env.guards == guards


class TakesAPair(torch.nn.Module):
    def forward(self, pair: NamedPair) -> torch.Tensor:
        return torch.relu(pair.first) - pair.second


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("sub", lambda value: value, set()),
        ("sub", transposed, {"op: another shape"}),
        ("pair_second", as_double, {"model input: another dtype"}),
    ],
)
def test_a_program_that_takes_a_named_tuple_is_asked_like_any_other(name, change, found):
    call = Inputs((NamedPair(torch.randn(2, 3), torch.randn(2, 3)),))
    program = torch.export.export(TakesAPair(), call.args)
    node = node_of(program, name)
    node.meta["val"] = change(node.meta["val"])
    assert {f.kind for f in metadata.check_program(program, call, Stage.LOAD)} == found


def test_a_fraction_that_the_data_decide_is_what_its_op_made_of_them():
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
            return x * by.item()

    given = (torch.ones(3), torch.tensor(0.37))
    program = torch.export.export(Scaled(), given)
    assert list(metadata.check_program(program, Inputs(given), Stage.LOAD)) == []


class Patches(torch.nn.Module):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image.reshape(-1, 8).sum(1)


def test_a_size_that_is_a_multiple_of_what_no_input_has_alone_is_what_the_input_says():
    rows = torch.export.Dim("rows", min=2, max=12)
    shapes = ({0: 8 * rows},)
    program = torch.export.export(Patches(), (torch.ones(32),), dynamic_shapes=shapes)
    assert kinds_at(program, torch.ones(48)) == set()
    returned = node_of(program, "sum_1")
    returned.meta["val"] = returned.meta["val"].new_empty(4)
    assert kinds_at(program, torch.ones(48)) == {"op: another shape"}


def kinds_at(program: ExportedProgram, image: torch.Tensor) -> set[str]:
    return {found.kind for found in metadata.check_program(program, Inputs((image,)), Stage.EXPORT)}
