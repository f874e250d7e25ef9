"""Engines of a reproduction script; `script` copies this.

They are emulated without a compiler: `tensorrt::execute_engine` is registered from Python, and what
it is given as the engine is an object of a class that torch has anyway, the packed weights of a
quantized linear layer, whose bias is the engine's number. It is lifted, saved and loaded as an
engine is. To run it is to run its segment, on the CPU.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.fx.experimental.symbolic_shapes import ShapeEnv

Call = tuple[tuple[Any, ...], dict[str, Any]]

CARRIER = "quantized::LinearPackedParamsBase"
SEGMENTS: list[GraphModule] = []  # by an engine's number
LIBRARIES: list[torch.library.Library] = []
PLACEHOLDER = "no_op_placeholder_for_execute_engine"


class EngineRefusal(RuntimeError):
    """An engine was called with what it was not built for."""


class Engine(torch.nn.Module):
    """Stands where a segment stood, as TorchTensorRTModule does; the inliner takes `engine`.

    ``bare``: the value of a call is its one output, as the global partitioner leaves it.
    """

    def __init__(self, segment: GraphModule, bare: bool = False) -> None:
        super().__init__()
        self.bare = bare
        SEGMENTS.append(segment)
        self.engine = numbered(len(SEGMENTS) - 1)

    def forward(self, *inputs: Any) -> Any:
        tensors = [x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in inputs]
        outputs = torch.ops.tensorrt.execute_engine(tensors, self.engine)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _pack_engine_info(self) -> list[str | bytes]:
        """What goes into a program for another platform: in slot 1 its name, in 3 its bytes."""
        number = number_of(self.engine)
        return ["", f"engine_{number}", "", str(number).encode()]


class FakeEngine:
    """What torch.export sees in an engine's place."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def __obj_unflatten__(cls, flattened: Sequence[tuple[str, int]]) -> FakeEngine:
        return cls(dict(flattened)["number"])

    def bias(self) -> int:
        return self.number

    def unpack(self) -> Any:
        raise NotImplementedError("a trace asks this of no engine")


class Stating(Interpreter):
    """Runs a graph on fake tensors and states every node's value, as export and compile do.

    The value of a call of an engine is the list of its outputs, even of one, unless it is bare.
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.mode = mode

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        if isinstance(value, torch.Tensor):
            return self.mode.from_tensor(value, static_shapes=True)
        return value

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op != "output":
            called = self.fetch_attr(str(n.target)) if n.op == "call_module" else None
            lists = isinstance(called, Engine) and not called.bare
            n.meta["val"] = listed(value) if lists else value
        return value

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        child = self.fetch_attr(target)
        graph = SEGMENTS[number_of(child.engine)] if isinstance(child, Engine) else child
        names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
        keywords = [kwargs[name] for name in names if name in kwargs]
        return Stating(graph, self.mode).run(*args, *keywords, enable_io_processing=False)


def numbered(number: int) -> torch.ScriptObject:
    weight = torch.quantize_per_tensor(torch.zeros(1, 1), 1.0, 0, torch.qint8)
    engine: torch.ScriptObject = torch.ops.quantized.linear_prepack(
        weight, torch.tensor([float(number)])
    )
    return engine


def listed(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def number_of(engine: Any) -> int:
    with unset_fake_temporarily(), disable_proxy_modes_tracing():
        return int(engine.bias())


def execute(inputs: Sequence[torch.Tensor], engine: Any) -> list[torch.Tensor]:
    """Run an engine: it refuses what it was not built for; its outputs are its own, contiguous."""
    number = number_of(engine)
    segment = SEGMENTS[number]
    placeholders = [node for node in segment.graph.nodes if node.op == "placeholder"]
    for at, (tensor, node) in enumerate(zip(inputs, placeholders, strict=True)):
        stated = node.meta.get("val")
        if isinstance(stated, torch.Tensor) and refused(tensor, stated):
            raise EngineRefusal(
                f"engine {number}: input {at} is {tensor.dtype} {tuple(tensor.shape)}, "
                f"and the engine was built for {stated.dtype} {tuple(stated.shape)}"
            )
    with unset_fake_temporarily(), disable_proxy_modes_tracing(), torch.no_grad():
        sizes = [isinstance(node.meta.get("val"), int | torch.SymInt) for node in placeholders]
        given = [
            int(tensor) if is_size else tensor.detach()
            for tensor, is_size in zip(inputs, sizes, strict=True)
        ]
        return [its_own(output) for output in listed(segment(*given))]


def its_own(output: Any) -> torch.Tensor:
    """What an engine returns for what its segment did: of a size, a tensor of one element."""
    if not isinstance(output, torch.Tensor):
        return torch.tensor([output])
    return output.detach().clone(memory_format=torch.contiguous_format)


def refused(tensor: torch.Tensor, stated: torch.Tensor) -> bool:
    if tensor.dtype != stated.dtype or tensor.dim() != stated.dim():
        return True
    sizes = zip(tensor.shape, stated.shape, strict=True)
    return any(isinstance(size, int) and size != got for got, size in sizes)


def execute_fake(inputs: Sequence[torch.Tensor], engine: Any) -> list[torch.Tensor]:
    mode = detect_fake_mode(inputs)
    assert mode is not None
    segment = copy.deepcopy(SEGMENTS[number_of(engine)])
    outputs = listed(Stating(segment, mode).run(*inputs))
    return [
        x.clone(memory_format=torch.contiguous_format)
        if isinstance(x, torch.Tensor)
        else mode.from_tensor(torch.tensor(0))
        for x in outputs
    ]


def emulate_engines() -> None:
    """Register the op of Torch-TensorRT's runtime, and what torch.export takes an engine for."""
    library = torch.library.Library("tensorrt", "FRAGMENT")
    kind = f"__torch__.torch.classes.{CARRIER.replace('::', '.')}"
    library.define(f"execute_engine(Tensor[] input_tensors, {kind} engine) -> Tensor[]")
    # What stands for an engine in a program of another platform; it has no kernel there either.
    library.define(f"{PLACEHOLDER}(Tensor[] inputs, str a, str b, str c, str d) -> Tensor[]")
    torch.classes.tensorrt.Engine = lambda slots: numbered(int(slots[3]))  # type: ignore[attr-defined]
    library.impl("execute_engine", execute, "CompositeExplicitAutograd")
    torch.library.register_fake("tensorrt::execute_engine", execute_fake, lib=library)
    LIBRARIES.append(library)  # what it registered ends with it

    def flatten(engine: Any) -> Any:
        return (("number", number_of(engine)),)

    torch.ScriptObject.__obj_flatten__ = flatten  # type: ignore[attr-defined]
    torch._library.register_fake_class(CARRIER, FakeEngine)  # type: ignore[attr-defined,arg-type]


def run_placeholders() -> None:
    """Let what stands for an engine run it: for a look at a program that was not saved."""

    def run(inputs: Sequence[torch.Tensor], *slots: str) -> list[torch.Tensor]:
        return execute(inputs, numbered(int(base64.b64decode(slots[3]))))

    LIBRARIES[0].impl(PLACEHOLDER, run, "CompositeExplicitAutograd")


def one_by_one(dynamic_shapes: Any, call: Call) -> Any:
    """Dynamic shapes as a graph module takes them: each of what a model takes as `*args`."""
    args, kwargs = call
    together = dynamic_shapes is not None and len(dynamic_shapes) < len(args) + len(kwargs)
    return dynamic_shapes[0] if together else dynamic_shapes


def state_values(split: GraphModule, call: Call, dynamic_shapes: Any) -> None:
    """Give every node of a split module and of its children its `meta["val"]`."""
    args, kwargs = call
    values = pytree.tree_leaves((args, kwargs))
    if dynamic_shapes is None:
        mode = FakeTensorMode(shape_env=ShapeEnv())
        values = [
            mode.from_tensor(value, static_shapes=True) if torch.is_tensor(value) else value
            for value in values
        ]
    else:
        # With segments for engines: a size that one returns would come out of it as a tensor.
        segments = copy.deepcopy(split)
        for name, child in segments.named_children():
            if isinstance(child, Engine):
                setattr(segments, name, SEGMENTS[number_of(child.engine)])
        shapes = one_by_one(dynamic_shapes, call)
        whole = torch.export.export(segments, args, kwargs, dynamic_shapes=shapes)
        users = set(whole.graph_signature.user_inputs)
        values = [node.meta["val"] for node in whole.graph.nodes if node.name in users]
        found = detect_fake_mode(values)
        assert found is not None
        mode = found
    with mode, enable_python_dispatcher():
        Stating(split, mode).run(*values, enable_io_processing=False)
