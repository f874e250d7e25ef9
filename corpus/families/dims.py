"""Dynamic dimensions as users state them: without an upper bound, shared, derived, by keyword."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU, Alternating
from corpus.families.dynamic_shapes import BOUNDS, TwoInputs
from corpus.inputs import DYNAMIC, dynamic_size, floats, keyword_floats


@case(
    Family.DYNAMIC_SHAPES,
    catches="a Dim without an upper bound, which gets one from the example or from the engine",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_without_a_bound() -> Program:
    return Program(
        floats((DYNAMIC, 8)),
        model=Alternating(2),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        bounds=(2, BOUNDS[1]),
        unbounded=True,
    )


@case(
    Family.DYNAMIC_SHAPES,
    catches="a dimension that export finds itself (Dim.AUTO): static once the program is saved",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_found_by_export() -> Program:
    found = torch.export.Dim.AUTO
    return Program(
        floats((DYNAMIC, 8), (DYNAMIC, 8)),
        model=TwoInputs(),
        dynamic_shapes=({0: found}, {0: found}),
        bounds=(2, BOUNDS[1]),
        unbounded=True,
    )


class RowsAndColumns(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.matmul(torch.relu(x * 2), y) + torch.relu(x - 1).sum(-1)


@case(
    Family.DYNAMIC_SHAPES,
    catches="one Dim that is rows of one input and columns of another, taken for two",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_of_rows_and_columns() -> Program:
    length = torch.export.Dim("length", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats((DYNAMIC, 8), (8, DYNAMIC)),
        model=RowsAndColumns(),
        dynamic_shapes=({0: length}, {1: length}),
        bounds=BOUNDS,
    )


class PastAndNext(torch.nn.Module):
    def forward(self, past: torch.Tensor, mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        seen = torch.cat([torch.relu(past * 2), x])
        return torch.relu(seen * mask + 1) - 3


def _past_and_next(generator: torch.Generator, size: int | None) -> Inputs:
    past = dynamic_size(size)
    shapes = (past, 8), (past + 1, 8), (1, 8)
    return Inputs(tuple(torch.randn(shape, generator=generator) for shape in shapes))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a mask of past + 1 rows beside a past of any: the relation of the two is lost",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_of_one_more() -> Program:
    past = torch.export.Dim("past", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _past_and_next,
        model=PastAndNext(),
        dynamic_shapes=({0: past}, {0: past + 1}, None),
        bounds=BOUNDS,
    )


class Pairs(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = (x + 1).reshape(-1, 2, 8)
        return torch.relu(pairs[:, 0] * 2) - pairs[:, 1]


def _even(generator: torch.Generator, size: int | None) -> Inputs:
    return Inputs((torch.randn(2 * dynamic_size(size), 8, generator=generator),))


@case(
    Family.DYNAMIC_SHAPES,
    catches="a dimension that is a multiple of two (2 * Dim) and no input's own, read in halves",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_that_is_even() -> Program:
    half = torch.export.Dim("half", min=BOUNDS[0], max=BOUNDS[1])
    return Program(_even, model=Pairs(), dynamic_shapes=({0: 2 * half},), bounds=BOUNDS)


class ByKeyword(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, mask: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * mask) * scale - mask


def _masked(generator: torch.Generator, size: int | None) -> Inputs:
    x, mask = (torch.randn(dynamic_size(size), 8, generator=generator) for _ in range(2))
    return Inputs((x,), {"scale": torch.randn(8, generator=generator), "mask": mask})


@case(
    Family.DYNAMIC_SHAPES,
    catches="dynamic_shapes as a dictionary of names, of which keywords come in another order",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_by_keyword() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _masked,
        model=ByKeyword(),
        dynamic_shapes={"x": {0: rows}, "mask": {0: rows}, "scale": None},
        bounds=BOUNDS,
    )


def _compiled_and_saved() -> tuple[torch.export.Dim, torch.export.Dim]:
    """A Dim of what is compiled, and a narrower one of what is saved."""
    compiled = torch.export.Dim("rows", min=2, max=2 * BOUNDS[1])
    return compiled, torch.export.Dim("rows_saved", min=2, max=BOUNDS[1])


@case(
    Family.DYNAMIC_SHAPES,
    catches="dynamic shapes for save that are narrower than those that were compiled: forgotten",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_saved_for_fewer_rows() -> Program:
    compiled, saved = _compiled_and_saved()
    return Program(
        floats((DYNAMIC, 8)),
        model=Alternating(2),
        dynamic_shapes=({0: compiled},),
        shapes_for_save=({0: saved},),
        bounds=(2, BOUNDS[1]),
        ranges=((2, 2 * BOUNDS[1]),),
    )


class KeywordsAlone(torch.nn.Module):
    def forward(self, *, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * scale) - x


@case(
    Family.DYNAMIC_SHAPES,
    catches="narrower dynamic shapes for save of a model that takes keywords alone: forgotten",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def dimension_saved_for_fewer_by_keyword() -> Program:
    compiled, saved = _compiled_and_saved()
    return Program(
        keyword_floats((), x=(DYNAMIC, 8), scale=(8,)),
        model=KeywordsAlone(),
        dynamic_shapes={"x": {0: compiled}, "scale": None},
        shapes_for_save={"x": {0: saved}, "scale": None},
        bounds=(2, BOUNDS[1]),
        ranges=((2, 2 * BOUNDS[1]),),
    )
