"""What becomes of an engine's outputs: none used, one twice, the list whole, other types."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"


@case(
    Family.ENGINE_OUTPUTS,
    catches="two getitems of one index: metadata counted by readers runs off its end",
    origin=Origin.HANDMADE,
)
def one_output_read_by_two_getitems() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a + 1, a * 2), x)
    first, again = builder.item(engine, 0), builder.item(engine, 0)
    second = builder.item(engine, 1)
    relu = builder.fallback(lambda a, b, c: torch.relu(a) - b * c, first, again, second)
    return Program(floats((2, 8)), split=builder.finish(relu))


@case(
    Family.ENGINE_OUTPUTS,
    catches="only the last of three outputs read: the one getitem gets the first one's metadata",
    origin=Origin.HANDMADE,
    wiring=True,
    cross=True,
)
def only_the_last_output_read() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a.sum(), a.sum(-1), a * 2), x)
    relu = builder.fallback(torch.relu, builder.item(engine, 2))
    return Program(floats((2, 8)), split=builder.finish(relu))


@case(
    Family.ENGINE_OUTPUTS,
    catches="an engine that nobody reads, beside one that is read",
    origin=Origin.HANDMADE,
    wiring=True,
)
def an_engine_that_nobody_reads() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    builder.engine(lambda a: a - 5, x)
    relu = builder.fallback(torch.relu, builder.engine(lambda a: a + 1, x))
    return Program(floats((2, 8)), split=builder.finish(relu))


@case(
    Family.ENGINE_OUTPUTS,
    catches="an engine's outputs returned by the model, read by a fallback, and both",
    fallback=[RELU],
    wiring=True,
)
def outputs_returned_and_read() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            a, b = x + 1, x * 2
            return a, torch.relu(b) - 1, b

    return Program(floats((2, 8)), model=Model())


@case(
    Family.ENGINE_OUTPUTS,
    catches="outputs of float, int and bool from one engine, each to its own reader",
    fallback=[RELU, "aten.where.self"],
    wiring=True,
    cross=True,
)
def outputs_of_three_types() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = x * 2
            picked = torch.where(y > 0, torch.relu(y), y - 1)
            return picked + 1, y.argmax(-1) * 2

    return Program(floats((2, 8)), model=Model())


@case(
    Family.ENGINE_OUTPUTS,
    catches="one engine, its float read by a fallback, its int returned: all stated as float32",
    fallback=[RELU],
    wiring=True,
)
def outputs_of_two_types() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = x * 2
            return torch.relu(y), y.argmax(-1)

    return Program(floats((2, 8)), model=Model())


@case(
    Family.ENGINE_OUTPUTS,
    catches="a 0-d output beside an ordinary one",
    fallback=[RELU],
    wiring=True,
)
def scalar_output() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x + 1
            return torch.relu(y) / (torch.relu(y.mean()) + 2)

    return Program(floats((2, 8)), model=Model())


@case(
    Family.ENGINE_OUTPUTS,
    catches="an engine whose output has other strides in its segment than in memory",
    fallback=[RELU],
)
def transposed_output() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu((x * 2).t()) + 1

    return Program(floats((2, 8)), model=Model())


@case(
    Family.ENGINE_OUTPUTS,
    catches="an engine's outputs handed on as one list, with no getitem to tell them apart",
    origin=Origin.HANDMADE,
    wiring=True,
)
def outputs_read_whole() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a + 1, a * 2), x)
    difference = builder.fallback(lambda pair: torch.relu(pair[0]) - pair[1], engine)
    return Program(floats((2, 8)), split=builder.finish(difference))


@case(
    Family.ENGINE_OUTPUTS,
    catches="an output without elements, beside an ordinary one",
    fallback=[RELU],
    wiring=True,
)
def empty_output() -> Program:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x + 1
            return torch.cat([torch.relu(y[:0]), torch.relu(y)]) * 2

    return Program(floats((2, 8)), model=Model())
