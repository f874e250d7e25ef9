"""Ranges of sizes that the program leaves open, so that the `Input`s alone state them.

With `Dim.DYNAMIC` a user gives `compile` the range of a size, and no one else does: it is what the
profile of an engine has to be made of.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.export import Dim, ExportedProgram
from torch.nn.functional import softplus

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.inputs import DYNAMIC, floats

OPEN: Final[Any] = ({0: Dim.DYNAMIC},)


class Positive(torch.nn.Module):
    """Two engines of any number of rows, and a relu in PyTorch between them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softplus(torch.relu(softplus(x)))


#: More rows than 4,096, which a release takes where it finds no range (`construct_dynamic_input`).
MANY_ROWS: Final = (2, 5000)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a range that the Input alone states, and is not asked: 4,096 rows are the most",
    fallback=[RELU],
    dynamic=True,
    lanes=PACKAGE_ALONE,  # where `compile` makes profiles
)
def rows_beyond_the_usual_limit() -> Program:
    return Program(
        floats((DYNAMIC, 8)),
        model=Positive(),
        dynamic_shapes=OPEN,
        bounds=MANY_ROWS,
        unbounded=True,
    )


@case(
    Family.DYNAMIC_SHAPES,
    catches="a range of an argument that the graph names otherwise, as it does `input`: not found",
    fallback=[RELU],
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def rows_of_a_sequential() -> Program:
    return Program(
        floats((DYNAMIC, 8)),
        model=torch.nn.Sequential(torch.nn.Softplus(), torch.nn.ReLU(), torch.nn.Softplus()),
        dynamic_shapes=OPEN,
        bounds=MANY_ROWS,
        unbounded=True,
    )


def exported_of_two_rows(program: ExportedProgram) -> ExportedProgram:
    """The model exported anew with an example of fewer rows than any call will have."""
    return torch.export.export(Positive(), (torch.ones(2, 8),), dynamic_shapes=OPEN)


@case(
    Family.DYNAMIC_SHAPES,
    catches="a range that the example of the export lies outside of: its size as the usual one",
    fallback=[RELU],
    dynamic=True,
    lanes=PACKAGE_ALONE,
)
def range_without_the_example() -> Program:
    return Program(
        floats((DYNAMIC, 8)),
        model=Positive(),
        dynamic_shapes=OPEN,
        bounds=(3, 12),
        unbounded=True,
        before_compile=exported_of_two_rows,
    )
