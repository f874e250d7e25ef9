"""Ranges of sizes that are given for keywords, to `compile` and to `save`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import DYNAMIC, dynamic_size, keyword_floats


def with_ranges(given: Inputs) -> Inputs:
    """The same, each tensor by the range of its batch, as `compile` takes it.

    From 2.13.0 on an `Input` may say by a name that its batch is that of the others.
    """
    package: Any = importlib.import_module("torch_tensorrt")
    shared = hasattr(package.Input, "shared_dims")
    return _described(given, {"shared_dims": {0: "rows"}} if shared else {})


def with_ranges_of_their_own(given: Inputs) -> Inputs:
    """The same, where no `Input` says that its batch is that of the others."""
    return _described(given, {})


def _described(given: Inputs, named: dict[str, Any]) -> Inputs:
    package: Any = importlib.import_module("torch_tensorrt")

    def described(tensor: torch.Tensor) -> Any:
        low, high = ((size, *tensor.shape[1:]) for size in BOUNDS)
        opt = tuple(tensor.shape)
        return package.Input(min_shape=low, opt_shape=opt, max_shape=high, **named)

    return Inputs(*pytree.tree_map(described, (given.args, dict(given.kwargs))))


class Gate(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, gate: torch.Tensor) -> torch.Tensor:
        return torch.relu(gate + 1) * x


def _gated(given_to_save: Callable[[Inputs], Inputs]) -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        keyword_floats([(DYNAMIC, 8)], gate=(DYNAMIC, 8)),
        model=Gate(),
        dynamic_shapes={"x": {0: rows}, "gate": {0: rows}},
        bounds=BOUNDS,
        given_to_save=given_to_save,
    )


@case(
    Family.INTERFACES,
    catches="ranges that `save` is given as `Input`s, of which it forgets those of keywords",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,  # where `save` reads ranges
)
def ranges_given_to_save() -> Program:
    return _gated(with_ranges)


@case(
    Family.INTERFACES,
    catches="dynamic shapes that `save` is given beside `Input`s, which say less, and win",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def ranges_given_to_save_beside_shapes() -> Program:
    return _gated(with_ranges_of_their_own)


class GateInADictionary(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, given: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.relu(given["gate"] + 1) * x


def _in_a_dictionary(generator: torch.Generator, size: int | None) -> Inputs:
    x, gate = (torch.randn(dynamic_size(size), 8, generator=generator) for _ in range(2))
    return Inputs((x,), {"given": {"gate": gate}})


@case(
    Family.INTERFACES,
    catches="a range in a dictionary that `save` is given as `Input`s, taken for another size",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def ranges_in_a_dictionary_given_to_save() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _in_a_dictionary,
        model=GateInADictionary(),
        dynamic_shapes={"x": {0: rows}, "given": {"gate": {0: rows}}},
        bounds=BOUNDS,
        given_to_save=with_ranges_of_their_own,
    )


class Sums(torch.nn.Module):
    """Adds up two lists of rows of their own lengths."""

    def forward(self, x: torch.Tensor, *, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) + (a * 2).sum(0) - (b * 3).sum(0)


def lengths() -> dict[str, Any]:
    few = torch.export.Dim("few", min=BOUNDS[0], max=BOUNDS[1])
    many = torch.export.Dim("many", min=BOUNDS[0], max=2 * BOUNDS[1])
    return {"x": None, "a": {0: few}, "b": {0: many}}


def up_to_twice_as_many(generator: torch.Generator, size: int | None) -> Inputs:
    few = dynamic_size(size)
    many = 2 * few if few >= BOUNDS[1] else few
    a, b = (torch.randn(rows, 8, generator=generator) for rows in (few, many))
    return Inputs((torch.randn(2, 8, generator=generator),), {"b": b, "a": a})


def exported_in_order(program: ExportedProgram) -> ExportedProgram:
    """The model exported anew, with its keywords in the order of the signature."""
    assert program.example_inputs is not None
    args, kwargs = program.example_inputs
    ordered = dict(sorted(kwargs.items()))
    return torch.export.export(Sums(), args, ordered, dynamic_shapes=lengths())


@case(
    Family.INTERFACES,
    catches="ranges that `compile` is given in another order of keywords than the program has",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,  # where `compile` reads ranges
)
def ranges_of_keywords_in_another_order() -> Program:
    return Program(
        up_to_twice_as_many,
        model=Sums(),
        dynamic_shapes=lengths(),
        bounds=BOUNDS,
        ranges=(BOUNDS, (BOUNDS[0], 2 * BOUNDS[1])),
        before_compile=exported_in_order,
    )


class Masked(torch.nn.Module):
    def forward(self, *, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * mask


@case(
    Family.INTERFACES,
    catches="ranges of a model that takes keywords alone: left out, and the program is static",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def ranges_of_keywords_alone() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        keyword_floats([], x=(DYNAMIC, 8), mask=(DYNAMIC, 8)),
        model=Masked(),
        dynamic_shapes={"x": {0: rows}, "mask": {0: rows}},
        bounds=BOUNDS,
    )
