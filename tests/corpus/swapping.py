"""Two edges of a split module change places: the wrong wire that a case's numbers must show."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.fx import GraphModule, Node

from corpus.case import Case, Inputs
from harness.rig.capture import capture
from harness.rig.oracles.reading import GraphReader
from harness.rig.oracles.values import Observed, observe
from harness.rig.oracles.wiring import compare, reference_reading
from harness.rig.records import Stage
from harness.rig.split import split_module


@dataclass(frozen=True)
class Edge:
    """The value that a node reads at one place. Nodes are named, for a graph may be copied."""

    consumer: str
    slot: int  # among the values that it reads, in order
    source: str

    def __str__(self) -> str:
        return f"{self.consumer}[{self.slot}]"


@dataclass(frozen=True)
class Split:
    """A case's split module with segments in place of engines, and what its calls do."""

    case: Case
    module: GraphModule
    calls: tuple[Inputs, ...]
    reference: Observed


def split_of(case: Case) -> Split:
    captured = capture(case, "nonstrict")
    module = captured.fresh_module()
    if captured.exported is not None:
        module = split_module(module, case.fallback, case.min_block_size)
    reference = observe(copy.deepcopy(module), captured.calls)
    return Split(case, module, captured.calls, reference)


def swaps(module: GraphModule) -> Iterator[tuple[Edge, Edge]]:
    """Every two edges of one type that can change places: each source stands before both readers.

    Only such as change what is computed: a value may stand under two names.
    """
    order = {node.name: index for index, node in enumerate(module.graph.nodes)}
    kinds = {edge: _kind(source) for edge, source in _edges(module)}
    for one, other in itertools.combinations(kinds, 2):
        if one.source == other.source or kinds[one] is None or kinds[one] != kinds[other]:
            continue
        if order[one.source] < order[other.consumer] and order[other.source] < order[one.consumer]:
            yield one, other


def swapped(module: GraphModule, one: Edge, other: Edge) -> GraphModule:
    """A copy with two edges in each other's place."""
    wrong = copy.deepcopy(module)
    nodes = {node.name: node for node in wrong.graph.nodes}
    for edge, source in ((one, other.source), (other, one.source)):
        _rewire(nodes[edge.consumer], edge.slot, nodes[source])
    wrong.recompile()
    return wrong


def computes_alike(module: GraphModule, wrong: GraphModule) -> bool:
    """Whether two modules are the same terms."""
    reader = GraphReader()
    reading, inputs = reference_reading(reader, module)
    return not list(compare(reading, reader.read_module(wrong, inputs), Stage.SPLIT))


def shows(split: Split, wrong: GraphModule) -> bool:
    """Whether the case's calls tell a module from the right one; an exception tells, too."""
    try:
        results = observe(wrong, split.calls)
    except Exception:  # noqa: BLE001 - whatever a wrongly wired module raises
        return True
    return split.reference.difference(results) is not None


def _edges(module: GraphModule) -> Iterator[tuple[Edge, Node]]:
    for node in module.graph.nodes:
        for slot, source in enumerate(_reads(node)):
            yield Edge(node.name, slot, source.name), source


def _reads(node: Node) -> list[Node]:
    reads: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), reads.append)
    return reads


def _rewire(node: Node, slot: int, source: Node) -> None:
    count = itertools.count()
    node.args, node.kwargs = torch.fx.node.map_arg(
        (node.args, node.kwargs), lambda read: source if next(count) == slot else read
    )


def _kind(node: Node) -> object:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return value.dtype, str(tuple(value.shape))
    return None
