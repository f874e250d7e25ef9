"""How a model is called and what it hands back: keywords, dictionaries, nesting, order."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.inputs import floats, keyword_floats

RELU = "aten.relu.default"


class Keywords(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * scale + 1) - shift


@case(
    Family.INTERFACES,
    catches="keyword arguments given in another order than the signature's",
    fallback=[RELU],
    wiring=True,
)
def keywords_in_another_order() -> Program:
    inputs = keyword_floats([(2, 8)], shift=(2, 8), scale=(2, 8))
    return Program(inputs, model=Keywords())


class NestedOutput(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, object]:
        y = torch.relu(x + 1)
        return {"first": y * 2, "rest": [y - 1, (x * 3,)]}


@case(
    Family.INTERFACES,
    catches="a dictionary with a list with a tuple that comes back flat",
    fallback=[RELU],
)
def nested_output() -> Program:
    return Program(floats((2, 8)), model=NestedOutput())


class NestedInput(torch.nn.Module):
    def forward(self, pair: tuple[torch.Tensor, dict[str, torch.Tensor]]) -> torch.Tensor:
        x, rest = pair
        return torch.relu(x * 2 - rest["a"]) + rest["b"]


def _nested(generator: torch.Generator, size: int | None) -> Inputs:
    x, a, b = (torch.randn(2, 8, generator=generator) for _ in range(3))
    return Inputs(((x, {"a": a, "b": b}),))


@case(
    Family.INTERFACES,
    catches="a nested argument whose leaves are bound in another order",
    fallback=[RELU],
    wiring=True,
)
def nested_input() -> Program:
    return Program(_nested, model=NestedInput())


class UnusedInput(torch.nn.Module):
    def forward(self, x: torch.Tensor, unused: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * y


@case(
    Family.INTERFACES,
    catches="an input that nothing reads, dropped so that the next one takes its place",
    fallback=[RELU],
    wiring=True,
)
def unused_input_between() -> Program:
    return Program(floats((2, 8), (2, 8), (2, 8)), model=UnusedInput())


class InputReturned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x + 1) * 2, x


@case(
    Family.INTERFACES,
    catches="an input that the model hands back as it is",
    fallback=[RELU],
    wiring=True,
)
def input_returned() -> Program:
    return Program(floats((2, 8)), model=InputReturned())


class NumberAsInput(torch.nn.Module):
    def forward(self, x: torch.Tensor, factor: int) -> torch.Tensor:
        return torch.relu(x * factor) + 1


def _with_number(generator: torch.Generator, size: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, generator=generator), 3))


@case(
    Family.INTERFACES,
    catches="a number beside the tensors that a model is called with, declared as a tensor",
    fallback=[RELU],
)
def number_as_input() -> Program:
    return Program(_with_number, model=NumberAsInput())
