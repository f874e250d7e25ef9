"""Caches and running state: buffers that a model reads, writes to, and reads again.

They are for the package lane alone: the graph lane's splitter takes a buffer into every segment
that reads it, as a constant, and what comes before and mends that is a release's own.
What engines make of such a write is a release's own matter: up to 2.13 lowering takes the buffer
for a constant; 2.14 lets an engine write to a cache where TensorRT has a layer for it, and returns
all else for a runtime to copy back (`lowering/_buffer_lifting.py`). Each call writes to another
position, so that a write that is lost shows in the next call.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import torch
from torch.export import ExportedProgram

from corpus.case import Family, Inputs, Program, case
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, floats

RELU = "aten.relu.default"
PACKAGE_ALONE = ("package",)
HEADS, LENGTH, WIDTH = 2, 8, 4


class Cache(torch.nn.Module):
    """Keys of earlier steps: one head is a row of ``LENGTH`` positions."""

    keys: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.randn(1, HEADS, LENGTH, WIDTH))
        self.project = torch.nn.Linear(WIDTH, WIDTH)

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, self.keys.transpose(2, 3)) * 0.5


def step(generator: torch.Generator, _: int | None) -> Inputs:
    """One token, and the position that it is written to."""
    token = torch.randn(1, HEADS, 1, WIDTH, generator=generator)
    return Inputs((token, torch.randint(LENGTH, (1,), generator=generator)))


class InOneEngine(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, torch.relu(self.project(x)))
        return torch.relu(torch.matmul(self.scores(x), self.keys)) + 1


class ReadByTwo(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        return torch.matmul(torch.relu(self.scores(x)), self.keys)


class WrittenTwice(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        self.keys.index_copy_(2, (position + 1) % LENGTH, x)
        return torch.relu(torch.matmul(self.scores(x), self.keys)) + 1


class WrittenLast(Cache):
    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        read = torch.matmul(torch.relu(self.scores(x)), self.keys)
        self.keys.index_copy_(2, position, self.project(x))
        return read


class BySlice(Cache):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.keys.sum(2)
        self.keys[:, :, 2:3] = self.project(x)
        return torch.relu(before * self.keys.sum(2)) + 1


class TwoCaches(Cache):
    values: torch.Tensor
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("values", torch.randn(1, HEADS, LENGTH, WIDTH))
        self.register_buffer("count", torch.zeros(1))
        self.other = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys.index_copy_(2, position, self.project(x))
        self.values.index_copy_(2, position, self.other(x))
        self.count.add_(1)
        return torch.matmul(torch.relu(self.scores(x)), self.values) + self.count


class Running(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(1, 4))
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.project(x) + self.state
        self.state.copy_(made)
        return torch.relu(made) + 1


@case(
    Family.CACHES,
    catches="a cache that one engine writes to and reads, and whose writes are lost",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_in_one_engine() -> Program:
    return Program(step, model=InOneEngine())


@case(
    Family.CACHES,
    catches="a cache that a second engine reads, behind a fallback, as the first one has left it",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_read_by_two_engines() -> Program:
    return Program(step, model=ReadByTwo())


@case(
    Family.CACHES,
    catches="a cache that is written to twice in a call, of which one write is lost",
    fallback=[RELU],
    wiring=True,
    full=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_twice() -> Program:
    return Program(step, model=WrittenTwice())


@case(
    Family.CACHES,
    catches="a write to a cache that nothing reads in the same call, taken for dead code",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_after_reading() -> Program:
    return Program(step, model=WrittenLast())


@case(
    Family.CACHES,
    catches="a slice of a cache that is written to between two reads, of which one sees the other",
    fallback=[RELU],
    wiring=True,
    full=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_by_slice() -> Program:
    return Program(floats((1, HEADS, 1, WIDTH)), model=BySlice())


@case(
    Family.CACHES,
    catches="two caches and a count, of which one is written back in the place of another",
    fallback=[RELU],
    wiring=True,
    full=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def two_caches_and_a_count() -> Program:
    return Program(step, model=TwoCaches())


@case(
    Family.CACHES,
    catches="a state that is overwritten in every call, and begins anew in each",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def running_state() -> Program:
    return Program(floats((1, 4)), model=Running())


class SumOfTwo(torch.nn.Module):
    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        self.seen.add_(left.sum(0))
        return torch.relu(left) + right + self.seen


@case(
    Family.CACHES,
    catches="running state beside two inputs of one size, whose guard names what nobody defines",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def running_state_of_two_inputs() -> Program:
    return Program(
        floats((DYNAMIC, 4), (DYNAMIC, 4)),
        model=SumOfTwo(),
        dynamic_shapes=batch(2),
        bounds=BOUNDS,
    )


class Noted(torch.nn.Module):
    last: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last.copy_(x * 2)
        return torch.relu(x + 1) - 2


@case(
    Family.CACHES,
    catches="a state that is written and never read, so that no node of the graph names it",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_that_is_only_written() -> Program:
    return Program(floats((2, 8)), model=Noted())


class Taught(Running):
    """It learns from what it is given, and has no answer."""

    def forward(self, x: torch.Tensor) -> tuple[()]:  # type: ignore[override]
        self.state.copy_(torch.relu(self.project(x)) + self.state)
        return ()


@case(
    Family.CACHES,
    catches="a model that returns nothing and updates its state: no output, or no update",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_and_no_output() -> Program:
    return Program(floats((1, 4)), model=Taught())


class TwoOfOneName(Cache):
    def forward(self, x: torch.Tensor, keys: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        keys.index_copy_(2, position, self.project(x))
        self.keys.index_copy_(2, position, x * 2)
        scores = torch.matmul(x, keys.transpose(2, 3)) - torch.matmul(x, self.keys.transpose(2, 3))
        return torch.relu(scores) + 1


def _step_with_keys(generator: torch.Generator, size: int | None) -> Inputs:
    token, position = step(generator, size).args
    return Inputs((token, torch.randn(1, HEADS, LENGTH, WIDTH, generator=generator), position))


@case(
    Family.CACHES,
    catches="an input that is a cache with the name of the model's own cache, taken for it",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def input_named_like_the_cache() -> Program:
    return Program(_step_with_keys, model=TwoOfOneName())


class Layer(torch.nn.Module):
    key_sum: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("key_sum", torch.zeros(2, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.key_sum.add_(x)
        return torch.relu(x + self.key_sum)


class NamedLikeALiftedState(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()

    def forward(self, x: torch.Tensor, buf_layer_key_sum: torch.Tensor) -> torch.Tensor:
        return self.layer(x * 2) - buf_layer_key_sum


@case(
    Family.CACHES,
    catches="an input named as lifting names a layer's state: one taken for the other",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def input_named_like_a_lifted_state() -> Program:
    return Program(floats((2, 8), (2, 8)), model=NamedLikeALiftedState())


class ScatteredToTheEnd(Cache):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.keys.copy_(torch.slice_scatter(self.keys, self.project(x), 2, 4))
        return torch.relu(self.keys * 2) + 1


@case(
    Family.CACHES,
    catches="a cache that slice_scatter writes from a position on, and is told no end",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_scattered_to_the_end() -> Program:
    return Program(floats((1, HEADS, LENGTH - 4, WIDTH)), model=ScatteredToTheEnd())


def compiled_and_called(program: ExportedProgram) -> ExportedProgram:
    """A copy, after a module that was compiled from it has written to another place of its cache.

    It is a copy, since a program shares its state with the model that it was made of.
    """
    package: Any = importlib.import_module("torch_tensorrt")
    own = copy.deepcopy(program)
    assert own.example_inputs is not None
    args, _ = own.example_inputs
    x, position = args
    compiled = package.dynamo.compile(own, arg_inputs=args, min_block_size=1)
    with torch.no_grad():
        compiled(x + 1, (position + 1) % LENGTH)
    return own


@case(
    Family.CACHES,
    catches="a cache that two modules share which were compiled from one program",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_of_a_program_compiled_twice() -> Program:
    return Program(step, model=InOneEngine(), before_compile=compiled_and_called)
