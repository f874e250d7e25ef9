"""Split modules put together by hand, for graphs that today's splitter does not emit.

A builder makes the parent graph call by call. A child is written as a function of tensors and is
traced to ATen ops under one fake mode, so that every node has the `meta["val"]` that
`torch_tensorrt.dynamo.compile` would have left there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo

Segment = Callable[..., Any]


class SplitBuilder:
    """Builds one split module. Children are numbered together, as the splitter numbers them."""

    def __init__(self) -> None:
        self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        self._graph = Graph()
        self._children: dict[str, torch.nn.Module] = {}

    def input(self, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Node:
        """A model input. Must come before any call."""
        node = self._graph.placeholder(name)
        with self._mode:
            node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node

    def engine(self, segment: Segment, *args: Node, placeholders: Sequence[str] = ()) -> Node:
        """A call of a new `_run_on_acc_*` child."""
        return self._call("_run_on_acc_", segment, args, placeholders)

    def fallback(self, segment: Segment, *args: Node, placeholders: Sequence[str] = ()) -> Node:
        """A call of a new `_run_on_gpu_*` child; ``placeholders`` name its inputs."""
        return self._call("_run_on_gpu_", segment, args, placeholders)

    def item(self, source: Node, index: int, name: str | None = None) -> Node:
        """An element of a child's outputs."""
        node = self._graph.create_node(
            "call_function", operator.getitem, (source, index), name=name
        )
        node.meta["val"] = source.meta["val"][index]
        return node

    def finish(self, *outputs: Node) -> GraphModule:
        """The split module that returns these nodes as a tuple."""
        self._graph.output(tuple(outputs))
        names = [node.name for node in self._graph.nodes if node.op == "placeholder"]
        info = _PyTreeInfo(
            orig_args=names,
            in_spec=pytree.tree_flatten((tuple(names), {}))[1],
            out_spec=pytree.tree_flatten(tuple(outputs))[1],
        )
        self._graph.set_codegen(_PyTreeCodeGen(info))
        return GraphModule(self._children, self._graph)

    def _call(
        self, prefix: str, segment: Segment, args: Sequence[Node], placeholders: Sequence[str]
    ) -> Node:
        child = self._trace(segment, [arg.meta["val"] for arg in args], placeholders)
        name = f"{prefix}{len(self._children)}"
        self._children[name] = child
        node = self._graph.create_node("call_module", name, tuple(args), name=name)
        returned = child.graph.output_node().args[0]
        node.meta["val"] = torch.fx.node.map_arg(returned, lambda item: item.meta["val"])
        return node

    def _trace(
        self, segment: Segment, values: Sequence[Any], placeholders: Sequence[str]
    ) -> GraphModule:
        with self._mode:
            child = make_fx(segment)(*values)
        nodes = [node for node in child.graph.nodes if node.op == "placeholder"]
        if placeholders and len(placeholders) != len(nodes):
            raise ValueError(f"{len(placeholders)} names for {len(nodes)} placeholders")
        for node, name in zip(nodes, placeholders, strict=False):
            node.name = node.target = name
        child.recompile()
        return child
