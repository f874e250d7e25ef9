"""A split module written as Python is the same module once that is run."""

import sys
from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from corpus.case import Case, cases_of, find_case
from harness.rig.capture.capture import capture
from harness.rig.reproduce.code import CaseWriter, Unwritable
from harness.rig.reproduce.engines import numbered

SOME = (
    "inputs_read_in_reverse",
    "one_linear_in_two_fallbacks",  # a tensor under two names
    "relu_once",  # a module whose name is a number
    "one_buffer_by_two_names",
    "keywords_in_another_order",
    "containers_as_inputs",
    "dynamic_batch_chunk",
    "map_in_fallback",  # a graph inside of a fallback
)


class Engine(torch.nn.Module):
    """In the place of a script's own: it shows the segment that it is given."""

    def __init__(self, segment: GraphModule, bare: bool = False) -> None:
        super().__init__()
        self.segment = segment


def split_of(case: Case) -> GraphModule:
    return capture(case, "nonstrict").split()


def made_again(split: GraphModule) -> GraphModule:
    writer = CaseWriter()
    call = writer.graph(split, "split")
    names: dict[str, Any] = {"torch": torch, "Engine": Engine}
    for module in writer.modules:
        exec(f"import {module}", names)
    for beside in writer.beside:
        names |= vars(beside)
    exec("\n".join([*writer.tensors, *writer.functions]), names)
    made: GraphModule = eval(call, names)
    return made


def lines(module: torch.nn.Module) -> list[str]:
    """Graphs and state of a module and of all in it, without what was drawn."""
    if isinstance(module, Engine):
        module = module.segment
    found = []
    if isinstance(module, GraphModule):
        found += [f"{n.name} {n.op} {n.target} {n.args} {n.kwargs}" for n in module.graph.nodes]
    outside = module._non_persistent_buffers_set
    for name, value in [*module._parameters.items(), *module._buffers.items()]:
        if value is not None:
            kind = (type(value).__name__, value.dtype, value.requires_grad, name in outside)
            found.append(f"{name} {kind} {tuple(value.shape)} {value.stride()}")
    for name, child in module.named_children():
        found += [f"{name}: {line}" for line in lines(child)]
    return found


@pytest.mark.parametrize("name", SOME)
def test_a_written_split_module_is_the_same(name):
    split = split_of(find_case(name))
    made = made_again(split)
    assert lines(made) == lines(split)
    assert made.graph._codegen.pytree_info == split.graph._codegen.pytree_info  # type: ignore[attr-defined]


@pytest.mark.slow
def test_nearly_every_case_can_be_written():
    """Those that cannot are named: one more is a loss."""
    refused = {}
    for case in cases_of("graph"):
        if case.requires:
            continue
        try:
            split = split_of(case)
        except Exception:  # noqa: BLE001 - a case of that kind: it ends before any inliner
            continue
        try:
            assert lines(made_again(split)) == lines(split), case.name
        except Unwritable as reason:
            refused[case.name] = str(reason)
    assert refused == {}


def test_two_names_of_one_tensor_stay_one():
    made = made_again(split_of(find_case("one_linear_in_two_fallbacks")))
    tensors = [*made.named_parameters(remove_duplicate=False)]
    assert len({id(value) for _, value in tensors}) < len(tensors)


def test_a_child_that_computes_on_its_own_is_refused():
    split = split_of(find_case("inputs_read_in_reverse"))
    split.add_module("planted", torch.nn.Linear(1, 1))
    with pytest.raises(Unwritable, match="split holds a Linear"):
        CaseWriter().graph(split, "split")


def test_an_engine_in_a_model_is_refused():
    split = split_of(find_case("inputs_read_in_reverse"))
    split.engine = numbered(0)
    with pytest.raises(Unwritable, match="split holds an engine as its attribute engine"):
        CaseWriter().graph(split, "split")


def test_an_argument_without_a_plain_form_is_refused():
    with pytest.raises(Unwritable, match="an argument of type module"):
        CaseWriter().value(sys.modules[__name__])


def test_a_node_may_be_named_as_the_code_around_it():
    graph = torch.fx.Graph()
    inputs = [graph.placeholder(name) for name in ("node", "root", "t0")]
    graph.output(tuple(inputs))
    split = GraphModule(torch.nn.Module(), graph)
    assert lines(made_again(split)) == lines(split)
