"""Graph modules written down as plain data: what `corpus.recorded.build` builds again."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen

from corpus.case import Case
from corpus.children import NON_PERSISTENT, PLAIN
from corpus.recorded.recording import AttributeData, GraphData, NodeData, SplitData
from corpus.recorded.values import (
    BUFFER,
    PARAMETER,
    UNTOLD,
    CannotRecord,
    argument_data,
    target_text,
    tensor_data,
    value_data,
)
from harness.rig.capture.capture import capture


class GraphRecorder:
    """Writes graphs down. A tensor that several hold is one tensor for all of them."""

    def __init__(self) -> None:
        self._held: list[torch.Tensor] = []
        self._symbols: dict[str, str] = {}

    @property
    def tensors(self) -> tuple[dict[str, Any], ...]:
        """Those of all graphs so far, by number.

        Raises:
            CannotRecord: one is too large, or of a type without words.
        """
        return tuple(tensor_data(tensor) for tensor in self._held)

    def graph(self, module: GraphModule) -> GraphData:
        """A module without its children.

        Raises:
            CannotRecord: there is something in it that a recording has no words for.
        """
        nodes = module.graph.nodes
        paths = dict.fromkeys(str(node.target) for node in nodes if node.op == "get_attr")
        return GraphData(
            tuple(map(self._node, nodes)),
            tuple(self._attribute(module, path) for path in paths),
        )

    def split(self, module: GraphModule) -> SplitData:
        """A split module with its children. Raises as `graph`."""
        children = {
            name: self.graph(child)
            for name, child in module.named_children()
            if isinstance(child, GraphModule)
        }
        return SplitData(self.graph(module), children)

    def _node(self, node: Node) -> NodeData:
        value = value_data(node.meta["val"], self._symbols) if "val" in node.meta else None
        if value is not None and "tensor" in value and "tensor_meta" not in node.meta:
            value[UNTOLD] = True
        return NodeData(
            node.name,
            node.op,
            target_text(node.target),
            [argument_data(item) for item in node.args],
            {key: argument_data(item) for key, item in node.kwargs.items()},
            value,
        )

    def _attribute(self, module: GraphModule, path: str) -> AttributeData:
        prefix, _, name = path.rpartition(".")
        owner = module.get_submodule(prefix)
        tensor = getattr(owner, name)
        if not isinstance(tensor, torch.Tensor):
            raise CannotRecord(f"{path}, a {type(tensor).__name__}")
        if name in owner._parameters:
            kind = PARAMETER
        elif name in owner._buffers:
            kind = NON_PERSISTENT if name in owner._non_persistent_buffers_set else BUFFER
        else:
            kind = PLAIN
        return AttributeData(path, kind, self._number(tensor))

    def _number(self, tensor: torch.Tensor) -> int:
        for number, held in enumerate(self._held):
            if held is tensor:
                return number
        self._held.append(tensor)
        return len(self._held) - 1


def calling_convention(module: GraphModule) -> tuple[tuple[str, ...], str, str]:
    """Its arguments' names, and how they and what it returns are nested, as text.

    Raises:
        CannotRecord: it is called otherwise than an exported module is.
    """
    codegen = module.graph._codegen
    if not isinstance(codegen, _PyTreeCodeGen):
        raise CannotRecord(f"a module called by way of {type(codegen).__name__}")
    info = codegen.pytree_info
    assert info.out_spec is not None
    specs = pytree.treespec_dumps(info.in_spec), pytree.treespec_dumps(info.out_spec)
    return (tuple(info.orig_args), *specs)


def own_split(case: Case, min_block_size: int) -> SplitData:
    """The graph lane's own split of a model, without anybody's lowering.

    Raises:
        CannotRecord: as `GraphRecorder.graph`.
        Exception: it cannot be captured.
    """
    case = dataclasses.replace(case, min_block_size=min_block_size)
    return GraphRecorder().split(capture(case, "nonstrict").split())
