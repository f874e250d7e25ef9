"""A fallback's placeholder that has the name of another node of the parent.

In the original graph an element of a chunk is called `getitem`. The fallback that reads it keeps
that name for its placeholder. In the parent the splitter gives the same name to the first element
of the first multi-output child, which need not be the same value at all.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

RELU = "aten.relu.default"


class Later(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu((x + 1).chunk(2, dim=-1)[1])
        z = torch.relu(y * 2) - torch.relu(y - 3)
        return torch.relu(z * 3 + y)  # 2y - r + y would be y - r + 2y


@case(
    Family.NAME_COLLISIONS,
    catches="a placeholder named like a later node: used before it has been defined",
    fallback=[RELU],
    wiring=True,
)
def named_like_a_later_getitem() -> Program:
    return Program(floats((2, 8)), model=Later())


class Earlier(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x + 1) - torch.relu(x * 2)
        return torch.relu(torch.cat([y, y * 3], dim=-1).chunk(2, dim=-1)[0]) + 5


@case(
    Family.NAME_COLLISIONS,
    catches="a placeholder named like an earlier node of the same shape: silently another tensor",
    fallback=[RELU],
    wiring=True,
)
def named_like_an_earlier_getitem() -> Program:
    return Program(floats((2, 8)), model=Earlier())


class Several(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x + 1) - torch.relu(x * 2)
        left, right = torch.cat([y, y * 3], dim=-1).chunk(2, dim=-1)
        return torch.relu(right - left) + torch.relu(left)


@case(
    Family.NAME_COLLISIONS,
    catches="two placeholders, one with a namesake and one without: an input nobody asked for",
    fallback=[RELU, "aten.sub.Tensor"],
    wiring=True,
)
def one_of_two_has_a_namesake() -> Program:
    return Program(floats((2, 8)), model=Several())


class InputsReversed(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (y - x) * 2


@case(
    Family.NAME_COLLISIONS,
    catches="a fallback that reads the model's inputs in reverse: every name is right, and pairing "
    "them in graph order still turns the difference round",
    fallback=["aten.sub.Tensor"],
    wiring=True,
    cross=True,
)
def inputs_read_in_reverse() -> Program:
    return Program(floats((2, 8), (2, 8)), model=InputsReversed())


@case(
    Family.NAME_COLLISIONS,
    catches="two placeholders with the names of each other's source",
    origin=Origin.HANDMADE,
    wiring=True,
)
def placeholders_named_crosswise() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: (a + 1, a * 2), x)
    first = builder.item(engine, 0, "first")
    second = builder.item(engine, 1, "second")
    difference = builder.fallback(
        lambda a, b: a - b, second, first, placeholders=["first", "second"]
    )
    return Program(floats((2, 8)), split=builder.finish(difference))


@case(
    Family.NAME_COLLISIONS,
    catches="a placeholder named like the model's second input while it reads the first",
    origin=Origin.HANDMADE,
    wiring=True,
)
def placeholder_named_like_another_input() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    y = builder.input("y", 2, 8)
    relu = builder.fallback(torch.relu, x, placeholders=["y"])
    engine = builder.engine(lambda a, b: a * 2 - b, relu, y)
    return Program(floats((2, 8), (2, 8)), split=builder.finish(engine))


class NamedLikePieces(torch.nn.Module):
    def forward(self, x_run_on_gpu_0: torch.Tensor, x_run_on_acc_1: torch.Tensor) -> torch.Tensor:
        return torch.relu(x_run_on_gpu_0 - x_run_on_acc_1) * 2


@case(
    Family.NAME_COLLISIONS,
    catches="inputs that are named as pieces are, and that are taken for calls of pieces",
    fallback=[RELU],
    wiring=True,
)
def inputs_named_like_pieces() -> Program:
    return Program(floats((2, 8), (2, 8)), model=NamedLikePieces())
