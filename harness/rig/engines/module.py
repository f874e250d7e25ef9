"""The module that stands where a segment stood, as `TorchTensorRTModule` does in the package."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule

from harness.rig.engines.builder import BuiltEngine, build_segment_engine, segment_output_nodes
from harness.rig.engines.emulated import engine_slots, make_engine


class EngineModule(torch.nn.Module):
    """Calls its engine; one output comes back bare, several as a tuple.

    The inliners read `engine`; the calling convention is that of `TorchTensorRTModule.forward`.
    """

    def __init__(self, built: BuiltEngine) -> None:
        super().__init__()
        self.name = built.name
        self.input_binding_names = list(built.input_names)
        self.output_binding_names = list(built.output_names)
        self.engine = make_engine(built)

    def forward(self, *inputs: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
        if len(inputs) != len(self.input_binding_names):
            raise AssertionError(
                f"Wrong number of inputs, expected {len(self.input_binding_names)} "
                f"got {len(inputs)}."
            )
        tensors = [
            value if isinstance(value, torch.Tensor) else torch.tensor(value) for value in inputs
        ]
        outputs = torch.ops.tensorrt.execute_engine(tensors, self.engine)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _pack_engine_info(self) -> list[str | bytes]:
        """The slots: what `transform(cross_compile_module=True)` asks for."""
        return list(engine_slots(self.engine))


def engine_children(split: GraphModule) -> dict[str, torch.nn.Module]:
    """The `_run_on_acc_*` children of a split module, in the order of the graph's calls."""
    return {
        name: module for name, module in split.named_children() if name.startswith("_run_on_acc_")
    }


def compile_engines(split: GraphModule, ballast_bytes: int = 0) -> dict[str, BuiltEngine]:
    """Replace every `_run_on_acc_*` segment by an engine, in place.

    The call's `meta["val"]` becomes the list of its outputs' values, a list even for one output, as
    `compile_module` sets it (`get_output_metadata` in torch_tensorrt/dynamo/_compiler.py). Both
    inliner generations count an engine's outputs by that list's length.

    Raises:
        UnsupportedSegment: TensorRT could not take a segment.
    """
    calls = [node for node in split.graph.nodes if node.op == "call_module"]
    built: dict[str, BuiltEngine] = {}
    for name, segment in engine_children(split).items():
        if not isinstance(segment, GraphModule):
            raise TypeError(f"{name} is a {type(segment).__name__}, not a segment")
        built[name] = build_segment_engine(name, segment, ballast_bytes)
        for call in calls:
            if call.target == name:
                call.meta["val"] = [node.meta["val"] for node in segment_output_nodes(segment)]
        setattr(split, name, EngineModule(built[name]))
    return built
