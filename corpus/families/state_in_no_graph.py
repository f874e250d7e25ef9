"""State that no node reads, or that nothing stands beside; and a parameter of its own class."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import DYNAMIC, floats


class Totals(torch.nn.Module):
    count: torch.Tensor
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(8))
        self.register_buffer("total", torch.zeros(8))

    def forward(self) -> torch.Tensor:
        self.count.add_(1)
        self.total.copy_(self.count * 2 + self.total)
        return torch.relu(self.count) * 2 + self.total


@case(
    Family.CACHES,
    catches="a model without inputs that has two states: weights go before nothing",
    fallback=[RELU],
    lanes=PACKAGE_ALONE,
    state=True,
)
def two_states_and_no_inputs() -> Program:
    return Program(lambda generator, size: Inputs(()), model=Totals())


class Last(torch.nn.Module):
    output: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("output", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x * 2 + 1
        self.output.copy_(rows.sum(0))
        return torch.relu(rows) * 2


@case(
    Family.CACHES,
    catches="a state that is only written, and is named as the graph's last node",
    fallback=[RELU],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_named_as_the_output() -> Program:
    return Program(floats((2, 8)), model=Last())


@case(
    Family.CACHES,
    catches="a state that is only written, of a batch that varies: it is read before the input",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def state_only_written_of_a_dynamic_batch() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(floats((DYNAMIC, 8)), model=Last(), dynamic_shapes=({0: rows},), bounds=BOUNDS)


class Scale(torch.nn.Parameter):
    """A parameter that an optimizer is to treat in another way."""


class OfItsOwnClass(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.maximum(x * 2, self.scale) - 1


@case(
    Family.ATTRIBUTES,
    catches="a parameter of a user's own class, which is not to be made a plain one",
    fallback=["aten.maximum.default"],
)
def parameter_of_a_class_of_its_own() -> Program:
    return Program(floats((2, 8)), model=OfItsOwnClass())
