"""Outputs that no caller is given, marked as 2.14 marks them."""

import pytest
import torch
from torch.fx import Graph, GraphModule
from torch.fx.graph import CodeGen

from harness.rig.oracles.copied_back import return_no_more, returned_places
from harness.rig.oracles.reading import GraphReader


def module() -> GraphModule:
    """Three outputs: the input, and one and two more than it."""
    graph = Graph()
    x = graph.placeholder("x")
    more = [graph.call_function(torch.ops.aten.add.Tensor, (x, number)) for number in (1, 2)]
    graph.output((x, *more))
    return GraphModule(torch.nn.Module(), graph)


def mark(made: GraphModule, place: int) -> None:
    made.graph.output_node().args[0][place].meta["_kv_mutation_target"] = "cache"


def test_a_module_without_mutations_returns_all_that_its_graph_does():
    made = module()
    assert returned_places(made) == [0, 1, 2]
    codegen = made.graph._codegen
    return_no_more(made)
    assert made.graph._codegen is codegen, "a module that hides nothing stays as it is"


def test_what_is_to_be_copied_back_stands_behind_the_outputs():
    made = module()
    made.meta["_copyback_mutation_buffers"] = ["state"]
    assert returned_places(made) == [0, 1]


def test_what_an_engine_writes_to_is_marked_wherever_it_stands():
    made = module()
    mark(made, 1)
    assert returned_places(made) == [0, 2]
    made.meta["_copyback_mutation_buffers"] = ["state"]
    assert returned_places(made) == [0]


def test_once_all_mutations_are_marked_none_stands_behind_the_outputs():
    made = module()
    mark(made, 1)
    made.meta |= {"_copyback_mutation_buffers": ["state"], "_copyback_mutations_declared": True}
    assert returned_places(made) == [0, 2]


class CopiesBack(CodeGen):
    """Copies the last output into a buffer, and hides it, as the mended release's does."""

    num_hidden = 1

    def generate_output(self, output_args: object, **kwargs: object) -> str:
        assert isinstance(output_args, tuple)
        returned = super().generate_output(output_args[:-1], **kwargs)  # type: ignore[arg-type]
        return f"self.state.copy_({output_args[-1]})\n{returned}"


@pytest.mark.parametrize("codegen", [CodeGen(), CopiesBack()])
def test_a_module_can_be_made_to_return_what_its_callers_are_given(codegen):
    made = module()
    made.register_buffer("state", torch.zeros(1))
    made.graph.set_codegen(codegen)
    made.meta["_copyback_mutation_buffers"] = ["state"]
    mark(made, 1)
    return_no_more(made)
    made.recompile()
    assert made(torch.zeros(1)) == (0,)
    assert made.state == (2 if isinstance(codegen, CopiesBack) else 0)


def test_hidden_outputs_are_no_part_of_what_is_read():
    made = module()
    made.meta["_copyback_mutation_buffers"] = ["state"]
    reader = GraphReader()
    whole = reader.read_module(module(), 1)
    assert reader.read_module(made, 1).outputs == whole.outputs[:2]
