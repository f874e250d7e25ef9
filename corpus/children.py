"""The children of a handmade split module: functions traced to ATen ops."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

Segment = Callable[..., Any]

NON_PERSISTENT, PLAIN = "non-persistent buffer", "plain tensor"


def trace_child(
    mode: FakeTensorMode,
    segment: Segment,
    values: Sequence[Any],
    attributes: Mapping[str, torch.Tensor],
    placeholders: Sequence[str],
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> GraphModule:
    """A child that computes ``segment`` of its inputs and its attributes, in that order.

    Args:
        values: what the inputs are under ``mode``; a tuple or list is one input, read whole.
        attributes: parameters and buffers that the child holds, by path.
        placeholders: names of the inputs; none for the traced function's own.
        kinds: NON_PERSISTENT or PLAIN for attributes that are no ordinary buffers.
    """
    with mode:
        held = [torch.empty_like(tensor) for tensor in attributes.values()]
        child = make_fx(_flat(segment, values))(*_leaves(values), *held)
    nodes = [node for node in child.graph.nodes if node.op == "placeholder"]
    given = len(nodes) - len(held)
    for node, (name, tensor) in zip(nodes[given:], attributes.items(), strict=True):
        _hold(child, node, name, tensor, kinds.get(name, ""))
    inputs = _whole(child, nodes[:given], values)
    if placeholders and len(placeholders) != len(inputs):
        raise ValueError(f"{len(placeholders)} names for {len(inputs)} placeholders")
    for node, name in zip(inputs, placeholders, strict=False):
        node.name = node.target = name
    child.recompile()
    return child


def _leaves(values: Sequence[Any]) -> list[Any]:
    return [leaf for value in values for leaf in _parts(value)]


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else [value]


def _flat(segment: Segment, values: Sequence[Any]) -> Segment:
    """The segment as a function of leaves: tracing one of containers would change its output."""

    if not any(isinstance(value, tuple | list) for value in values):
        return segment  # as it is, for its own placeholder names

    def flat(*leaves: Any) -> Any:
        remaining = iter(leaves)
        given = [
            [next(remaining) for _ in value] if isinstance(value, tuple | list) else next(remaining)
            for value in values
        ]
        return segment(*given, *remaining)

    return flat


def returned_value(child: GraphModule) -> Any:
    """What a child returns, under the mode that it was traced in."""
    returned = child.graph.output_node().args[0]
    # fx has containers of its own, which would not be told from a list and a tuple.
    return pytree.tree_map_only(Node, lambda item: item.meta["val"], _plain(returned))


def wrapped(child: GraphModule) -> GraphModule:
    """A module with the same inputs and outputs, whose graph calls the child as `inner`."""
    graph = Graph()
    inputs = []
    for node in child.graph.nodes:
        if node.op == "placeholder":
            inputs.append(graph.placeholder(node.name))
            inputs[-1].meta = dict(node.meta)
    called = graph.call_module("inner", tuple(inputs))
    called.meta["val"] = returned_value(child)
    graph.output(called)
    return GraphModule({"inner": child}, graph)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        items = [_plain(item) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def hold_tensor(root: torch.nn.Module, path: str, tensor: torch.Tensor, kind: str) -> None:
    """Give a module a tensor under a path that it has nothing at.

    Args:
        kind: NON_PERSISTENT, PLAIN, or whatever else for a buffer; a parameter is one by itself.
    """
    owner = root
    *prefix, name = path.split(".")
    for part in prefix:
        if not hasattr(owner, part):
            owner.add_module(part, torch.nn.Module())
        owner = owner.get_submodule(part)
    if isinstance(tensor, torch.nn.Parameter):
        owner.register_parameter(name, tensor)
    elif kind == PLAIN:
        setattr(owner, name, tensor)
    else:
        owner.register_buffer(name, tensor, persistent=kind != NON_PERSISTENT)


def _hold(
    child: GraphModule, placeholder: Node, path: str, tensor: torch.Tensor, kind: str
) -> None:
    """Turn an input of a child into an attribute that it holds."""
    hold_tensor(child, path, tensor, kind)
    with child.graph.inserting_before(placeholder):
        attribute = child.graph.get_attr(path)
    attribute.meta = dict(placeholder.meta)
    placeholder.replace_all_uses_with(attribute)
    child.graph.erase_node(placeholder)


def _whole(child: GraphModule, placeholders: list[Node], values: Sequence[Any]) -> list[Node]:
    """A placeholder for each value: where one is a container, its leaves become getitems of it."""
    remaining = iter(placeholders)
    inputs = []
    for value in values:
        if not isinstance(value, tuple | list):
            inputs.append(next(remaining))
            continue
        leaves = [next(remaining) for _ in value]
        with child.graph.inserting_before(leaves[0]):
            whole = child.graph.placeholder("whole")
        whole.meta["val"] = value
        last = placeholders[-1]
        for index, leaf in enumerate(leaves):
            with child.graph.inserting_after(last):
                item = child.graph.call_function(operator.getitem, (whole, index))
            item.meta["val"] = value[index]
            leaf.replace_all_uses_with(item)
            last = item
        inputs.append(whole)
    for node in [node for node in placeholders if node not in inputs]:
        child.graph.erase_node(node)
    return inputs
