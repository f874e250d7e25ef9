"""Split modules put together by hand, for graphs that today's splitter does not emit.

A builder makes the parent graph call by call. A child is written as a function of tensors and is
traced to ATen ops under one fake mode, so that every node has the `meta["val"]` that
`torch_tensorrt.dynamo.compile` would have left there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo

Segment = Callable[..., Any]

_NOTHING: Mapping[str, Any] = {}


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
        return self._new_call("_run_on_acc_", segment, args, placeholders, {}, {}, None)

    def fallback(
        self,
        segment: Segment,
        *args: Node,
        placeholders: Sequence[str] = (),
        keywords: Mapping[str, Node] = _NOTHING,
        attributes: Mapping[str, torch.Tensor] = _NOTHING,
        name: str | None = None,
    ) -> Node:
        """A call of a new `_run_on_gpu_*` child.

        Args:
            segment: takes ``args``, then ``keywords``, then ``attributes``, in that order.
            placeholders: names of the child's inputs, keywords included.
            keywords: inputs that the call gives by name; the names are the placeholders'.
            attributes: parameters and buffers that the child holds under these names.
            name: the call's name, where it shall not be its target's.
        """
        return self._new_call(
            "_run_on_gpu_", segment, args, placeholders, keywords, attributes, name
        )

    def again(self, call: Node, *args: Node) -> Node:
        """Another call of a child that is called already."""
        node = self._graph.create_node("call_module", str(call.target), tuple(args))
        node.meta["val"] = call.meta["val"]
        return node

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

    def _new_call(
        self,
        prefix: str,
        segment: Segment,
        args: Sequence[Node],
        placeholders: Sequence[str],
        keywords: Mapping[str, Node],
        attributes: Mapping[str, torch.Tensor],
        name: str | None,
    ) -> Node:
        inputs = [*args, *keywords.values()]
        names = placeholders or ([] if not keywords else [*"abcdef"[: len(args)], *keywords])
        child = self._trace(segment, [item.meta["val"] for item in inputs], attributes, names)
        target = f"{prefix}{len(self._children)}"
        self._children[target] = child
        node = self._graph.create_node(
            "call_module", target, tuple(args), dict(keywords), name=name or target
        )
        returned = child.graph.output_node().args[0]
        node.meta["val"] = torch.fx.node.map_arg(returned, lambda item: item.meta["val"])
        return node

    def _trace(
        self,
        segment: Segment,
        values: Sequence[Any],
        attributes: Mapping[str, torch.Tensor],
        placeholders: Sequence[str],
    ) -> GraphModule:
        with self._mode:
            held = [torch.empty_like(tensor) for tensor in attributes.values()]
            child = make_fx(segment)(*values, *held)
        nodes = [node for node in child.graph.nodes if node.op == "placeholder"]
        for node, (name, tensor) in zip(nodes[len(values) :], attributes.items(), strict=True):
            _hold(child, node, name, tensor)
        inputs = nodes[: len(values)]
        if placeholders and len(placeholders) != len(inputs):
            raise ValueError(f"{len(placeholders)} names for {len(inputs)} placeholders")
        for node, name in zip(inputs, placeholders, strict=False):
            node.name = node.target = name
        child.recompile()
        return child


def _hold(child: GraphModule, placeholder: Node, name: str, tensor: torch.Tensor) -> None:
    """Turn an input of a child into an attribute that it holds."""
    if isinstance(tensor, torch.nn.Parameter):
        child.register_parameter(name, tensor)
    else:
        child.register_buffer(name, tensor)
    with child.graph.inserting_before(placeholder):
        attribute = child.graph.get_attr(name)
    attribute.meta = dict(placeholder.meta)
    placeholder.replace_all_uses_with(attribute)
    child.graph.erase_node(placeholder)
