"""Parts of a tensor that are written: `x[:, 1:] = y`, and what `torch.export` makes of it.

Export makes such a write functional: `slice_scatter`, `select_scatter` or `index_copy` returns a
new tensor, and what was there before stays as it was. Up to 2.13.0 lowering makes a scatter of it.
2.14.0 has converters of its own, which take some of them for the update of a KV cache and let the
engine write into the tensor that it was given. Real converters decide that, so that TensorRT-RTX
builds these cases as well (`corpus.selection.REAL_ENGINES`). They are for the package lane alone:
what goes wrong here goes wrong before any inliner.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.inputs import floats

RELU = "aten.relu.default"
PACKAGE_ALONE = ("package",)
CACHE = (1, 2, 8, 4)  # batch, heads, positions, width, as TensorRT's layer for caches has them
ROWS = (1, 2, 2, 4)


class Painted(torch.nn.Module):
    """An image with a band painted over; the caller's image is cloned first."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, image: torch.Tensor, band: torch.Tensor) -> torch.Tensor:
        painted = image.clone()
        painted[:, :, 2:4] = band * 0.5
        return torch.relu(self.conv(painted)) + 1


@case(
    Family.SLICE_WRITES,
    catches="a clone of an input that is written to: the caller's own tensor is overwritten",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def band_painted_over_a_cloned_image() -> Program:
    return Program(floats((1, 3, 8, 8), (1, 3, 2, 8)), model=Painted())


class Scattered(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.slice_scatter(x, rows * 2, 2, 2, 4)) + 1


@case(
    Family.SLICE_WRITES,
    catches="a slice_scatter of an input: the caller's tensor is overwritten",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def rows_scattered_into_an_input() -> Program:
    return Program(floats(CACHE, ROWS), model=Scattered())


class Copied(torch.nn.Module):
    def forward(self, x: torch.Tensor, row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.index_copy(x, 2, position, row * 2)) + 1


def _with_position(generator: torch.Generator, _: int | None) -> Inputs:
    x, row = torch.randn(CACHE, generator=generator), torch.randn(1, 2, 1, 4, generator=generator)
    return Inputs((x, row, torch.randint(8, (1,), generator=generator)))


@case(
    Family.SLICE_WRITES,
    catches="an index_copy of an input: the caller's tensor is overwritten",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def row_copied_into_an_input() -> Program:
    return Program(_with_position, model=Copied())


class CopiedIntoAClone(torch.nn.Module):
    def forward(self, x: torch.Tensor, row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.index_copy(x.clone(), 2, position, row * 2)) + 1


@case(
    Family.SLICE_WRITES,
    catches="an index_copy of a clone: the caller's tensor is overwritten as by a slice_scatter",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def row_copied_into_a_cloned_input() -> Program:
    return Program(_with_position, model=CopiedIntoAClone())


class Residual(torch.nn.Module):
    """Half of a feature map's rows are gated, and the map as it was is added to the result."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.gate = torch.nn.Conv2d(4, 4, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        features = torch.relu(self.stem(image))
        mixed = features.clone()
        mixed[:, :, :4] = self.gate(features[:, :, :4]) * 2
        return torch.relu(mixed) + features


@case(
    Family.SLICE_WRITES,
    catches="a value that is written to after a clone, and read later as it was: wrong numbers",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def residual_around_gated_rows() -> Program:
    return Program(floats((1, 3, 8, 8)), model=Residual())


class HandedOn(torch.nn.Module):
    """A decoder's step that takes the cache and returns the next one, and writes to nothing."""

    def forward(self, x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        updated = cache.clone()
        updated[:, :, 2:4] = x * 2
        return torch.relu(updated.sum(2)) + 1, updated


@case(
    Family.SLICE_WRITES,
    catches="a cache that is handed in and out: the updated one is taken for a side effect",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def cache_handed_in_and_out() -> Program:
    return Program(floats(ROWS, CACHE), model=HandedOn())


class EverySecond(torch.nn.Module):
    keys: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.randn(CACHE))
        self.project = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.keys[:, :, 0:8:2] = self.project(x)
        return torch.relu(self.keys * 2) + 1


@case(
    Family.SLICE_WRITES,
    catches="every second position of a cache is written: the rows land one behind the other",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_written_with_a_step() -> Program:
    return Program(floats((1, 2, 4, 4)), model=EverySecond())


class AtPositions(torch.nn.Module):
    """A cache of a batch of one that the caller owns, written where an index tensor says."""

    def forward(
        self, x: torch.Tensor, cache: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        updated = cache * 1.5
        updated[:, :, positions] = x * 2
        return torch.relu(updated) + 1


def _with_positions(generator: torch.Generator, _: int | None) -> Inputs:
    x, cache = (torch.randn(shape, generator=generator) for shape in (ROWS, CACHE))
    return Inputs((x, cache, torch.randperm(8, generator=generator)[:2]))


@case(
    Family.SLICE_WRITES,
    catches="positions of a tensor that an index tensor says: what is written is put in order",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def positions_written_by_an_index() -> Program:
    return Program(_with_positions, model=AtPositions())


class EverySecondRow(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.slice_scatter(x, rows * 2, 2, 0, 8, 2)) + 1


@case(
    Family.SLICE_WRITES,
    catches="a slice_scatter with a step: the rows land one behind the other",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def every_second_row_scattered() -> Program:
    return Program(floats(CACHE, (1, 2, 4, 4)), model=EverySecondRow())


class ToTheEnd(torch.nn.Module):
    def forward(self, x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        out = x * 2
        out[:, 1:] = columns
        return torch.relu(out) + 1


@case(
    Family.SLICE_WRITES,
    catches="a slice without an end is written: its end is taken as 2**63 - 1",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def columns_written_to_the_end() -> Program:
    return Program(floats((2, 8), (2, 7)), model=ToTheEnd())


class Shifted(torch.nn.Module):
    """A window over the newest columns, as streaming models keep it."""

    window: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.randn(2, 8))

    def forward(self, newest: torch.Tensor) -> torch.Tensor:
        self.window[:, :-1] = self.window[:, 1:].clone()
        self.window[:, -1:] = newest
        return torch.relu(self.window * 2) + 1


@case(
    Family.SLICE_WRITES,
    catches="a window that is shifted by slices at each call",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
    state=True,
)
def window_shifted_at_each_call() -> Program:
    return Program(floats((2, 1)), model=Shifted())


class Zeroed(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x * 2
        out[:, 2:4] = 0.0
        return torch.relu(out) + 1


@case(
    Family.SLICE_WRITES,
    catches="a number is written to a slice: it is not expanded to the slice's shape",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def columns_set_to_a_number() -> Program:
    return Program(floats((2, 8)), model=Zeroed())


class LastSelected(torch.nn.Module):
    def forward(self, x: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        out = x * 2
        out[:, -1] = column
        return torch.relu(out) + 1


@case(
    Family.SLICE_WRITES,
    catches="the last column is written by its index -1: the slice from -1 to 0 is empty",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def last_column_written() -> Program:
    return Program(floats((2, 8), (2,)), model=LastSelected())


def _whole_numbers(generator: torch.Generator, _: int | None) -> Inputs:
    x, rows = (torch.randint(9, shape, generator=generator) for shape in (CACHE, ROWS))
    return Inputs((x, rows))


@case(
    Family.SLICE_WRITES,
    catches="integers that are written to a slice: TensorRT's layer for caches takes floats alone",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def integers_scattered_into_an_input() -> Program:
    return Program(_whole_numbers, model=Scattered())


class ScatteredTwice(torch.nn.Module):
    def forward(self, x: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        early = torch.slice_scatter(x, one * 2, 2, 0, 2)
        late = torch.slice_scatter(x, other * 2, 2, 4, 6)
        return torch.relu(early * late) + 1


@case(
    Family.SLICE_WRITES,
    catches="one input that two slice_scatters start from: both would write into it",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def input_scattered_twice() -> Program:
    return Program(floats(CACHE, ROWS, ROWS), model=ScatteredTwice())


class ByNegativeDimension(torch.nn.Module):
    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.slice_scatter(x, rows * 2, -2, 2, 4)) + 1


@case(
    Family.SLICE_WRITES,
    catches="a dimension that is counted from the end: the index tensor gets another shape",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def rows_scattered_by_a_negative_dimension() -> Program:
    return Program(floats(CACHE, ROWS), model=ByNegativeDimension())


class BesideAPair(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 8))

    def forward(self, x: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        self.total.add_(pair[1])
        return torch.relu(x + pair[0]) * self.total


def _pair(generator: torch.Generator, _: int | None) -> Inputs:
    x, one, other = (torch.randn(2, 8, generator=generator) for _ in range(3))
    return Inputs((x, (one, other)))


@case(
    Family.CACHES,
    catches="a buffer that is written by a model that takes a pair: the pair is never unpacked",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
    state=True,
)
def buffer_written_beside_a_pair() -> Program:
    return Program(_pair, model=BesideAPair())


class ReplacedWhole(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.slice_scatter(x * 2, torch.relu(y)) + 1


@case(
    Family.SLICE_WRITES,
    catches="a slice_scatter that leaves out the dimension, which lowering takes for granted",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
)
def slice_scatter_without_a_dimension() -> Program:
    return Program(floats((2, 8), (2, 8)), model=ReplacedWhole())
