"""What a segment writes to, beside the tensors that it makes itself.

An engine returns fresh memory, and writes to nothing that it is given but by declared aliased I/O:
what PyTorch would write to an input or to a buffer in its place is lost. So a segment that does so
must not become an emulated engine, which would do it. What an op writes to, and what its result may
be a view of, is read from its schema; both are traced back to the segment's inputs and attributes.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

Sources = frozenset[str]
_FRESH: Sources = frozenset()

# Ops that may return a view of an argument, and whose schemas say nothing of it. Where torch knows
# of one, it has a tag.
_SILENT_VIEWS = frozenset(
    {
        "aten::_unsafe_view",
        "aten::broadcast_tensors",
        "aten::einsum",
        "aten::meshgrid",
        "aten::sum_to_size",
        "aten::type_as",
    }
)
# Norms write to these, by most schemas unsaid, and only if they are told to by one of the flags.
_STATISTICS = frozenset({"running_mean", "running_var"})
_FLAGS = ("training", "use_input_stats")

_NO_DATA_WRITTEN = "aten::detach_"  # in place, but what it changes is no number
_WRITES_TO_FIRST = frozenset(
    {
        operator.setitem,
        *(operator.iadd, operator.isub, operator.imul, operator.imatmul, operator.itruediv),
        *(operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ior),
        *(operator.ixor, operator.ilshift, operator.irshift),
    }
)


@dataclass(frozen=True)
class Write:
    """One write to what a segment does not own."""

    node: str
    op: str
    target: str  # such as "its input x"

    def __str__(self) -> str:
        return f"{self.node} ({self.op}) writes to {self.target}"


def declared_writes(signature: ExportGraphSignature) -> list[str]:
    """What a program's signature says is written: buffers and inputs, and parameters, which newer
    torch declares, too."""
    return [
        str(spec.target) for spec in signature.output_specs if spec.kind.name.endswith("_MUTATION")
    ]


def writes_of(segment: GraphModule) -> list[Write]:
    """Every write of a segment to its inputs and attributes, by views of them too, in order."""
    names = [node.name for node in segment.graph.nodes if node.op == "placeholder"]
    writes: dict[Write, None] = {}
    _walk(segment, [frozenset({f"its input {name}"}) for name in names], "", writes)
    return list(writes)


def _walk(
    module: GraphModule, inputs: Sequence[Sources], path: str, writes: dict[Write, None]
) -> Sources:
    """Add the writes of a graph, and of those below; returns what its outputs may be views of."""
    left = iter(inputs)
    known: dict[Node, Sources] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            given = next(left, _FRESH)
            known[node] = given if _is_tensor(node) else _FRESH
        elif node.op == "get_attr":
            known[node] = frozenset({f"its attribute {path}{node.target}"})
        elif node.op == "output":
            return _sources(node.args, known)
        elif below := _graphs_below(module, node):
            # Operands are the last arguments of every higher-order op that takes a graph.
            nodes = [each for each in pytree.tree_leaves((node.args, node.kwargs)) if each in known]
            known[node] = _FRESH.union(
                *(
                    _walk(graph, [known[each] for each in nodes][-taken:], f"{path}{name}.", writes)
                    for name, graph in below.items()
                    if (taken := sum(each.op == "placeholder" for each in graph.graph.nodes))
                )
            )
        else:
            written, viewed = _effect(node, known)
            for source in sorted(written):
                writes[Write(node.name, str(node.target), source)] = None
            known[node] = written | viewed
    return _FRESH


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor | types.NoneType)


def _graphs_below(module: GraphModule, node: Node) -> dict[str, GraphModule]:
    """The graphs that a node calls, by name: a submodule, or such as the branches of a `cond`."""
    naming = [node] if node.op == "call_module" else node.all_input_nodes
    names = [str(each.target) for each in naming if each.op in ("call_module", "get_attr")]
    found = {name: operator.attrgetter(name)(module) for name in names}
    return {name: each for name, each in found.items() if isinstance(each, GraphModule)}


def _effect(node: Node, known: Mapping[Node, Sources]) -> tuple[Sources, Sources]:
    """What an op writes to, and what its result may be a view of."""
    if node.target is operator.getitem:
        return _FRESH, _sources(node.args[0], known)
    if node.target in _WRITES_TO_FIRST:
        return _sources(node.args[0], known), _FRESH
    written, viewed = _FRESH, _FRESH
    for overload in _overloads(node.target):
        arguments = overload._schema.arguments
        given = dict(zip((each.name for each in arguments), node.args, strict=False))
        given.update(node.kwargs)
        for argument in arguments:
            sources = _sources(given.get(argument.name), known)
            if _is_written(overload, argument, given):
                written |= sources
            elif _may_be_viewed(overload, argument):
                viewed |= sources
    return written, viewed


def _overloads(target: Any) -> Iterable[OpOverload]:
    """An op; for what has no schema, such as a method, all that torch has by that name."""
    if isinstance(target, OpOverload):
        return (target,)
    if isinstance(target, HigherOrderOperator):
        return ()
    if not isinstance(target, OpOverloadPacket):
        name = target if isinstance(target, str) else getattr(target, "__name__", "")
        target = getattr(torch.ops.aten, name, None) if name else None
    if not isinstance(target, OpOverloadPacket):
        return ()
    return [getattr(target, name) for name in target.overloads()]


def _is_written(
    overload: OpOverload, argument: torch._C.Argument, given: Mapping[str, Any]
) -> bool:
    flags = [given[name] for name in _FLAGS if name in given]
    if argument.name in _STATISTICS and flags:
        return any(flags)
    alias: Any = argument.alias_info
    return alias is not None and alias.is_write and overload._schema.name != _NO_DATA_WRITTEN


def _may_be_viewed(overload: OpOverload, argument: torch._C.Argument) -> bool:
    schema = overload._schema
    if argument.alias_info is not None:
        return any(returned.alias_info is not None for returned in schema.returns)
    return schema.name in _SILENT_VIEWS or torch.Tag.maybe_aliasing_or_mutating in overload.tags


def _sources(arguments: Any, known: Mapping[Node, Sources]) -> Sources:
    nodes = [each for each in pytree.tree_leaves(arguments) if isinstance(each, Node)]
    return _FRESH.union(*(known[each] for each in nodes))
