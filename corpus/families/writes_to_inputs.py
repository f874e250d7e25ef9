"""Models that write to what their caller gave them: the caller's tensor is part of the result.

Such a write is lost where an engine performs it on a copy, or where lowering takes it for dead. In
the graph lane a segment that writes is none that TensorRT could build, unless the write itself is
left in PyTorch.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.inputs import floats


class Whole(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return torch.relu(x - 1) * 3


@case(
    Family.CACHES,
    catches="an input that is overwritten whole and read afterwards: the caller keeps old numbers",
    fallback=[RELU],
    wiring=True,
)
def input_written_whole() -> Program:
    return Program(floats((2, 8)), model=Whole())


class Last(torch.nn.Module):
    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        made = torch.relu(x + state) * 2
        state.copy_(made - 1)
        return made


@case(
    Family.CACHES,
    catches="an input that is written last, and that nothing reads afterwards: taken for dead code",
    fallback=[RELU],
    wiring=True,
)
def input_written_last() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Last())


@case(
    Family.CACHES,
    catches="an input that is written by an op in PyTorch, whose result nothing reads",
    fallback=[RELU, "aten.copy_.default"],
    wiring=True,
)
def input_written_by_a_fallback() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Last())


class Slice(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        rows[2:4] = torch.relu(x + 1) * 2
        return rows * 3 - 1


@case(
    Family.CACHES,
    catches="two rows of an input that are written and read afterwards with the others",
    fallback=[RELU],
    wiring=True,
)
def input_slice_written() -> Program:
    return Program(floats((2, 8), (6, 8)), model=Slice())


class SliceLast(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        made = torch.relu(x + rows[0]) * 2
        rows[2:4] = made
        return made - 1


@case(
    Family.CACHES,
    catches="two rows of an input that are written last: the caller's rows keep old numbers",
    fallback=[RELU],
    wiring=True,
)
def input_slice_written_last() -> Program:
    return Program(floats((2, 8), (6, 8)), model=SliceLast())


class CacheGiven(torch.nn.Module):
    """A K/V cache that the caller owns, as vLLM and most of transformers' users have it."""

    def forward(
        self, token: torch.Tensor, keys: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        keys.index_copy_(2, position, token * 2)
        scores = torch.matmul(token, keys.transpose(2, 3))
        return torch.matmul(torch.relu(scores), keys) + 1


def _with_cache(generator: torch.Generator, _: int | None) -> Inputs:
    token = torch.randn(1, 2, 1, 4, generator=generator)
    keys = torch.randn(1, 2, 8, 4, generator=generator)
    return Inputs((token, keys, torch.randint(8, (1,), generator=generator)))


@case(
    Family.CACHES,
    catches="a cache that the caller gives, written at a position and read by two engines",
    fallback=[RELU],
    wiring=True,
)
def input_cache_read_by_two_engines() -> Program:
    return Program(_with_cache, model=CacheGiven())


class WrittenAndReturned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.add_(1)
        return torch.relu(x) * 2, x


@case(
    Family.CACHES,
    catches="an input that is written to and handed back: a copy, or the numbers before the write",
    fallback=[RELU],
    wiring=True,
)
def input_written_and_returned() -> Program:
    return Program(floats((2, 8)), model=WrittenAndReturned())


class Swapped(torch.nn.Module):
    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        kept = one * 2
        one.copy_(torch.relu(other))
        other.copy_(kept - 1)
        return one - other * 3


@case(
    Family.CACHES,
    catches="two inputs that are written with what was in the other: one write done for both",
    fallback=[RELU],
    wiring=True,
)
def two_inputs_written() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Swapped())


class Projected(torch.nn.Module):
    """A layer with the caller's cache, whose new row comes of a weight and of a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)

    def forward(
        self, token: torch.Tensor, rows: torch.Tensor, position: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows.index_copy_(0, position, self.project(token + torch.arange(8)))
        return torch.relu(rows) * 2, rows


def _with_rows(generator: torch.Generator, _: int | None) -> Inputs:
    token, rows = (torch.randn(count, 8, generator=generator) for count in (1, 6))
    return Inputs((token, rows, torch.randint(6, (1,), generator=generator)))


@case(
    Family.CACHES,
    catches="a row of the caller's cache, made by a weight that has gradients, traced anew",
    fallback=[RELU],
    eager_tolerance=1e-5,
    wiring=True,
    lanes=("package",),  # the graph lane folds no constants, and traces no write anew
)
def input_written_by_a_layer() -> Program:
    return Program(_with_rows, model=Projected())


class ReadAndWritten(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.tanh(x) * 2
        x.relu_()
        return made, x


@case(
    Family.CACHES,
    catches="an input that an engine reads and a fallback writes afterwards, moved before it",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,  # the graph lane does not partition as a release does
)
def input_read_before_a_fallback_writes_it() -> Program:
    return Program(floats((2, 8)), model=ReadAndWritten())


class Emptied(torch.nn.Module):
    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        made = torch.relu(z + x) * 2
        x.zero_()
        z.zero_()
        return made


@case(
    Family.CACHES,
    catches="two inputs that are emptied: what is written is a constant, which has no metadata",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
)
def two_inputs_emptied() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Emptied())
