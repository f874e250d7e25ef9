"""Rows that are gathered by index into other rows, as graph networks send messages along edges.

Lowering writes such an op anew, row by row. They are for the package lane alone: the graph lane
lowers nothing.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import dynamic_size, floats

NODES, WIDTH = 5, 8


class Added(torch.nn.Module):
    """Each node's messages are added up."""

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
        index = to.unsqueeze(1).expand(-1, WIDTH)
        total = torch.zeros_like(nodes).scatter_add(0, index, torch.relu(edges))
        return total * 2 + nodes


class Largest(torch.nn.Module):
    """Of each node's messages the largest numbers are taken."""

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
        index = to.unsqueeze(1).expand(-1, WIDTH)
        return nodes.scatter_reduce(0, index, torch.relu(edges), "amax") * 2 + 1


def _graph(generator: torch.Generator, size: int | None) -> Inputs:
    count = dynamic_size(size)
    nodes, edges = (torch.randn(rows, WIDTH, generator=generator) for rows in (NODES, count))
    return Inputs((nodes, edges, torch.randint(NODES, (count,), generator=generator)))


def _program(model: torch.nn.Module) -> Program:
    edges = torch.export.Dim("edges", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _graph, model=model, dynamic_shapes=(None, {0: edges}, {0: edges}), bounds=BOUNDS
    )


@case(
    Family.DYNAMIC_SHAPES,
    catches="messages of any number of edges that are added up: a loop over the example's edges",
    fallback=[RELU],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def messages_added_up() -> Program:
    return _program(Added())


@case(
    Family.DYNAMIC_SHAPES,
    catches="the largest message of any number of edges: a loop over the example's edges",
    fallback=[RELU],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def largest_of_the_messages() -> Program:
    return _program(Largest())


class Infilled(torch.nn.Module):
    """Image tokens in the places of a text's, as multimodal models put them there."""

    def forward(self, x: torch.Tensor, fill: torch.Tensor) -> torch.Tensor:
        columns = torch.tensor([True, False, False, True])
        return torch.relu(x).masked_scatter(columns, fill * 2) + 1


@case(
    Family.TYPES,
    catches="a mask of one row that is true of all rows, and says which columns are filled",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def columns_filled_by_a_mask() -> Program:
    return Program(floats((2, 4), (2, 2)), model=Infilled())
