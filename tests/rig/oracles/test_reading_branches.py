"""Graphs inside of higher-order ops are read into terms: a fault in a branch or a body is seen."""

import copy
import functools
from typing import Any

import pytest
import torch
from torch._higher_order_ops.map import map as torch_map
from torch.export import ExportedProgram
from torch.fx import GraphModule

from harness.rig.oracles.reading import GraphReader
from harness.rig.oracles.wiring import check_program
from harness.wire.vocabulary import Stage

X, Y = torch.randn(3, 4), torch.randn(3, 4)


class Cond(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a, b: a - b * 2, lambda a, b: b + a * 3, (x, y))


class Map(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch_map(lambda row, other: row - other * 2, x, y[0])


class Loop(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        def again(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a.sum() < 9

        def step(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return a - b * 2, b + a.abs() + 1

        found = torch._higher_order_ops.while_loop(again, step, (x, y))
        return found[0]


MODELS = {"cond": Cond, "map": Map, "while_loop": Loop}


@functools.cache
def traced(name: str) -> ExportedProgram:
    """Nobody writes to it."""
    return torch.export.export(MODELS[name](), (X, Y))


def program_of(name: str) -> ExportedProgram:
    """One of one's own, to plant a fault in."""
    return copy.deepcopy(traced(name))


def bodies(program: ExportedProgram) -> list[GraphModule]:
    """The graphs inside, with an op, in the order in which the op reads them."""
    found = [child for _, child in program.graph_module.named_children()]
    return [child for child in found if isinstance(child, GraphModule)]


def findings(right: ExportedProgram, wrong: ExportedProgram) -> list[str]:
    reader = GraphReader()
    expected = reader.read_program(right, 2)
    return [found.kind for found in check_program(reader, expected, 2, wrong, Stage.LOAD)]


def the(op: str, program: ExportedProgram) -> Any:
    return next(n for body in bodies(program) for n in body.graph.nodes if str(n.target) == op)


def operands_change_places(program: ExportedProgram) -> None:
    node = the("aten.sub.Tensor", program)
    node.args = (node.args[1], node.args[0])


def another_op(program: ExportedProgram) -> None:
    the("aten.sub.Tensor", program).target = torch.ops.aten.add.Tensor


def another_number(program: ExportedProgram) -> None:
    node = the("aten.mul.Tensor", program)
    node.args = (node.args[0], 5)


def another_input(program: ExportedProgram) -> None:
    node = the("aten.mul.Tensor", program)
    inputs = [item for item in node.graph.nodes if item.op == "placeholder"]
    node.args = (next(item for item in inputs if item is not node.args[0]), node.args[1])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "spoil", [operands_change_places, another_op, another_number, another_input]
)
def test_a_fault_inside_of_a_higher_order_op_is_seen(name, spoil):
    right, wrong = program_of(name), program_of(name)
    spoil(wrong)
    assert findings(right, wrong) != []


def test_branches_that_change_places_are_seen():
    right, wrong = program_of("cond"), program_of("cond")
    node = next(node for node in wrong.graph.nodes if "cond" in str(node.target))
    condition, true, false, operands = node.args
    node.args = (condition, false, true, operands)
    assert findings(right, wrong) != []


@pytest.mark.parametrize("name", MODELS)
def test_other_names_inside_are_no_fault(name):
    right, other = program_of(name), program_of(name)
    for body in bodies(other):
        for number, node in enumerate(body.graph.nodes):
            if node.op != "output":
                node.name = f"other_{number}"
    assert findings(right, other) == []
