"""The bodies of `cond`, `while_loop` and `map` in a fallback: graph modules that it holds."""

from __future__ import annotations

import torch
from torch._higher_order_ops import while_loop

from corpus.case import Family, Program, case
from corpus.inputs import floats


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        chosen = torch.cond(y.sum() > 0, lambda a: a * 2, lambda a: a - 3, (y,))
        return chosen * y


@case(
    Family.ATTRIBUTES,
    catches="the two branches of a cond in a fallback, which are neither parameter nor buffer",
    fallback=["cond", "_operator.getitem"],
    wiring=True,
)
def cond_in_fallback() -> Program:
    return Program(floats((2, 8)), model=Branches())


class Loop(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        start = torch.zeros((), dtype=torch.int64)
        _, grown = while_loop(
            lambda count, value: count < 3, lambda count, value: (count + 1, value * 2), (start, y)
        )
        return grown - y


@case(
    Family.ATTRIBUTES,
    catches="the condition and the body of a while_loop in a fallback",
    fallback=["while_loop", "_operator.getitem"],
    wiring=True,
)
def while_loop_in_fallback() -> Program:
    return Program(floats((2, 8)), model=Loop())


def _doubled(row: torch.Tensor) -> torch.Tensor:
    return row * 2 - 1


class Mapped(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = torch._higher_order_ops.map(_doubled, x + 1)  # type: ignore[arg-type]
        return rows * x


@case(
    Family.ATTRIBUTES,
    catches="the body of a map in a fallback",
    fallback=["map_impl", "_operator.getitem"],
    wiring=True,
)
def map_in_fallback() -> Program:
    return Program(floats((2, 8)), model=Mapped())
