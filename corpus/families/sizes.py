"""Numbers and sizes that cross an engine's boundary, in either direction.

An engine takes and gives tensors. A size or a number that another piece reads has to be made a
tensor, or an integer again, on the way; and a size that depends on data has a symbol that no
input's shape tells.
"""

from __future__ import annotations

from typing import cast

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, dynamic_size, floats

# As export names the op, and as the package's lowering does.
ARANGE = ("aten.arange.default", "aten.arange.start_step")
HALVES = (2, 8)  # of a dimension that is twice as long
ITEM = ("aten.item.default", "aten._local_scalar_dense.default")


class Positions(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2 + 1
        return y + torch.arange(y.shape[0]).unsqueeze(1)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that an engine gives to an op in PyTorch, which wants a number",
    fallback=ARANGE,
    wiring=True,
    dynamic=True,
)
def size_out_of_an_engine() -> Program:
    return Program(floats((DYNAMIC, 8)), model=Positions(), dynamic_shapes=batch(), bounds=BOUNDS)


def _even_rows(generator: torch.Generator, size: int | None) -> Inputs:
    return Inputs((torch.randn(2 * dynamic_size(size), 8, generator=generator),))


def _even_rows_shapes() -> tuple[dict[int, torch.export.Dim], ...]:
    return ({0: 2 * torch.export.Dim("pairs", min=HALVES[0], max=HALVES[1])},)


class FirstHalf(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[0] // 2
        return (x * 2 - 1).narrow(0, 0, half) + half


@case(
    Family.DYNAMIC_SHAPES,
    catches="half of a size, computed in an engine and read by a slice in PyTorch",
    fallback=["aten.narrow.default", "aten.slice.Tensor"],
    wiring=True,
    dynamic=True,
)
def half_of_a_size_out() -> Program:
    shapes = _even_rows_shapes()
    return Program(_even_rows, model=FirstHalf(), dynamic_shapes=shapes, bounds=HALVES)


class Folded(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[0] // 2
        return torch.relu(x + 1).reshape(half, 16) * half


@case(
    Family.DYNAMIC_SHAPES,
    catches="half of a size, computed in PyTorch: an engine reshapes to it and multiplies by it",
    fallback=[RELU, "_operator.floordiv", "aten.sym_size.int"],
    wiring=True,
    dynamic=True,
)
def half_of_a_size_into_an_engine() -> Program:
    shapes = _even_rows_shapes()
    return Program(_even_rows, model=Folded(), dynamic_shapes=shapes, bounds=HALVES)


class FewPositions(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = torch.sym_min(x.shape[0] - 1, 3) + 1
        return (x * 2 - 1).sum(0) * torch.arange(rows).unsqueeze(1)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that is no multiple of another, from PyTorch through an engine and back",
    fallback=ARANGE,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def smaller_of_two_sizes() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=FewPositions(), dynamic_shapes=batch(), bounds=BOUNDS
    )


class Enlarged(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        larger = torch.nn.functional.interpolate(x * 2 - 1, scale_factor=1.5)
        return torch.relu(larger).sum(-1) + larger.shape[-1]


@case(
    Family.DYNAMIC_SHAPES,
    catches="a length that is one and a half times another, cut to a whole number",
    fallback=[RELU],
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def one_and_a_half_times_as_long() -> Program:
    shapes = ({2: torch.export.Dim("length", min=BOUNDS[0], max=BOUNDS[1])},)
    return Program(floats((2, 4, DYNAMIC)), model=Enlarged(), dynamic_shapes=shapes, bounds=BOUNDS)


class SizeReturned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, int]:
        return torch.relu(x + 1) * 2, x.shape[0], x.shape[0] * 2 - 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size, and a number computed from it, that the model returns beside a tensor",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def sizes_returned() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=SizeReturned(), dynamic_shapes=batch(), bounds=BOUNDS
    )


def _with_half_as_many(generator: torch.Generator, size: int | None) -> Inputs:
    pairs = dynamic_size(size)
    x, like = (torch.randn(rows, 4, generator=generator) for rows in (2 * pairs, pairs))
    return Inputs((x, like))


class LikeAnother(torch.nn.Module):
    def forward(self, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1).reshape(like.shape[0], -1) * 3


@case(
    Family.DYNAMIC_SHAPES,
    catches="an input that is read for its size alone, behind a fallback",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def size_of_an_input_that_is_not_read() -> Program:
    pairs = torch.export.Dim("pairs", min=HALVES[0], max=HALVES[1])
    return Program(
        _with_half_as_many,
        model=LikeAnother(),
        dynamic_shapes=({0: 2 * pairs}, {0: pairs}),
        bounds=HALVES,
    )


class TimesItem(torch.nn.Module):
    def forward(self, x: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * times.item() - 1


def _with_count(generator: torch.Generator, _: int | None) -> Inputs:
    count = torch.randint(2, 7, (), generator=generator)
    return Inputs((torch.randn(8, 4, generator=generator), count))


def _with_float(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(8, 4, generator=generator), torch.rand((), generator=generator)))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a whole number that `.item()` reads in PyTorch and an engine multiplies by",
    fallback=[RELU, *ITEM],
    wiring=True,
)
def item_into_an_engine() -> Program:
    return Program(_with_count, model=TimesItem())


@case(
    Family.DYNAMIC_SHAPES,
    catches="a fraction that `.item()` reads in PyTorch, cut to a whole number on its way in",
    fallback=[RELU, *ITEM],
    wiring=True,
)
def fraction_into_an_engine() -> Program:
    return Program(_with_float, model=TimesItem())


class TimesPlaceOfTheLargest(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positive = torch.relu(x + 1)
        return (positive - 1) * torch.argmax(positive).item()


@case(
    Family.DYNAMIC_SHAPES,
    catches="a whole number that a fallback gives an engine beside a tensor, as one of its outputs",
    fallback=[RELU, "aten.argmax.default", *ITEM],
    wiring=True,
)
def item_beside_a_tensor_into_an_engine() -> Program:
    return Program(floats((4, 8)), model=TimesPlaceOfTheLargest())


class UpToItem(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        rows = cast(int, count.item())
        torch._check(rows >= 1)
        torch._check(rows <= 8)
        return torch.relu((x + 1).narrow(0, 0, rows)) * 2  # type: ignore[arg-type]


@case(
    Family.DYNAMIC_SHAPES,
    catches="as many rows as `.item()` says: an output's size that no input's shape tells",
    fallback=[RELU, *ITEM],
    wiring=True,
)
def rows_by_item() -> Program:
    return Program(_with_count, model=UpToItem())


class Masked(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2)[x > 0] * 3 + 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="what a mask selects in PyTorch, of a size that depends on the numbers, into an engine",
    fallback=["aten.index.Tensor"],
    wiring=True,
)
def masked_into_an_engine() -> Program:
    return Program(floats((4, 8)), model=Masked())


class NonzeroThenRelu(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.nonzero(x > 0)
        return torch.relu(found - 1) + found * 2


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that depends on the numbers out of an engine, read by fallback and engine",
    fallback=[RELU],
    wiring=True,
)
def nonzero_out_of_an_engine() -> Program:
    return Program(floats((4, 8)), model=NonzeroThenRelu())


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that depends on the numbers out of an engine, beside a batch that varies",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,  # where a release makes the sizes of an engine's outputs
)
def nonzero_of_a_dynamic_batch() -> Program:
    return Program(
        floats((DYNAMIC, 8)), model=NonzeroThenRelu(), dynamic_shapes=batch(), bounds=BOUNDS
    )


class RowsInARow(torch.nn.Module):
    """The rows of all samples behind each other, each sample's followed by one that repeats."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        samples, rows = x.shape[0], x.shape[1]
        both = torch.cat([x * 2, y[:, None].expand(samples, rows, 4)], 1)
        return torch.relu(both).reshape(samples * 2 * rows, 4)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size that is a product of two, one of which an engine gets as a multiple alone",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,  # where a release makes the sizes of an engine's outputs
)
def product_of_two_sizes() -> Program:
    samples, rows = (torch.export.Dim(name, min=2, max=BOUNDS[1]) for name in ("samples", "rows"))
    return Program(
        floats((DYNAMIC, DYNAMIC, 4), (DYNAMIC, 4)),
        model=RowsInARow(),
        dynamic_shapes=({0: samples, 1: rows}, {0: samples}),
        bounds=(2, BOUNDS[1]),
    )


class FewOrMore(torch.nn.Module):
    """What a mask selects, of which the model says how many there are."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x[x > 0]
        torch._check(kept.shape[0] >= 16)
        torch._check(kept.shape[0] <= 20)
        return torch.sin(kept * 2)


def _mostly_positive(generator: torch.Generator, _: int | None) -> Inputs:
    x = torch.rand(20, generator=generator) + 0.1
    return Inputs((torch.cat([x[:17], -x[17:]]),))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a size by data whose bounds are near each other: a usual size beyond the largest",
    fallback=["aten.nonzero.default", "aten.index.Tensor"],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,  # where a release makes the profiles of engines
)
def selected_of_a_stated_number() -> Program:
    return Program(_mostly_positive, model=FewOrMore())


class CountOfNonzero(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.nonzero(x > 0)
        return torch.relu(x + 1) * found.shape[0] - 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="how many were found: a size of what one piece found that another one multiplies by",
    fallback=[RELU, "aten.nonzero.default"],
    wiring=True,
)
def count_of_nonzero() -> Program:
    return Program(floats((4, 8)), model=CountOfNonzero())
