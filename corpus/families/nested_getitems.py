"""Elements of elements: a multi-output op behind a multi-output engine behind another."""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.inputs import floats

RELU = "aten.relu.default"
CHUNK = "aten.chunk.default"


class ChunkOfChunk(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = (x + 1).chunk(2, dim=-1)
        first, second = torch.relu(left).chunk(2, dim=-1)
        third, fourth = torch.relu(right).chunk(2, dim=-1)
        return torch.cat([torch.relu(fourth), first * 2, torch.relu(second), third - 1], dim=-1)


@case(
    Family.NESTED_GETITEMS,
    catches="a chunk of a chunk's half across a fallback: three generations of getitems",
    fallback=[RELU],
    wiring=True,
)
def chunk_of_chunk() -> Program:
    return Program(floats((2, 16)), model=ChunkOfChunk())


class FallbackChunk(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = (x * 2).chunk(2, dim=-1)
        top, bottom = (left + right).chunk(2, dim=0)
        return (top - 1) * bottom + right[:1]


@case(
    Family.NESTED_GETITEMS,
    catches="a fallback that is the multi-output op itself, its elements read by engines",
    fallback=[CHUNK, "aten.split.Tensor", "_operator.getitem"],  # the second after lowering
    wiring=True,
)
def chunk_as_fallback() -> Program:
    return Program(floats((2, 8)), model=FallbackChunk())


class SplitAndUnbind(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = torch.split(x + 1, [2, 3, 3], dim=-1)
        rows = torch.relu(parts[1]).unbind(0)
        return torch.relu(rows[1] * 2) + torch.relu(rows[0] - 1) + parts[2][0] * parts[0].sum()


@case(
    Family.NESTED_GETITEMS,
    catches="the middle part of an uneven split, then rows of it read in reverse",
    fallback=[RELU],
    wiring=True,
)
def split_then_unbind() -> Program:
    return Program(floats((2, 8)), model=SplitAndUnbind())
