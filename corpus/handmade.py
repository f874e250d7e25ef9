"""Split modules put together by hand, for graphs that today's splitter does not emit.

A builder makes the parent graph call by call. A child is written as a function of tensors and is
traced to ATen ops under one fake mode, so that every node has the `meta["val"]` that
`torch_tensorrt.dynamo.compile` would have left there.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo

from corpus.case import Inputs
from corpus.children import Segment, returned_value, trace_child, wrapped

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_ENGINE = "_run_on_acc_"


class _Negated(torch.nn.Module):
    """Does something to every input, so that torch.export keeps each with its symbols."""

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return [torch.neg(tensor) for tensor in tensors]


class SplitBuilder:
    """Builds one split module. Children are numbered together, as the splitter numbers them."""

    def __init__(self, mode: FakeTensorMode | None = None) -> None:
        self._mode = mode or FakeTensorMode(allow_non_fake_inputs=True)
        self._graph = Graph()
        self._children: dict[str, torch.nn.Module] = {}
        self._constants: dict[str, torch.Tensor] = {}
        self._call: Inputs | None = None

    @classmethod
    def for_call(
        cls, call: Inputs, dims: Sequence[Mapping[int, Any]] = ()
    ) -> tuple[SplitBuilder, list[Node]]:
        """A builder of a module that is called like this, and its inputs, leaf by leaf.

        Args:
            call: what one call gives; a None among it is an input too.
            dims: the dynamic dimensions of each tensor of the call, as torch.export takes them. It
                makes the values, so that they have the symbols and bounds of a captured model.
        """
        flat = pytree.tree_leaves((call.args, dict(call.kwargs)))
        tensors = tuple(leaf for leaf in flat if isinstance(leaf, torch.Tensor))
        shapes = {"tensors": tuple(dict(dim) or None for dim in dims)} if any(dims) else None
        probe = torch.export.export(_Negated(), tensors, dynamic_shapes=shapes)
        values = [node.meta["val"] for node in probe.graph.nodes if node.op == "placeholder"]
        values[0].fake_mode.allow_non_fake_inputs = True
        builder = cls(values[0].fake_mode)
        builder._call = call
        remaining = iter(values)
        nodes = []
        for name, leaf in zip(_leaf_names(call), flat, strict=True):
            nodes.append(builder._graph.placeholder(name))
            nodes[-1].meta["val"] = next(remaining) if isinstance(leaf, torch.Tensor) else leaf
        return builder, nodes

    @property
    def nodes(self) -> list[Node]:
        """What the parent has so far, in order."""
        return list(self._graph.nodes)

    @property
    def children(self) -> int:
        """How many children there are so far."""
        return len(self._children)

    def input(self, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Node:
        """A model input. Must come before any call."""
        node = self._graph.placeholder(name)
        with self._mode:
            node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node

    def constant(self, name: str, tensor: torch.Tensor) -> Node:
        """A tensor that the parent itself holds under this name."""
        self._constants[name] = tensor
        node = self._graph.get_attr(name)
        with self._mode:
            node.meta["val"] = torch.empty_like(tensor)
        return node

    def op(self, op: Any, *args: Any) -> Node:
        """A loose op, beside the children."""
        node = self._graph.call_function(op, args)
        with self._mode:
            node.meta["val"] = op(*torch.fx.node.map_arg(args, lambda item: item.meta["val"]))
        return node

    def engine(
        self,
        segment: Segment,
        *args: Node,
        placeholders: Sequence[str] = (),
        attributes: Mapping[str, torch.Tensor] = _NOTHING,
        name: str | None = None,
    ) -> Node:
        """A call of a new `_run_on_acc_*` child; arguments as of `fallback`."""
        return self._new_call(_ENGINE, segment, args, placeholders, {}, attributes, name)

    def fallback(
        self,
        segment: Segment,
        *args: Node,
        placeholders: Sequence[str] = (),
        keywords: Mapping[str, Node] = _NOTHING,
        attributes: Mapping[str, torch.Tensor] = _NOTHING,
        name: str | None = None,
        nested: bool = False,
        kinds: Mapping[str, str] = _NOTHING,
    ) -> Node:
        """A call of a new `_run_on_gpu_*` child.

        Args:
            segment: takes ``args``, then ``keywords``, then ``attributes``, in that order.
            placeholders: names of the child's inputs, keywords included.
            keywords: inputs that the call gives by name; the names are the placeholders'.
            attributes: parameters and buffers that the child holds under these names.
            name: the call's name, where it shall not be its target's.
            nested: the child has the segment as a child of its own.
            kinds: of the attributes that are no ordinary buffers, as of `trace_child`.
        """
        return self._new_call(
            "_run_on_gpu_", segment, args, placeholders, keywords, attributes, name, nested, kinds
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
        return self.finish_as(tuple(outputs))

    def finish_as(self, returned: Any) -> GraphModule:
        """The split module that returns this: nodes, and None, in containers that pytree knows."""
        flat, out_spec = pytree.tree_flatten(returned)
        self._graph.output(tuple(flat))
        names = [node.name for node in self._graph.nodes if node.op == "placeholder"]
        in_spec = pytree.tree_flatten((tuple(names), {}))[1]
        if self._call is not None:
            names = _argument_names(self._call)
            in_spec = pytree.tree_flatten((self._call.args, dict(self._call.kwargs)))[1]
        info = _PyTreeInfo(orig_args=names, in_spec=in_spec, out_spec=out_spec)
        self._graph.set_codegen(_PyTreeCodeGen(info))
        for node in self._graph.nodes:
            if str(node.target).startswith(_ENGINE):
                del node.meta["val"]  # as the splitter leaves it; who builds the engine sets it
        root = torch.nn.Module()
        for name, child in self._children.items():
            root.add_module(name, child)
        for name, tensor in self._constants.items():
            root.register_buffer(name, tensor)
        return GraphModule(root, self._graph)

    def _new_call(
        self,
        prefix: str,
        segment: Segment,
        args: Sequence[Node],
        placeholders: Sequence[str],
        keywords: Mapping[str, Node],
        attributes: Mapping[str, torch.Tensor],
        name: str | None,
        nested: bool = False,
        kinds: Mapping[str, str] = _NOTHING,
    ) -> Node:
        inputs = [*args, *keywords.values()]
        names = placeholders or ([] if not keywords else [*"abcdef"[: len(args)], *keywords])
        values = [item.meta["val"] for item in inputs]
        child = trace_child(self._mode, segment, values, attributes, names, kinds)
        target = f"{prefix}{len(self._children)}"
        self._children[target] = wrapped(child) if nested else child
        node = self._graph.create_node(
            "call_module", target, tuple(args), dict(keywords), name=name or target
        )
        node.meta["val"] = returned_value(child)
        return node


def _argument_names(call: Inputs) -> list[str]:
    """The names of a call's arguments: x0, x1, ... and the keywords."""
    return [*(f"x{index}" for index in range(len(call.args))), *call.kwargs]


def _leaf_names(call: Inputs) -> list[str]:
    """A name for each leaf: its argument's, numbered where the argument has several."""
    names = []
    arguments = [*call.args, *call.kwargs.values()]
    for name, argument in zip(_argument_names(call), arguments, strict=True):
        count = len(pytree.tree_leaves(argument))
        names += [name] if count == 1 else [f"{name}_{index}" for index in range(count)]
    return names
