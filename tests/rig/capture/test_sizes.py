"""One call tells independent dynamic dimensions apart, and shows where two of them are swapped."""

import dataclasses
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Case, Family, Inputs, Origin, Program
from corpus.inputs import DYNAMIC, floats
from harness.rig.capture.capture import capture
from harness.rig.capture.sizes import apart, indices_within, ranges_tried, user_values
from harness.rig.cell.prepare import prepare
from harness.rig.clock import StageClock
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles.observing import observe
from harness.wire.oracles import Oracle
from tests.rig.conftest import Tampering, cell_record

BOUNDS = (1, 8)


class BothSizes(torch.nn.Module):
    """The number of rows and the number of columns, as a fallback sees them, in every output."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        return torch.relu(x + 1) + torch.ones(rows, 1).sum(0) - 2 * torch.ones(columns, 1).sum(0)


def both_sizes() -> Program:
    rows, columns = (torch.export.Dim(name, min=1, max=8) for name in ("rows", "columns"))
    return Program(
        floats((DYNAMIC, DYNAMIC)),
        model=BothSizes(),
        dynamic_shapes=({0: rows, 1: columns},),
        bounds=BOUNDS,
    )


FALLBACK = ("aten.relu.default", "aten.ones.default", "aten.sym_size.int")
CASE = Case("both_sizes", Family.DYNAMIC_SHAPES, Origin.EXPORTED, "", both_sizes, FALLBACK)


def shapes(calls: tuple[Inputs, ...]) -> list[list[tuple[int, ...]]]:
    return [[tuple(item.shape) for item in call.args] for call in calls]


@pytest.mark.parametrize("mode", ["nonstrict", "strict"])
def test_one_call_has_two_sizes_that_are_neither_each_other_nor_the_example_s(mode):
    assert shapes(capture(CASE, mode).calls) == [[(4, 4)], [(2, 3)], [(8, 8)]]


def test_dimensions_that_depend_on_each_other_stay_as_they_were(prepared):
    calls = prepared("derived_dimension").captured.calls
    assert shapes(calls) == [[(4, 8), (8, 8)], [(2, 8), (4, 8)], [(8, 8), (16, 8)]]


def test_a_size_that_is_computed_of_another_follows_it():
    class Padded(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, x]) - y

    rows, columns = (torch.export.Dim(name, min=1, max=8) for name in ("rows", "columns"))
    wide = {0: 2 * rows, 1: columns}
    example = (torch.ones(4, 4), torch.ones(8, 4))
    exported = torch.export.export(Padded(), example, dynamic_shapes=({0: rows, 1: columns}, wide))
    largest = Inputs((torch.ones(8, 8), torch.ones(16, 8)))
    found = apart(user_values(exported, exported.graph), largest, BOUNDS, 4, {})
    assert found is not None
    assert shapes((found,)) == [[(2, 3), (4, 3)]]


def test_bounds_that_leave_no_two_sizes_are_no_error():
    captured = capture(CASE, "nonstrict")
    assert captured.exported is not None
    values = user_values(captured.exported, captured.exported.graph)
    found = apart(values, Inputs((torch.ones(2, 2),)), (1, 2), 1, {})
    assert found is not None
    assert shapes((found,)) == [[(2, 2)]]


def swap_the_wires(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if str(node.target) == "aten.sym_size.int":
            node.args = (node.args[0], 1 - node.args[1])


def test_an_inliner_that_swaps_two_sizes_is_seen_by_values():
    prepared = prepare(CASE, "nonstrict", 0, StageClock())
    assert not cell_record(prepared, BuiltinInliner("positional")).verdict(Oracle.VALUES).failed
    assert cell_record(prepared, Tampering(swap_the_wires)).verdict(Oracle.VALUES).failed


def test_before_all_sizes_were_one_and_nothing_was_seen():
    prepared = prepare(CASE, "nonstrict", 0, StageClock())
    example, _, largest = prepared.captured.calls
    alike = dataclasses.replace(prepared.captured, calls=(example, example, largest))
    before = dataclasses.replace(
        prepared, captured=alike, reference=observe(prepared.split, alike.calls)
    )
    record = cell_record(before, Tampering(swap_the_wires))
    assert [record.verdict(each).label for each in (Oracle.COMPLETION, Oracle.VALUES)] == ["ok"] * 2


class SwapsMetadata(BuiltinInliner):
    """Its program's values say that rows are columns."""

    def __init__(self) -> None:
        super().__init__("positional")

    def produce(self, *arguments: Any) -> ExportedProgram:
        program = super().produce(*arguments)
        for node in program.graph.nodes:
            if str(node.target) == "aten.relu.default":
                node.meta["val"] = node.meta["val"].t()
        return program


def test_swapped_symbols_in_metadata_are_seen_by_the_oracle_on_metadata(prepared):
    case = prepared("two_dynamic_dimensions")
    right = cell_record(case, BuiltinInliner("positional")).verdict(Oracle.METADATA)
    wrong = cell_record(case, SwapsMetadata()).verdict(Oracle.METADATA)
    assert (right.label, wrong.label) == ("ok", "wrong-metadata@export")


def test_indices_of_a_user_s_own_point_at_what_is_left():
    nodes, edges = torch.randn(2, 3), torch.tensor([[0, 7, 83], [99, 1, 4]])
    args = indices_within(Inputs((nodes, edges, torch.tensor([True, False])))).args
    assert args[0] is nodes
    assert args[1].tolist() == [[0, 1, 1], [1, 1, 0]]
    assert args[2].tolist() == [True, False]


class Frames(torch.nn.Module):
    def forward(self, wave: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return wave.sum() + lengths


def test_a_size_that_is_a_multiple_keeps_within_its_own_range():
    hops, rows = torch.export.Dim("hops", min=7, max=100), torch.export.Dim("rows", min=2, max=8)
    inputs = [Inputs((torch.ones(16 * n), torch.ones(m))) for n, m in ((20, 3), (7, 2), (100, 8))]
    program = torch.export.export(
        Frames(), inputs[0].args, dynamic_shapes=({0: 16 * hops}, {0: rows})
    )
    values = user_values(program, program.graph)
    ranges = ranges_tried(values, *inputs[1:])
    assert sorted(ranges.values()) == [(2, 8), (7, 100)]
    call = apart(values, inputs[2], (2, 100), 20, ranges)
    assert call is not None
    assert call.args[0].shape[0] in range(7 * 16, 100 * 16 + 1, 16)
