"""Modules that `torch_tensorrt.compile` is given as they are, as most users call it.

It exports them itself, with inputs that it makes of shapes and types, and compiles what comes out.
All other cases hand over a program that `torch.export` made of the model's own inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.families.keyword_ranges import lengths, up_to_twice_as_many
from corpus.inputs import DYNAMIC, floats, size_of_call

#: Torch takes a size of one for one that never varies.
FEW = (2, 8)


class Cell(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, states: Sequence[torch.Tensor]) -> torch.Tensor:
        hidden, kept = states
        return torch.relu(x * 2 - hidden) + kept


def _of_states(
    container: Callable[[Iterable[torch.Tensor]], Any], model: torch.nn.Module
) -> Program:
    def inputs(generator: torch.Generator, _: int | None) -> Inputs:
        x, *states = (torch.randn(2, 8, generator=generator) for _ in range(3))
        return Inputs((x,), {"states": container(states)})

    return Program(inputs, model=model)


@case(
    Family.INTERFACES,
    catches="a module with a list by keyword, which is left out when the module is exported",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_list_by_keyword() -> Program:
    return _of_states(list, Cell())


@case(
    Family.INTERFACES,
    catches="a module with a tuple by keyword, of which its export makes a list",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_tuple_by_keyword() -> Program:
    return _of_states(tuple, Cell())


class TwoLengths(torch.nn.Module):
    """Adds up two lists of rows of their own lengths."""

    def forward(self, few: torch.Tensor, many: torch.Tensor) -> torch.Tensor:
        return torch.relu(few * 2).sum(0) - torch.relu(many - 1).sum(0)


@case(
    Family.INTERFACES,
    catches="two inputs whose sizes vary within one range, each on its own: taken for one size",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_two_sizes_of_one_range() -> Program:
    few, many = (torch.export.Dim(name, min=BOUNDS[0], max=BOUNDS[1]) for name in ("few", "many"))
    return Program(
        floats((DYNAMIC, 8), (DYNAMIC, 8)),
        model=TwoLengths(),
        dynamic_shapes={"few": {0: few}, "many": {0: many}},
        bounds=BOUNDS,
    )


def _in_order(generator: torch.Generator, size: int | None) -> Inputs:
    given = up_to_twice_as_many(generator, size).kwargs
    return Inputs((given["a"], given["b"]))


@case(
    Family.INTERFACES,
    catches="two inputs whose sizes vary within ranges of their own",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_two_ranges() -> Program:
    dims = lengths()
    return Program(
        _in_order,
        model=TwoLengths(),
        dynamic_shapes={"few": dims["a"], "many": dims["b"]},
        bounds=BOUNDS,
        ranges=(BOUNDS, (BOUNDS[0], 2 * BOUNDS[1])),
    )


class NamedSizes(torch.nn.Module):
    """Two tables of as many rows, and a third one of another length."""

    def forward(self, left: torch.Tensor, right: torch.Tensor, many: torch.Tensor) -> torch.Tensor:
        return torch.relu(left * 2 - right).sum(0) - torch.relu(many - 1).sum(0)


def _named(generator: torch.Generator, size: int | None) -> Inputs:
    few, many = _in_order(generator, size).args
    return Inputs((few, torch.randn(few.shape, generator=generator), many))


@case(
    Family.INTERFACES,
    catches="sizes that are named, of which one belongs to two inputs and the other to a third",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_named_sizes() -> Program:
    dims = lengths()
    return Program(
        _named,
        model=NamedSizes(),
        dynamic_shapes={"left": dims["a"], "right": dims["a"], "many": dims["b"]},
        bounds=BOUNDS,
        ranges=(BOUNDS, (BOUNDS[0], 2 * BOUNDS[1])),
        names_sizes=True,
    )


class Tokens(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.Embedding(16, 8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.rows(tokens)) * 2


def _of_tokens(bounds: tuple[int, int], example: int) -> Program:
    """Tokens in a number of rows that varies within bounds, and is ``example`` as a rule."""

    def inputs(generator: torch.Generator, size: int | None) -> Inputs:
        rows = size_of_call(size, bounds, example)
        return Inputs((torch.randint(16, (rows, 4), generator=generator),))

    rows = torch.export.Dim("rows", min=bounds[0], max=bounds[1])
    shapes = {"tokens": {0: rows}}
    return Program(inputs, model=Tokens(), dynamic_shapes=shapes, bounds=bounds)


@case(
    Family.INTERFACES,
    catches="whole numbers whose usual size is the largest one: taken for a size that never varies",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_the_largest_size() -> Program:
    return _of_tokens(BOUNDS, example=BOUNDS[1])


@case(
    Family.INTERFACES,
    catches="a usual size that is the smallest one: taken for a size that never varies",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_the_smallest_size() -> Program:
    return _of_tokens(FEW, example=FEW[0])


class Flagged(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, doubled: bool = True) -> torch.Tensor:
        return torch.relu(x - 1) * 2 if doubled else torch.relu(x + 1)


def _with_flag(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, generator=generator),), {"doubled": False})


@case(
    Family.INTERFACES,
    catches="a flag by keyword, of which a tensor is made before the module is exported",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_flag() -> Program:
    return Program(_with_flag, model=Flagged())


class Best(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: int) -> torch.Tensor:
        return torch.topk(torch.relu(x * 2), count)[0] + 1


@case(
    Family.INTERFACES,
    catches="a whole number that is a size: a tensor is made of it before the module is exported",
    fallback=["aten.topk.default"],
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_count() -> Program:
    def inputs(generator: torch.Generator, _: int | None) -> Inputs:
        return Inputs((torch.randn(2, 8, generator=generator), 3))

    return Program(inputs, model=Best())


class AnyNumber(torch.nn.Module):
    def forward(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.relu(xs[0] + 1) * xs[1]


@case(
    Family.INTERFACES,
    catches="a module that takes any number of inputs (*xs)",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_any_number_of_inputs() -> Program:
    return Program(floats((2, 8), (2, 8)), model=AnyNumber())


class Paired(torch.nn.Module):
    def forward(self, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return torch.relu(pair[0] + 1) * pair[1]


def _pair(generator: torch.Generator, _: int | None) -> Inputs:
    pair: Any = tuple(torch.randn(2, 8, generator=generator) for _ in range(2))
    return Inputs((pair,))


@case(
    Family.INTERFACES,
    catches="a module that takes a tuple of tensors as one input",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_pair() -> Program:
    return Program(_pair, model=Paired())


class States(NamedTuple):
    hidden: torch.Tensor
    kept: torch.Tensor


class NamedCell(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, states: States) -> torch.Tensor:
        return torch.relu(x * 2 - states.hidden) + states.kept


@case(
    Family.INTERFACES,
    catches="a named tuple by keyword, whose names are gone when the module is exported",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_a_named_tuple() -> Program:
    return _of_states(States._make, NamedCell())


class Masked(torch.nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        y = torch.relu(x + 1) * 2
        return y if mask is None else y * mask


def _without_a_mask(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, generator=generator),), {"mask": None})


@case(
    Family.INTERFACES,
    catches="None by keyword, as a mask that is left out is given",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def module_given_none_by_keyword() -> Program:
    return Program(_without_a_mask, model=Masked())
