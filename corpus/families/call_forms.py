"""How a model may be called and what it returns, beyond `corpus.families.interfaces`."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import DYNAMIC, dynamic_size, floats, keyword_floats
from corpus.structures import DataPair


class Star(torch.nn.Module):
    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        first, second, third = tensors
        return torch.relu(first * 2 - second) * third + second


@case(
    Family.INTERFACES,
    catches="a model that takes `*args`, whose tensors are bound in another order",
    fallback=[RELU],
    wiring=True,
)
def star_arguments() -> Program:
    return Program(floats((2, 8), (2, 8), (2, 8)), model=Star())


@case(
    Family.INTERFACES,
    catches="a model that takes `*args` of a dynamic batch: its shapes are one nested tuple",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def star_arguments_of_a_dynamic_batch() -> Program:
    rows = torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats(*[(DYNAMIC, 8)] * 3),
        model=Star(),
        dynamic_shapes=(tuple({0: rows} for _ in range(3)),),
        bounds=BOUNDS,
    )


class OneAndStar(torch.nn.Module):
    def forward(self, scale: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        first, second = tensors
        return torch.relu(first * scale - second) * 2 + second


@case(
    Family.INTERFACES,
    catches="an argument before `*args`, which alone are of a dynamic batch: shapes in wrong order",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def one_argument_before_star_arguments() -> Program:
    rows = torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats((8,), (DYNAMIC, 8), (DYNAMIC, 8)),
        model=OneAndStar(),
        dynamic_shapes=({}, ({0: rows}, {0: rows})),
        bounds=BOUNDS,
    )


class OneAndStarOfOne(torch.nn.Module):
    def forward(self, x: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        (other,) = tensors
        return torch.relu(x * 2 - other) + other


@case(
    Family.INTERFACES,
    catches="one tensor alone for `*args`: as many shapes as inputs, and one is nested",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def star_arguments_of_one() -> Program:
    rows = torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        floats((DYNAMIC, 8), (DYNAMIC, 8)),
        model=OneAndStarOfOne(),
        dynamic_shapes=({0: rows}, ({0: rows},)),
        bounds=BOUNDS,
    )


class StarKeywords(torch.nn.Module):
    def forward(self, x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        return torch.relu((x + named["shift"]) * named["scale"]) - named["shift"]


@case(
    Family.INTERFACES,
    catches="a model that takes `**kwargs`, bound by position instead of by name",
    fallback=[RELU],
    wiring=True,
)
def star_keywords() -> Program:
    return Program(keyword_floats([(2, 8)], shift=(2, 8), scale=(2, 8)), model=StarKeywords())


class ByName(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * scale + 1) - shift


@case(
    Family.INTERFACES,
    catches="a model that is called with keywords alone, and saved with no positional argument",
    fallback=[RELU],
    wiring=True,
)
def keywords_alone() -> Program:
    return Program(keyword_floats([], x=(2, 8), scale=(2, 8), shift=(2, 8)), model=ByName())


def _in_reverse(given: Inputs) -> Inputs:
    return Inputs(given.args, dict(reversed(list(given.kwargs.items()))))


@case(
    Family.INTERFACES,
    catches="keywords that `save` is given in another order than `compile` was, bound by position",
    fallback=[RELU],
    wiring=True,
)
def keywords_in_another_order_at_save() -> Program:
    return Program(
        keyword_floats([(2, 8)], scale=(2, 8), shift=(2, 8)),
        model=ByName(),
        given_to_save=_in_reverse,
    )


class Optional(torch.nn.Module):
    def forward(
        self, x: torch.Tensor, mask: torch.Tensor | None = None, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        y = torch.relu(x + 1)
        if mask is not None:
            y = y * mask
        return y * 2 if bias is None else y - bias


@case(
    Family.INTERFACES,
    catches="an optional tensor that the call leaves out before one that it gives by keyword",
    fallback=[RELU],
    wiring=True,
)
def optional_tensor_left_out() -> Program:
    return Program(keyword_floats([(2, 8)], bias=(2, 8)), model=Optional())


@case(
    Family.INTERFACES,
    catches="None that is given by position in the place of an optional tensor",
    fallback=[RELU],
    wiring=True,
)
def none_given_between_tensors() -> Program:
    def inputs(generator: torch.Generator, _: int | None) -> Inputs:
        x, bias = (torch.randn(2, 8, generator=generator) for _ in range(2))
        return Inputs((x, None, bias))

    return Program(inputs, model=Optional())


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, scale: float, shifted: bool) -> torch.Tensor:
        y = torch.relu(x * scale)
        return y + 1 if shifted else y


def _with_numbers(generator: torch.Generator, size: int | None) -> Inputs:
    x = torch.randn(dynamic_size(size), 8, generator=generator)
    return Inputs((x,), {"scale": 2.0, "shifted": True})


@case(
    Family.INTERFACES,
    catches="a number and a flag that are given by keyword, which `save` takes for no input",
    fallback=[RELU],
    wiring=True,
    lanes=("package",),  # in the graph lane it is `number_as_input`
)
def numbers_by_keyword() -> Program:
    return Program(_with_numbers, model=Scaled())


@case(
    Family.INTERFACES,
    catches="a number and a flag by keyword, of a dynamic batch, which can be saved without inputs",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=("package",),
)
def numbers_by_keyword_of_a_dynamic_batch() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _with_numbers,
        model=Scaled(),
        dynamic_shapes={"x": {0: rows}, "scale": None, "shifted": None},
        bounds=BOUNDS,
    )


class Tempered(torch.nn.Module):
    def forward(self, logits: torch.Tensor, *, temperature: torch.Tensor) -> torch.Tensor:
        return torch.relu(logits * temperature + 1) - temperature


def _with_temperature(generator: torch.Generator, size: int | None) -> Inputs:
    logits = torch.randn(dynamic_size(size), 8, generator=generator)
    return Inputs((logits,), {"temperature": torch.rand((), generator=generator)})


@case(
    Family.INTERFACES,
    catches="a tensor without dimensions by keyword: its shape `()` is taken for that of no input",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def temperature_by_keyword() -> Program:
    rows = torch.export.Dim("rows", min=BOUNDS[0], max=BOUNDS[1])
    return Program(
        _with_temperature,
        model=Tempered(),
        dynamic_shapes=({0: rows}, ()),
        bounds=BOUNDS,
    )


class NoInputs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.anchors = torch.nn.Parameter(torch.randn(2, 8))

    def forward(self) -> torch.Tensor:
        return torch.relu(self.anchors * 2) + 1


@case(
    Family.INTERFACES,
    catches="a model without any input, as a table of anchors is: nothing to take an example from",
    fallback=[RELU],
)
def no_inputs_at_all() -> Program:
    return Program(lambda generator, size: Inputs(()), model=NoInputs())


class BesideNone(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.relu(x + 1) * 2, None


@case(
    Family.INTERFACES,
    catches="None beside a tensor, as a model returns its loss or its cache when it has none",
    fallback=[RELU],
    wiring=True,
)
def none_beside_a_tensor() -> Program:
    return Program(floats((2, 8)), model=BesideNone())


class BesideNumber(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, float]:
        return torch.relu(x + 1) * 2, 3, 0.5


@case(
    Family.INTERFACES,
    catches="a number beside a tensor that comes back as a tensor, or not at all",
    fallback=[RELU],
    wiring=True,
)
def numbers_beside_a_tensor() -> Program:
    return Program(floats((2, 8)), model=BesideNumber())


class Named(torch.nn.Module):
    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        y = torch.relu(batch["query"] * 2 - batch["key"])
        return {"scores": y + batch["answer"], "logits": y * batch["key"]}


def _batch(generator: torch.Generator, _: int | None) -> Inputs:
    names = ("query", "answer", "key")
    return Inputs(({name: torch.randn(2, 8, generator=generator) for name in names},))


@case(
    Family.INTERFACES,
    catches="a dictionary in and one out, whose keys are bound or named in sorted order",
    fallback=[RELU],
    wiring=True,
)
def dictionary_both_ways() -> Program:
    return Program(_batch, model=Named())


@case(
    Family.INTERFACES,
    catches="a dictionary whose keys `save` is given in another order than `compile` was",
    fallback=[RELU],
    wiring=True,
)
def dictionary_in_another_order_at_save() -> Program:
    def by_keyword(generator: torch.Generator, size: int | None) -> Inputs:
        return Inputs((), {"batch": _batch(generator, size).args[0]})

    def in_reverse(given: Inputs) -> Inputs:
        return Inputs((), {"batch": dict(reversed(list(given.kwargs["batch"].items())))})

    return Program(by_keyword, model=Named(), given_to_save=in_reverse)


class Pairs(torch.nn.Module):
    def forward(self, pair: DataPair) -> DataPair:
        y = torch.relu(pair.first * 2 - pair.second)
        return DataPair(y + pair.second, y * 3)


def _pair(generator: torch.Generator, _: int | None) -> Inputs:
    first, second = (torch.randn(2, 8, generator=generator) for _ in range(2))
    return Inputs((DataPair(first, second),))


@case(
    Family.INTERFACES,
    catches="a dataclass in and one out, that comes back as a tuple",
    fallback=[RELU],
    wiring=True,
)
def dataclass_both_ways() -> Program:
    return Program(_pair, model=Pairs())


class TupleOfOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return (torch.relu(x + 1) * 2,)


@case(
    Family.INTERFACES,
    catches="a tuple of one that comes back as a tensor",
    fallback=[RELU],
    wiring=True,
)
def tuple_of_one() -> Program:
    return Program(floats((2, 8)), model=TupleOfOne())
