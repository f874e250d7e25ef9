"""Models captured by the functional export, which builds a graph's inputs and outputs itself.

`torch._dynamo.functional_export` traces flat inputs and puts the model's own signature back around
what it got: a case here has inputs and outputs that this could lose, double or take for another.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.architectures import RELU, dynamic
from corpus.families.attributes import LINEAR
from corpus.inputs import floats

FUNCTIONAL = "functional"


class OutputsAndInputs(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z = torch.relu(x + 1) * 2
        return y, z, x, z


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="inputs handed back in another order, beside one result that is handed back twice",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_outputs_and_inputs() -> Program:
    return Program(floats((2, 8), (2, 8)), model=OutputsAndInputs())


class ConstantsOut(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, None, torch.Tensor]:
        y = torch.relu(x + 1)
        return y * 2, 7, None, y - 3


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="a number and None among the outputs, which are in no graph and move the rest",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_constants_out() -> Program:
    return Program(floats((2, 8)), model=ConstantsOut())


class HeldTensorsOut(torch.nn.Module):
    kept: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.arange(8, dtype=torch.float32)
        self.trained = torch.nn.Parameter(torch.randn(8))
        self.register_buffer("kept", torch.rand(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.kept, torch.relu(x + self.plain) * self.trained, self.trained, self.plain


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="a buffer, a parameter and a plain tensor handed out, their names changed by tracing",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_held_tensors_out() -> Program:
    return Program(floats((2, 8)), model=HeldTensorsOut())


class ReadInAnotherOrder(torch.nn.Module):
    def forward(
        self,
        last: torch.Tensor,
        unused: torch.Tensor,
        first: torch.Tensor,
        *,
        ignored: torch.Tensor,
        shift: torch.Tensor,
    ) -> torch.Tensor:
        return torch.relu(first * 2 - shift) + last


def _three_and_two_by_name(generator: torch.Generator, size: int | None) -> Inputs:
    a, b, c, d, e = (torch.randn(2, 8, generator=generator) for _ in range(5))
    return Inputs((a, b, c), {"shift": d, "ignored": e})


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="inputs that are unused, or read in another order than given, bound to one another",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_inputs_reordered() -> Program:
    return Program(_three_and_two_by_name, model=ReadInAnotherOrder())


class NumberBetween(torch.nn.Module):
    def forward(self, x: torch.Tensor, times: int, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * times) - y


def _number_between(generator: torch.Generator, size: int | None) -> Inputs:
    x, y = (torch.randn(2, 8, generator=generator) for _ in range(2))
    return Inputs((x, 3, y))


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="a number between two tensors, which becomes a constant and must stay an input",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_number_as_input() -> Program:
    return Program(_number_between, model=NumberBetween())


class Crossing(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return y, x


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="a model without any op, of which nothing can be split, and whose inputs change places",
    wiring=True,
    capture=FUNCTIONAL,
)
def functional_without_an_op() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Crossing())


class Stage(torch.nn.Module):
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)
        self.register_buffer("scale", torch.rand(8), persistent=False)

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor) -> dict[str, torch.Tensor]:
        y = torch.relu(self.project(x) * self.scale)
        return {"out": y + shift}


class Stages(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.tail = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.stage(x, shift=y)["out"]
        return self.tail(self.stage(x, shift=x)["out"] - y)


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="modules in modules, one called twice, whose weights get back the names of the model",
    fallback=[*LINEAR],
    capture=FUNCTIONAL,
)
def functional_nested_modules() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Stages())


@case(
    Family.FUNCTIONAL_EXPORT,
    catches="a dynamic batch of two inputs that is lost when the graph's own inputs are replaced",
    fallback=[RELU],
    wiring=True,
    capture=FUNCTIONAL,
    dynamic=True,
)
def functional_dynamic_batch() -> Program:
    return dynamic(Stages(), (8,), (8,))
