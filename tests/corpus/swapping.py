"""Two edges of a split module change places: the wrong wire that a case's numbers must show."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.fx import GraphModule, Node

from corpus.case import Case, Inputs
from harness.rig.capture.capture import capture
from harness.rig.oracles.reading import GraphReader
from harness.rig.oracles.terms import Kind, Term, TermTable
from harness.rig.oracles.values import Observed, observe
from harness.rig.oracles.wiring import compare, reference_reading
from harness.wire.vocabulary import Stage

# Bit for bit, in floating point too. `add` with an `alpha` other than 1 does not.
COMMUTE = frozenset({"aten.add.Tensor", "aten.mul.Tensor", "aten.bitwise_and.Tensor"})


class Commuting(TermTable):
    """Terms of which `a + b` and `b + a` are one."""

    def make(
        self, kind: Kind, label: Hashable, children: tuple[Term, ...] = (), note: str = ""
    ) -> Term:
        if kind is Kind.OP and label in COMMUTE and all(rest.label == 1 for rest in children[2:]):
            children = (*sorted(children[:2], key=id), *children[2:])
        return super().make(kind, label, children, note)


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
    """A case's split module with segments in place of engines, and what its calls do.

    ``kinds`` holds the type and shape of every node that is a tensor, one pair a call.
    """

    case: Case
    module: GraphModule
    calls: tuple[Inputs, ...]
    reference: Observed
    kinds: Mapping[str, tuple[object, ...]]


def split_of(case: Case) -> Split:
    captured = capture(case, "nonstrict")
    module = captured.split()
    reference = observe(copy.deepcopy(module), captured.calls)
    return Split(case, module, captured.calls, reference, kinds_of(module, captured.calls))


def kinds_of(module: GraphModule, calls: Sequence[Inputs]) -> dict[str, tuple[object, ...]]:
    """What every node is on each call. Not read off its metadata: a splitter leaves none."""
    kinds: dict[str, list[object]] = {}

    def saw(name: str, value: object) -> None:
        kind = (value.dtype, tuple(value.shape)) if isinstance(value, torch.Tensor) else None
        kinds.setdefault(name, []).append(kind)

    probe = copy.deepcopy(module)
    for node in list(probe.graph.nodes):
        if node.op != "output":
            with probe.graph.inserting_after(node):
                probe.graph.call_function(saw, (node.name, node))
    probe.recompile()
    observe(probe, calls)
    return {name: tuple(seen) for name, seen in kinds.items() if None not in seen}


def swaps(split: Split) -> Iterator[tuple[Edge, Edge]]:
    """Every two edges of one type that can change places: each source stands before both readers.

    Only such as change what is computed: a value may stand under two names.
    """
    order = {node.name: index for index, node in enumerate(split.module.graph.nodes)}
    edges = [edge for edge in _edges(split.module) if edge.source in split.kinds]
    for one, other in itertools.combinations(edges, 2):
        alike = split.kinds[one.source] == split.kinds[other.source]
        if one.source == other.source or not alike:
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
    """Whether two modules are the same terms, but for the order of what commutes."""
    reader = GraphReader(Commuting())
    reading, inputs = reference_reading(reader, module)
    return not list(compare(reading, reader.read_module(wrong, inputs), Stage.SPLIT))


def shows(split: Split, wrong: GraphModule) -> bool:
    """Whether the case's calls tell a module from the right one; an exception tells, too."""
    try:
        results = observe(wrong, split.calls)
    except Exception:  # noqa: BLE001 - whatever a wrongly wired module raises
        return True
    return split.reference.difference(results) is not None


def _edges(module: GraphModule) -> Iterator[Edge]:
    for node in module.graph.nodes:
        for slot, source in enumerate(_reads(node)):
            yield Edge(node.name, slot, source.name)


def _reads(node: Node) -> list[Node]:
    reads: list[Node] = []
    torch.fx.node.map_arg((node.args, node.kwargs), reads.append)
    return reads


def _rewire(node: Node, slot: int, source: Node) -> None:
    count = itertools.count()
    node.args, node.kwargs = torch.fx.node.map_arg(
        (node.args, node.kwargs), lambda read: source if next(count) == slot else read
    )
