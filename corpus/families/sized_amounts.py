"""Amounts that are sizes: how often something is repeated, and how much is padded.

What a converter or a lowering pass takes for a number is a node, or a tensor of TensorRT, where the
size varies. They are for the package lane alone: the graph lane knows neither.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import DYNAMIC, floats


class ClassToken(torch.nn.Module):
    """A learned token in front of every sequence, as vision transformers have it."""

    def __init__(self) -> None:
        super().__init__()
        self.token = torch.nn.Parameter(torch.randn(1, 1, 8))
        self.project = torch.nn.Linear(8, 8)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        tokens = self.token.repeat(patches.shape[0], 1, 1)
        return torch.relu(self.project(torch.cat([tokens, patches], 1))) + 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="a weight that is repeated as often as the batch is long: a number times a tensor",
    fallback=[RELU],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=("package",),
)
def token_repeated_for_each_of_a_batch() -> Program:
    shapes = ({0: torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])},)
    return Program(
        floats((DYNAMIC, 3, 8)), model=ClassToken(), dynamic_shapes=shapes, bounds=BOUNDS
    )


class PaddedByItsWidth(torch.nn.Module):
    """An image of any width, with as much again to its right."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(image, (0, image.shape[-1], 1, 1))
        return torch.relu(self.conv(padded)) + 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="a padding whose amount is a size, in front of a convolution that takes it over",
    fallback=[RELU],
    eager_tolerance=1e-5,
    dynamic=True,
    lanes=("package",),
)
def image_padded_by_its_width() -> Program:
    shapes = ({3: torch.export.Dim("width", min=4, max=16)},)
    return Program(
        floats((1, 3, 8, DYNAMIC)),
        model=PaddedByItsWidth(),
        dynamic_shapes=shapes,
        bounds=(4, 16),
    )


class Appended(torch.nn.Module):
    """A window that moves on by as many rows as there are new ones."""

    def forward(self, window: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        moved = torch.cat([window[:, new.shape[1] :], new], 1)
        moved[:, -new.shape[1] :] = new * 2
        return torch.relu(moved) + 1


@case(
    Family.DYNAMIC_SHAPES,
    catches="rows that are written from the end on, as many as a size says",
    fallback=[RELU],
    dynamic=True,
    lanes=("package",),
)
def last_rows_written() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats((2, 2 * BOUNDS[1], 4), (2, DYNAMIC, 4)),
        model=Appended(),
        dynamic_shapes=({}, {1: rows}),
        bounds=BOUNDS,
    )


class LastFrames(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        wanted = count.item()
        torch._check(wanted >= 1)
        torch._check(wanted <= 64)
        return torch.relu(x[:, -wanted:] * 2) + 1


def _more_than_there_are(generator: torch.Generator, _: int | None) -> Inputs:
    rows = torch.randn(2, 8, 4, generator=generator)
    return Inputs((rows, torch.randint(9, 16, (), generator=generator)))


@case(
    Family.DYNAMIC_SHAPES,
    catches="the last 9 to 15 of 8 rows, which are all 8, counted from the end once more",
    fallback=[RELU, "aten.item.default", "aten._local_scalar_dense.default"],
    lanes=("package",),
)
def more_than_all_rows_from_the_end() -> Program:
    return Program(_more_than_there_are, model=LastFrames())


class FramesOrNone(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        wanted = count.item()
        torch._check(wanted >= 0)
        torch._check(wanted <= 64)
        return torch.relu(x[:, -wanted:] * 2) + 1


def _none_of_them(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, 4, generator=generator), torch.tensor(0)))


@case(
    Family.DYNAMIC_SHAPES,
    catches="the rows from the last none on, which are all, counted from the end",
    fallback=[RELU, "aten.item.default", "aten._local_scalar_dense.default"],
    lanes=("package",),
)
def rows_from_the_last_none_on() -> Program:
    return Program(_none_of_them, model=FramesOrNone())


class FramesCutOff(torch.nn.Module):
    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        cut = count.item()
        torch._check(cut >= 0)
        torch._check(cut <= 8)
        return torch.relu(x[:, :-cut] * 2) + 1


def _some_of_them(generator: torch.Generator, _: int | None) -> Inputs:
    rows = torch.randn(2, 8, 4, generator=generator)
    return Inputs((rows, torch.randint(1, 5, (), generator=generator)))


@case(
    Family.DYNAMIC_SHAPES,
    catches="rows cut off the end, of which there may be none as far as the compiler knows",
    fallback=[RELU, "aten.item.default", "aten._local_scalar_dense.default"],
    lanes=("package",),
)
def rows_cut_off_the_end() -> Program:
    return Program(_some_of_them, model=FramesCutOff())
