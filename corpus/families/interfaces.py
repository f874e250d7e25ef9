"""How a model is called and what it hands back: keywords, dictionaries, nesting, order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch.fx.graph import CodeGen

from corpus.case import Family, Inputs, Origin, Program, case
from corpus.families.attributes import LINEAR
from corpus.handmade import SplitBuilder
from corpus.inputs import floats, keyword_floats
from corpus.structures import DataPair, NamedPair

RELU = "aten.relu.default"
STRUCTURES = ["corpus.structures"]  # who loads a program has to know its containers


class Keywords(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu((x + 1) * scale) - shift


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


def _without_pytrees(split: torch.fx.GraphModule) -> torch.fx.GraphModule:
    split.graph.set_codegen(CodeGen())
    split.recompile()
    return split


def _two_inputs_without_pytrees(first: str, second: str) -> torch.fx.GraphModule:
    builder = SplitBuilder()
    x, y = (builder.input(name, 2, 8) for name in (first, second))
    engine = builder.engine(lambda a, b: (a * 2, a - b), x, y)
    relu = builder.fallback(torch.relu, builder.item(engine, 0))
    return _without_pytrees(builder.finish(relu, builder.item(engine, 1)))


@case(
    Family.INTERFACES,
    catches="a split module without pytrees, as lowering leaves one whose buffers it lifted",
    origin=Origin.HANDMADE,
    wiring=True,
)
def split_without_pytrees() -> Program:
    return Program(floats((2, 8), (2, 8)), split=_two_inputs_without_pytrees("x", "y"))


@case(
    Family.INTERFACES,
    catches="keywords in another order than a split module without pytrees has its placeholders",
    origin=Origin.HANDMADE,
    wiring=True,
)
def keywords_without_pytrees() -> Program:
    builder = SplitBuilder()
    x, scale, shift = (builder.input(name, 2, 8) for name in ("x", "scale", "shift"))
    engine = builder.engine(lambda a, b, c: (a * b, a - c), x, scale, shift)
    relu = builder.fallback(torch.relu, builder.item(engine, 0))
    split = _without_pytrees(builder.finish(relu, builder.item(engine, 1)))
    return Program(keyword_floats([(2, 8)], shift=(2, 8), scale=(2, 8)), split=split)


@case(
    Family.INTERFACES,
    catches="a split module without pytrees that is called by keywords alone: taken for positions",
    origin=Origin.HANDMADE,
    wiring=True,
)
def keywords_alone_without_pytrees() -> Program:
    split = _two_inputs_without_pytrees("scale", "shift")
    return Program(keyword_floats([], scale=(2, 8), shift=(2, 8)), split=split)


class Default(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: float = 2.0, shift: float = 1.0) -> torch.Tensor:
        return torch.relu(x * scale) - shift


@case(
    Family.INTERFACES,
    catches="arguments with defaults that the call leaves out, and that nobody must ask for",
    fallback=[RELU],
    wiring=True,
)
def defaults_left_out() -> Program:
    return Program(floats((2, 8)), model=Default())


class Containers(torch.nn.Module):
    def forward(
        self, rows: list[torch.Tensor], pair: NamedPair, data: DataPair, nothing: None
    ) -> torch.Tensor:
        first = torch.relu(rows[0] - rows[1]) * pair.second
        return torch.relu(first - pair.first) + data.first / (data.second * data.second + 1)


def _containers(generator: torch.Generator, size: int | None) -> Inputs:
    a, b, c, d, e, f = (torch.randn(2, 8, generator=generator) for _ in range(6))
    return Inputs(([a, b], NamedPair(c, d), DataPair(e, f), None))


@case(
    Family.INTERFACES,
    catches="a list, a named tuple, a dataclass and None as arguments, bound in another order",
    fallback=[RELU],
    wiring=True,
    imports=STRUCTURES,
)
def containers_as_inputs() -> Program:
    return Program(_containers, model=Containers())


class ContainersOut(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[NamedPair, None, DataPair]:
        y = torch.relu(x + 1)
        return NamedPair(y * 2, x - 1), None, DataPair(y - x, torch.relu(x * 3))


@case(
    Family.INTERFACES,
    catches="a named tuple, None and a dataclass that the model returns, and that come back flat",
    fallback=[RELU],
    wiring=True,
    imports=STRUCTURES,
)
def containers_as_outputs() -> Program:
    return Program(floats((2, 8)), model=ContainersOut())


class NothingOut(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> None:
        self.total.add_(torch.relu(x + 1).sum(0))


@case(
    Family.INTERFACES,
    catches="a model that returns nothing and only writes to a buffer, deleted as dead code",
    fallback=["aten.add_.Tensor"],
    wiring=True,
    lanes=("graph",),  # lowering leaves no op that writes in place
    state=True,
)
def no_output_at_all() -> Program:
    return Program(floats((2, 8)), model=NothingOut())


class Everything(torch.nn.Module):
    """A model that reaches for all that an interface has, over fallbacks of many kinds."""

    table: torch.Tensor
    passing: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.frozen = torch.nn.Parameter(torch.randn(8), requires_grad=False)
        self.whole = torch.nn.Parameter(torch.randint(1, 9, (8,)), requires_grad=False)
        self.narrow = torch.nn.Parameter(torch.randn(8).half())
        self.first_weight = torch.nn.Parameter(torch.randn(8))
        self.register_buffer("table", torch.rand(8))
        self.register_buffer("passing", torch.rand(8), persistent=False)
        self.plain = torch.rand(8)

    def forward(
        self,
        x: torch.Tensor,
        named: dict[str, torch.Tensor],
        rows: list[torch.Tensor],
        pair: tuple[torch.Tensor, torch.Tensor],
        fields: NamedPair,
        data: DataPair,
        unused: torch.Tensor,
        factor: float = 2.0,
        *,
        scale: torch.Tensor,
        shift: torch.Tensor,
    ) -> tuple[object, ...]:
        held = (x * factor + named["a"]) * scale - shift
        mixed = torch.mul(torch.mul(held, self.frozen), self.table)
        mixed = torch.mul(torch.mul(mixed + rows[0], self.whole), self.plain)
        mixed = torch.mul(torch.mul(mixed - rows[1], self.first_weight), self.passing)
        mixed = torch.mul((mixed + pair[0]).half(), self.narrow).float() - pair[1]
        gated = torch.relu(mixed) + fields.first - torch.relu(held) * fields.second
        parts = torch.cat([gated, gated * 2], -1).chunk(2, -1)
        again = torch.relu(torch.relu(parts[1]).chunk(2, -1)[0]) + 1
        projected = self.second(torch.relu(self.first(gated) + data.first) - data.second)
        means = torch.relu(projected.mean() + 1)
        drawn = torch.relu(gated + torch.randint_like(gated, 3, 4)) * means
        empty = torch.cat([torch.relu(drawn[:0]), drawn])
        return (
            NamedPair(empty, x),
            DataPair(again, projected.argmax(-1) + 1),
            {"a": torch.diagonal(gated) * 2},
            [gated - held],
        )


def _everything(generator: torch.Generator, size: int | None) -> Inputs:
    def made() -> torch.Tensor:
        return torch.randn(2, 8, generator=generator)

    args = (
        *(made(), {"a": made()}, [made(), made()], (made(), made())),
        *(NamedPair(made(), made()), DataPair(made(), made()), made()),
    )
    return Inputs(args, {"shift": made(), "scale": made()})


@case(
    Family.INTERFACES,
    catches="every way to take and give at once: one bound wrongly among many that are right",
    fallback=[
        *(RELU, "aten.mul.Tensor", *LINEAR, "aten.diagonal.default"),
        "aten.randint_like.low_dtype",
    ],
    wiring=True,
    imports=STRUCTURES,
)
def every_interface_at_once() -> Program:
    return Program(_everything, model=Everything())


class Pyramid(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, features: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return torch.relu(features["low"] * 2) + features["high"] * x


def _in_order(generator: torch.Generator, _: int | None) -> Inputs:
    x, low, high = (torch.randn(2, 8, generator=generator) for _ in range(3))
    return Inputs((x,), {"features": OrderedDict(low=low, high=high)})


@case(
    Family.INTERFACES,
    catches="an OrderedDict by keyword, of which save makes a dictionary",
    fallback=[RELU],
    wiring=True,
    lanes=["package"],
)
def ordered_dictionary_by_keyword() -> Program:
    return Program(_in_order, model=Pyramid())
