"""What a split module is whatever its nodes are called: children, ops, edges."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

Shape = tuple[str, ...]


def shape_of(split: GraphModule) -> Shape:
    """A line for each step and each loose op, in the order of the calls, and one for what returns.

    A line tells what is computed and from which inputs, through all that comes before it. Where a
    parameter is read is no edge, and whatever reads nothing is told by what it is.
    """
    known: dict[Node, str] = {}
    lines = []
    for node in split.graph.nodes:
        known[node] = _told(split, node, known)
        if node.op not in ("placeholder", "get_attr"):
            lines.append(known[node])
    return tuple(lines)


def _told(module: GraphModule, node: Node, known: Mapping[Node, str]) -> str:
    """A digest of a node: what it is and what it reads, by the digests of what that is."""
    if node.op == "placeholder":
        inputs = [other for other in module.graph.nodes if other.op == "placeholder"]
        return _digest("input", inputs.index(node))
    if node.op == "get_attr":
        held = functools.reduce(getattr, str(node.target).split("."), module)
        is_tensor = isinstance(held, torch.Tensor)
        return _digest("held", (held.shape, held.dtype) if is_tensor else type(held).__name__)
    read = map_arg((node.args, dict(sorted(node.kwargs.items()))), lambda arg: _Read(known[arg]))
    return _digest(node.op, _target(module, node), read)


class _Read(str):
    """The digest of what is read, in the place of the node; it is printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _target(module: GraphModule, node: Node) -> object:
    if node.op == "call_module":
        child = module.get_submodule(str(node.target))
        kind = "engine" if str(node.target).startswith("_run_on_acc") else "fallback"
        return kind, shape_of(child) if isinstance(child, GraphModule) else type(child).__name__
    if isinstance(node.target, torch._ops.OperatorBase):
        return str(node.target)
    return getattr(node.target, "__name__", str(node.target))


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
