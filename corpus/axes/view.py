"""What the predicates look at: a split module and its call, read once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from corpus.case import Inputs

ENGINE, FALLBACK = "_run_on_acc_", "_run_on_gpu_"


@dataclass(frozen=True)
class Call:
    """A call of a child in the parent graph."""

    node: Node
    child: GraphModule

    @property
    def target(self) -> str:
        return str(self.node.target)

    @property
    def is_engine(self) -> bool:
        return self.target.startswith(ENGINE)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the call gives, keywords last: nodes and literals."""
        return (*self.node.args, *self.node.kwargs.values())

    @functools.cached_property
    def bound(self) -> tuple[tuple[Node, Any], ...]:
        """Each placeholder of the child with what the call gives for it."""
        inputs = [node for node in self.child.graph.nodes if node.op == "placeholder"]
        given = list(zip(inputs, self.node.args, strict=False))
        for placeholder in inputs[len(self.node.args) :]:
            given.append((placeholder, self.node.kwargs[str(placeholder.target)]))
        return tuple(given)

    @property
    def returned(self) -> Any:
        """The child's output as its graph has it: a node, or a container of nodes and literals."""
        return self.child.graph.output_node().args[0]

    @functools.cached_property
    def outputs(self) -> tuple[Any, ...]:
        """The leaves of what the child returns."""
        return tuple(leaves(self.returned))

    @property
    def bare(self) -> bool:
        """Whether it returns one value that is in no container."""
        return not isinstance(self.returned, tuple | list)

    @property
    def items(self) -> tuple[Node, ...]:
        """The getitems that read its outputs, in the order of the graph."""
        return tuple(user for user in self.node.users if is_getitem(user))

    @functools.cached_property
    def held(self) -> Mapping[str, Any]:
        """What the child's own nodes read of the module: path to value."""
        paths = [str(node.target) for node in self.child.graph.nodes if node.op == "get_attr"]
        return {path: attribute(self.child, path) for path in paths}


@dataclass(frozen=True)
class SplitView:
    """One case's split module, as the predicates see it.

    Args:
        split: before any engine is built; its children are graph modules.
        inputs: one call's arguments.
        model: what was captured; None for a handmade split.
        bounds: of the dynamic dimensions, None for a static case.
        kinds: of the attributes of a captured model, by name: the splitter makes a persistent
            buffer of every tensor that is no parameter, so the split module no longer tells.
        given_to_save: what `save` is given, where that may be told apart from ``inputs``.
    """

    split: GraphModule
    inputs: Inputs
    model: torch.nn.Module | None = None
    bounds: tuple[int, int] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    given_to_save: Inputs | None = None

    @functools.cached_property
    def calls(self) -> tuple[Call, ...]:
        return tuple(
            Call(node, attribute(self.split, str(node.target)))
            for node in self.split.graph.nodes
            if node.op == "call_module"
        )

    @property
    def engines(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.is_engine)

    @property
    def fallbacks(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if not call.is_engine)

    @functools.cached_property
    def by_node(self) -> Mapping[Node, Call]:
        return {call.node: call for call in self.calls}

    @functools.cached_property
    def position(self) -> Mapping[Node, int]:
        """Where each node of the parent stands."""
        return {node: index for index, node in enumerate(self.split.graph.nodes)}

    @functools.cached_property
    def by_name(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.split.graph.nodes}

    @property
    def placeholders(self) -> tuple[Node, ...]:
        return tuple(node for node in self.split.graph.nodes if node.op == "placeholder")

    @functools.cached_property
    def outputs(self) -> tuple[Any, ...]:
        """The leaves of what the model returns: nodes of the parent, and literals."""
        return tuple(leaves(self.split.graph.output_node().args[0]))

    @property
    def values(self) -> tuple[Node, ...]:
        """The nodes of the parent that are read as one value."""
        return tuple(node for node in self.split.graph.nodes if node.op != "output")

    def maker(self, node: Any) -> Call | None:
        """The call that a value comes from, through its getitems."""
        while isinstance(node, Node) and is_getitem(node):
            node = node.args[0]
        return self.by_node.get(node)


def is_getitem(node: Node) -> bool:
    return node.op == "call_function" and node.target is operator.getitem


def leaves(value: Any) -> Iterator[Any]:
    """The leaves of nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def attribute(root: torch.nn.Module, path: str) -> Any:
    value: Any = root
    for part in path.split("."):
        value = getattr(value, part)
    return value


def meta_of(node: Any) -> Any:
    """A node's value as tracing knew it; a literal is itself."""
    return node.meta.get("val") if isinstance(node, Node) else node


def op_names(call: Call) -> Iterator[tuple[Node, str]]:
    """The ops of a child, with their names."""
    for node in call.child.graph.nodes:
        if node.op == "call_function":
            yield node, str(node.target)
