"""Engines with several outputs: their getitems are the splitter's, in the order it met them."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"
SIGMOID = "aten.sigmoid.default"


class TwoOutputs(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2 - torch.relu(x * 3)


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="an engine with two outputs whose fallbacks get each other's",
    fallback=[RELU],
    wiring=True,
)
def engine_two_outputs() -> Program:
    return Program(floats((2, 8)), model=TwoOutputs())


class ChunkHalves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = (x + 1).chunk(2, dim=-1)
        return torch.relu(left) * 2 + torch.relu(right)


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="elements of a chunk, whose own getitems have the names of the engine's",
    fallback=[RELU],
    wiring=True,
)
def chunk_halves() -> Program:
    return Program(floats((2, 8)), model=ChunkHalves())


class UnbindFour(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = (x * 2).unbind(0)
        gated = [torch.relu(row) if index % 2 else row.sigmoid() for index, row in enumerate(rows)]
        return torch.stack(gated) + 1


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="four outputs of one engine to two kinds of fallback, permuted",
    fallback=[RELU, SIGMOID],
    wiring=True,
)
def unbind_to_four_fallbacks() -> Program:
    return Program(floats((4, 8)), model=UnbindFour())


class TopK(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = torch.topk(x * 2, 3)
        return torch.relu(values) + 1, indices + 1


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="two outputs of other types, values and indices, one of them straight to the caller",
    fallback=[RELU],
    wiring=True,
)
def topk_values_and_indices() -> Program:
    return Program(floats((2, 8)), model=TopK())


class OutOfOrder(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.repeat(1, 2) + 1
        narrow = x[:, :1] * 2
        later = torch.relu(narrow) + 1
        return torch.relu(wide).sum(-1, keepdim=True) * later


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="outputs of different shapes read in another order than the engine gives them",
    fallback=[RELU],
    wiring=True,
)
def outputs_read_out_of_order() -> Program:
    return Program(floats((2, 8)), model=OutOfOrder())


@case(
    Family.MULTI_OUTPUT_ENGINES,
    catches="metadata given to an engine's getitems in the order of their users, not by index",
    origin=Origin.HANDMADE,
    wiring=True,
)
def second_output_read_first() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a.sum(-1, keepdim=True), a * 2), x)
    wide, narrow = builder.item(engine, 1), builder.item(engine, 0)
    product = builder.fallback(lambda a, b: torch.relu(a) - b, wide, narrow)
    return Program(floats((2, 8)), split=builder.finish(product))
