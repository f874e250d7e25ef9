"""Splitting: a captured graph into engines (`_run_on_acc_*`) and fallbacks (`_run_on_gpu_*`).

The splitter is torch.fx's own base class, as Torch-TensorRT's adjacency partitioner is
(torch_tensorrt/dynamo/partitioning/_adjacency_partitioner.py). Dead code goes first: without that,
segments of dead nodes appear that nobody can build.
"""

from __future__ import annotations

import operator
from collections.abc import Collection

from torch.fx import GraphModule, Node
from torch.fx.node import _get_qualified_name
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.splitter_base import (
    FxNetAccFusionsFinder,
    FxNetAccNodesFinder,
    Subgraph,
    _SplitterBase,
    _SplitterSettingBase,
)
from torch.fx.passes.tools_common import CALLABLE_NODE_OPS, NodeSet


def _names(node: Node) -> set[str]:
    """The names by which a fallback can mean the op of a call_function node."""
    assert not isinstance(node.target, str)
    return {str(node.target), _get_qualified_name(node.target)}


class _EveryOpButFallbacks(OperatorSupportBase):
    """Every call_function converts, but for the ops that the case sends to PyTorch.

    A getitem converts where what it reads does (`getitem_validator` in
    torch_tensorrt/dynamo/conversion/ops_evaluators.py), so that no tuple enters an engine.
    """

    def __init__(self, fallback: Collection[str]) -> None:
        self.fallback = frozenset(fallback)

    def is_node_supported(self, submodules: object, node: Node) -> bool:
        if node.op == "get_attr":
            return True
        if node.op != "call_function" or isinstance(node.target, str):
            return False
        if node.target is operator.getitem:
            read = node.args[0]
            if isinstance(read, Node) and read.op == "call_function":
                return not (_names(node) | _names(read)) & self.fallback
        return not _names(node) & self.fallback


class _Splitter(_SplitterBase):
    """The adjacency partitioner's behaviour: names, block size, starter nodes."""

    def __init__(self, module: GraphModule, fallback: Collection[str], min_block_size: int) -> None:
        # The base class would run the module on sample inputs first (ShapeProp); a captured graph
        # has its shapes already, and Torch-TensorRT's own subclass leaves that out too.
        self.module = module
        self.settings = _SplitterSettingBase(
            min_acc_module_size=min_block_size, allow_non_tensor=True, skip_fusion=False
        )
        self.operator_support = _EveryOpButFallbacks(fallback)
        self.acc_nodes = FxNetAccNodesFinder(
            module, self.operator_support, self.settings.allow_non_tensor
        )()
        self.fusions = FxNetAccFusionsFinder(module, set(self.acc_nodes))()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name = "_run_on_gpu_"
        self._node_submodule_map: dict[str, str] = {}
        self._return_tuple = False
        self.tags: list[str] = []

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """A segment below the block size joins its neighbour before it."""
        kept: list[Subgraph] = []
        for subgraph in subgraphs:
            joins = not subgraph.is_acc or len(subgraph.nodes) < self.settings.min_acc_module_size
            if not joins:
                kept.append(subgraph)
            elif kept and (subgraph.is_acc or not kept[-1].is_acc):
                kept[-1].nodes.extend(subgraph.nodes)
            else:
                subgraph.is_acc = False
                kept.append(subgraph)
        return kept

    def starter_nodes(self) -> tuple[NodeSet, NodeSet]:
        """Every callable node starts, so that loose nodes land in a fallback too."""
        accelerated = {node for node in self.acc_nodes if node.op in CALLABLE_NODE_OPS}
        rest = {
            node
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and node not in accelerated
        }
        return rest, accelerated

    def partition(self) -> GraphModule:
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        self.tag(subgraphs)
        return self.split(remove_tag=True)


def split_module(
    module: GraphModule, fallback: Collection[str], min_block_size: int
) -> GraphModule:
    """The split module of a captured graph.

    Args:
        fallback: what stays in PyTorch: overloads such as "aten.relu.default", or qualified names
            such as "_operator.getitem".
        min_block_size: the least number of nodes that an engine has.
    """
    module.graph.eliminate_dead_code()
    module.graph.lint()
    module.recompile()
    if not any(node.op in CALLABLE_NODE_OPS for node in module.graph.nodes):
        return module  # the splitter refuses it; torch_tensorrt.dynamo.compile hands it back
    split = _Splitter(module, fallback, min_block_size).partition()
    for name in ("_in_spec", "_out_spec"):
        if hasattr(module, name):
            setattr(split, name, getattr(module, name))
    return split
