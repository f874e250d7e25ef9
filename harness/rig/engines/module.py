"""The module that stands where a segment stood, as `TorchTensorRTModule` does in the package."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import torch
from torch.fx import GraphModule

from harness.rig.engines.builder import BuiltEngine, build_segment_engine, segment_output_nodes
from harness.rig.engines.emulated import (
    ENGINE_SLOT,
    engine_payload,
    engine_slots,
    make_engine,
)


class EngineChild(Protocol):
    """What every module that calls an engine has, of whichever lane."""

    name: str
    engine: Any
    input_binding_names: list[str]
    output_binding_names: list[str]


def is_engine_child(module: torch.nn.Module) -> TypeGuard[EngineChild]:
    """Whether a child calls an engine: an `EngineModule`, or the package's own of the package lane.

    The package's class is known by its name, since there is one for each release, and none in the
    graph lane's process.
    """
    return isinstance(module, EngineModule) or type(module).__name__ == "TorchTensorRTModule"


def returned_outputs(child: EngineChild) -> int:
    """How many outputs of its engine a child returns.

    From 2.14 on those at the end are left out that lie where an input lies: they are bound for
    TensorRT's sake (`user_output_count` in torch_tensorrt/dynamo/runtime/_TorchTensorRTModule.py).
    The mend of `cache-read-twice` counts them instead, and keeps the count in `user_outputs`.
    """
    counted = getattr(child, "user_outputs", None)
    if counted is not None:
        return int(counted)
    names, aliased = child.output_binding_names, getattr(child, "aliased_io", {})
    own = [place for place, name in enumerate(names, start=1) if name not in aliased]
    return own[-1] if own else len(names)


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
        """The slots, the engine as bytes: what `transform(cross_compile_module=True)` asks for."""
        slots: list[str | bytes] = [*engine_slots(self.engine)]
        slots[ENGINE_SLOT] = engine_payload(self.engine)
        return slots


def engine_children(split: GraphModule) -> dict[str, torch.nn.Module]:
    """The `_run_on_acc_*` children of a split module, in the order of the graph's calls."""
    return {
        name: module for name, module in split.named_children() if name.startswith("_run_on_acc_")
    }


def compile_engines(split: GraphModule, ballast_bytes: int = 0) -> dict[str, BuiltEngine]:
    """Replace every `_run_on_acc_*` segment by an engine, in place.

    A call without a `meta["val"]` is given the list of its outputs' values, a list even for one
    output, as `compile_module` does (`get_output_metadata` in torch_tensorrt/dynamo/_compiler.py).
    Both inliner generations count an engine's outputs by that list's length. The global partitioner
    leaves a value there, which stays: one output's is then no list.

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
            if call.target == name and "val" not in call.meta:
                call.meta["val"] = [node.meta["val"] for node in segment_output_nodes(segment)]
        setattr(split, name, EngineModule(built[name]))
    return built
