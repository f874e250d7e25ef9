"""A dimension that is a range: its bound must survive, and larger sizes must be refused."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Origin, Program, case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.families.attributes import LINEAR, TwoLinears
from corpus.families.multi_output_engines import ChunkHalves
from corpus.handmade import SplitBuilder
from corpus.inputs import DYNAMIC, dynamic_size, floats

BOUNDS = (1, 8)


def batch(inputs: int = 1) -> tuple[dict[int, torch.export.Dim], ...]:
    """The first dimension of every input is one dynamic dimension."""
    dim = torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])
    return tuple({0: dim} for _ in range(inputs))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a batch dimension that becomes static, or loses its bound, in the simplest hybrid",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dynamic_batch() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=Alternating(2), dynamic_shapes=batch(), bounds=BOUNDS
    )


@case(
    Family.DYNAMIC_SHAPES,
    catches="symbolic metadata on the getitems of a multi-output engine",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dynamic_batch_chunk() -> Program:
    return Program(floats((DYNAMIC, 8)), model=ChunkHalves(), dynamic_shapes=batch(), bounds=BOUNDS)


@case(
    Family.DYNAMIC_SHAPES,
    catches="lifted weights beside a symbolic batch: metadata of two fake modes",
    fallback=[*LINEAR],
    wiring=True,
    dynamic=True,
)
def dynamic_batch_weights_in_fallbacks() -> Program:
    return Program(floats((DYNAMIC, 8)), model=TwoLinears(), dynamic_shapes=batch(), bounds=BOUNDS)


class Flatten(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = torch.relu(x + 1).reshape(-1, 4)
        return torch.relu(flat * 2) - 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size computed from a dynamic dimension inside an engine: twice the batch",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dynamic_batch_reshaped() -> Program:
    return Program(floats((DYNAMIC, 8)), model=Flatten(), dynamic_shapes=batch(), bounds=BOUNDS)


class TwoInputs(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * y - torch.relu(y)


@case(
    Family.DYNAMIC_SHAPES,
    catches="one dynamic dimension shared by two inputs, read on both sides of a fallback",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dynamic_batch_of_two_inputs() -> Program:
    return Program(
        floats((DYNAMIC, 8), (DYNAMIC, 8)),
        model=TwoInputs(),
        dynamic_shapes=batch(2),
        bounds=BOUNDS,
    )


class SizeIntoEngine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 2 + x.shape[0]) * 3


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that a fallback gives to an engine: a number where the engine takes tensors",
    fallback=[RELU, "aten.sym_size.int"],
    wiring=True,
    dynamic=True,
)
def size_into_engine() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=SizeIntoEngine(), dynamic_shapes=batch(), bounds=BOUNDS
    )


class TwoDimensions(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2 - x.mean(-1, keepdim=True)


@case(
    Family.DYNAMIC_SHAPES,
    catches="two dynamic dimensions of one input that become one, or change places",
    fallback=[RELU],
    wiring=True,
    cross=True,
    dynamic=True,
)
def two_dynamic_dimensions() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    columns = torch.export.Dim("columns", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats((DYNAMIC, DYNAMIC)),
        model=TwoDimensions(),
        dynamic_shapes=({0: rows, 1: columns},),
        bounds=BOUNDS,
    )


class TwiceAsMany(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.relu(x + 1), x * 2]) - torch.relu(y)


def with_twice_as_many(generator: torch.Generator, size: int | None) -> Inputs:
    rows = dynamic_size(size)
    return Inputs(tuple(torch.randn(n, 8, generator=generator) for n in (rows, 2 * rows)))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a dimension declared as twice another: its relation is lost, or its bounds",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def derived_dimension() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        with_twice_as_many,
        model=TwiceAsMany(),
        dynamic_shapes=({0: rows}, {0: 2 * rows}),
        bounds=BOUNDS,
    )


class Nonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x + 1) * 2 + 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that depends on the numbers, from a fallback into an engine",
    fallback=["aten.nonzero.default"],
    wiring=True,
)
def data_dependent_size() -> Program:
    return Program(floats((2, 8)), model=Nonzero())


class ReluAndNonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x) + 1, torch.nonzero(x)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size of the data's in a model without any engine, beside a dynamic batch",
    fallback=[RELU, "aten.nonzero.default"],
    min_block_size=100,
    wiring=True,
    dynamic=True,
)
def data_dependent_size_without_an_engine() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=ReluAndNonzero(), dynamic_shapes=batch(), bounds=BOUNDS
    )


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


@case(
    Family.DYNAMIC_SHAPES,
    catches="a model without any engine: its weight stands before its dynamic input (#4648)",
    fallback=["aten.mul.Tensor"],
    wiring=True,
    dynamic=True,
)
def dynamic_batch_without_an_engine() -> Program:
    return Program(floats((DYNAMIC, 8)), model=Scale(), dynamic_shapes=batch(), bounds=BOUNDS)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a dynamic input that is handed back as it is: the bounds of a graph without any op",
    origin=Origin.HANDMADE,
    wiring=True,
    dynamic=True,
)
def dynamic_input_alone() -> Program:
    builder, (x,) = SplitBuilder.for_call(Inputs((torch.zeros(4, 8),)), batch())
    split = builder.finish(x)
    return Program(floats((DYNAMIC, 8)), split=split, dynamic_shapes=batch(), bounds=BOUNDS)
