"""How cases make the arguments of one call from a seeded generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from corpus.case import Inputs

DYNAMIC = -1  # stands for the dynamic size in a shape
DEFAULT_SIZE = 3  # of a dynamic dimension where a call asks for none


def floats(*shapes: Sequence[int]) -> Callable[[torch.Generator, int | None], Inputs]:
    """Positional float32 tensors of these shapes, standard normal."""

    def make(generator: torch.Generator, size: int | None) -> Inputs:
        return Inputs(tuple(_floats(shape, generator, size) for shape in shapes))

    return make


def keyword_floats(
    positional: Sequence[Sequence[int]], **keyword: Sequence[int]
) -> Callable[[torch.Generator, int | None], Inputs]:
    """As `floats`, with keyword arguments in the order given."""

    def make(generator: torch.Generator, size: int | None) -> Inputs:
        args = tuple(_floats(shape, generator, size) for shape in positional)
        kwargs = {name: _floats(shape, generator, size) for name, shape in keyword.items()}
        return Inputs(args, kwargs)

    return make


def dynamic_size(size: int | None) -> int:
    """The dynamic size of a call, which is the default where the call asks for none."""
    return DEFAULT_SIZE if size is None else size


def size_of_call(size: int | None, bounds: tuple[int, int], example: int) -> int:
    """The dynamic size of a call: ``example`` of the example, which is of the middle size else."""
    return example if size == sum(bounds) // 2 else dynamic_size(size)


def _floats(shape: Sequence[int], generator: torch.Generator, size: int | None) -> torch.Tensor:
    chosen = dynamic_size(size)
    sizes = [chosen if length == DYNAMIC else length for length in shape]
    return torch.randn(sizes, generator=generator)
