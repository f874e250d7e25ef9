"""A copy of a split takes over the code of its original, and computes what its own graph says."""

import copy
import operator

import pytest
from torch.fx import Graph, GraphModule

from harness.rig.cell.copied_code import share_code_with_copies

CASES = ("relu_once", "fan_in_of_twelve", "chain_of_nine")


@pytest.fixture
def split_of(prepared):
    """A case's split, as a rig prepares it for its cells, and nobody else's."""

    def fresh(case: str) -> GraphModule:
        split = prepared(case).captured.split()
        share_code_with_copies(split)
        return split

    return fresh


def graph_modules(module: GraphModule) -> list[GraphModule]:
    return [each for each in module.modules() if isinstance(each, GraphModule)]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs of which torch wrote the code."""
    graphs: list[Graph] = []
    write = Graph._python_code

    def told(self: Graph, *args: object, **kwargs: object) -> object:
        graphs.append(self)
        return write(self, *args, **kwargs)

    monkeypatch.setattr(Graph, "_python_code", told)
    return graphs


@pytest.mark.parametrize("case", CASES)
def test_a_copy_has_the_code_that_torch_would_write_of_its_graph(split_of, case):
    copied = copy.deepcopy(split_of(case))
    for module in graph_modules(copied):
        assert module.code == module.graph.python_code("self").src


def test_the_code_of_a_split_is_written_once_for_all_of_its_copies(split_of, written):
    split = split_of("chain_of_nine")
    written.clear()
    for _ in range(3):
        copy.deepcopy(split)
    assert len(written) == len(graph_modules(split))


def test_a_copy_of_a_split_that_was_changed_has_the_changed_code(split_of):
    split = split_of("chain_of_nine")
    before = copy.deepcopy(split).code
    changed = next(node for node in split.graph.nodes if node.op == "call_module")
    changed.target = next(
        node.target
        for node in split.graph.nodes
        if node.op == "call_module" and node.target != changed.target
    )
    after = copy.deepcopy(split)
    assert after.code == after.graph.python_code("self").src != before


def test_a_copy_that_is_edited_has_its_own_code_and_leaves_the_original_alone(split_of):
    split = split_of("relu_once")
    copied = copy.deepcopy(split)
    output = copied.graph.output_node()
    with copied.graph.inserting_before(output):
        (returned,) = output.args
        first = returned[0] if isinstance(returned, tuple | list) else returned
        twice = copied.graph.call_function(operator.add, (first, first))
    output.args = ((twice,),)
    copied.recompile()
    assert copied.code == copied.graph.python_code("self").src != split.code
    assert copy.deepcopy(split).code == split.code
    assert copy.deepcopy(copied).code == copied.code


def test_a_shared_code_is_no_attribute_of_a_copy_or_of_its_graph(split_of):
    split = split_of("relu_once")
    plain = copy.deepcopy(GraphModule(split, copy.deepcopy(split.graph)))
    copied = copy.deepcopy(split)
    assert vars(copied).keys() == vars(plain).keys()
    assert vars(copied.graph).keys() == vars(plain.graph).keys()
    assert [each.__name__ for each in type(copied).__mro__] == [
        each.__name__ for each in type(plain).__mro__
    ]
