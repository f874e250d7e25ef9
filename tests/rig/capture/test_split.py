import pytest
import torch
from torch.fx import GraphModule

from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.capture.split import split_module

RELU = "aten.relu.default"


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x + 1)
        unused = torch.relu(y * 7)  # noqa: F841 - dead code, on purpose
        return torch.relu(y * 2 - 3)


def split(*fallback: str, min_block_size: int = 1) -> GraphModule:
    program = torch.export.export(Model(), (torch.randn(2),))
    return split_module(program.module(check_guards=False), fallback, min_block_size)


def names(module: GraphModule) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_module"]


def ops(module: GraphModule, child: str) -> list[str]:
    graph = module.get_submodule(child).graph  # type: ignore[union-attr]
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def test_a_graph_without_an_op_is_handed_back_whole():
    captured = capture(find_case("functional_without_an_op"), "nonstrict")
    whole = captured.fresh_module()
    assert split_module(whole, captured.case.fallback, 1) is whole
    assert names(whole) == []


def test_a_segment_below_the_block_size_joins_the_one_before_it():
    module = split(RELU, min_block_size=2)
    assert names(module) == ["_run_on_gpu_0", "_run_on_acc_1", "_run_on_gpu_2"]
    assert ops(module, "_run_on_gpu_0") == ["aten.add.Tensor", RELU]


def test_a_fallback_can_be_named_by_its_qualified_name():
    captured = capture(find_case("chunk_as_fallback"), "nonstrict")
    module = split_module(captured.fresh_module(), captured.case.fallback, 1)
    fallbacks = [name for name in names(module) if "gpu" in name]
    assert all("aten.chunk.default" in ops(module, name) for name in fallbacks)


@pytest.mark.parametrize("mode", ["nonstrict", "strict"])
def test_the_split_computes_what_the_model_computes(mode):
    captured = capture(find_case("chunk_of_chunk"), mode)
    module = split_module(captured.fresh_module(), captured.case.fallback, 1)
    for call in captured.calls:
        assert torch.equal(module(*call.args), captured.eager(*call.args))


def test_capturing_twice_gives_the_same_weights_and_inputs():
    first, second = (capture(find_case("resnet_relu"), "nonstrict") for _ in range(2))
    for one, other in zip(first.calls, second.calls, strict=True):
        assert torch.equal(one.args[0], other.args[0])
    with torch.no_grad():
        assert torch.equal(first.eager(*first.example.args), second.eager(*first.example.args))


def test_a_dynamic_case_is_called_with_its_bounds_and_a_size_between():
    captured = capture(find_case("dynamic_batch"), "nonstrict")
    assert sorted(call.args[0].shape[0] for call in captured.calls) == [2, 4, 8]


def test_what_reads_an_element_of_a_fallback_s_tuple_gets_a_tensor():
    captured = capture(find_case("chunk_as_fallback"), "nonstrict")
    split = split_module(captured.fresh_module(), ["aten.chunk.default"], 1)
    values = [
        node.meta["val"]
        for name, child in split.named_children()
        if name.startswith("_run_on_acc_") and isinstance(child, GraphModule)
        for node in child.graph.nodes
        if node.op == "placeholder"
    ]
    assert values
    assert all(isinstance(value, torch.Tensor) for value in values)
