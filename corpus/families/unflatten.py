"""Hybrids that `torch.export.unflatten` gives their modules back, or should.

It goes by what a program says of its calls, its weights and its arguments: so these models call a
module again, share, alias or never read their state, write to it, hold constants and subgraphs,
and take their arguments in containers. Each has engines around what is in question.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.architectures import RELU, dynamic
from corpus.families.attributes import LINEAR
from corpus.inputs import floats

MUL = "aten.mul.Tensor"


class Gate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"gated": torch.mul(x, self.weight) + shift, "given": shift - 1}


class GateThrice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first = self.gate(x + 1, shift=y)
        second = self.gate(first["gated"] * 2, shift=first["given"])
        return self.gate(second["gated"], shift=x)["gated"] - second["given"]


@case(
    Family.UNFLATTEN,
    catches="a module that is called three times, whose calls a dispatcher has to tell apart",
    fallback=[MUL],
    wiring=True,
)
def unflatten_repeated_calls() -> Program:
    return Program(floats((2, 8), (2, 8)), model=GateThrice())


@case(
    Family.UNFLATTEN,
    catches="a module called again with a dynamic batch, its calls told apart by their sizes alone",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
)
def unflatten_repeated_calls_dynamic() -> Program:
    return dynamic(GateThenRelu(), (8,), (8,))


class GateThenRelu(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.gate(x, shift=y)["gated"])
        return torch.relu(self.gate(first, shift=x)["gated"])


class SharedAndUnused(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 8)
        self.down = torch.nn.Linear(8, 8)
        self.down.weight = self.up.weight
        self.never_called = torch.nn.Linear(8, 2)
        self.never_read = torch.nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(x + 1) * 2) - x


@case(
    Family.UNFLATTEN,
    catches="a weight of two modules that becomes two, beside weights that nothing reads",
    fallback=[*LINEAR],
)
def unflatten_shared_and_unused_parameters() -> Program:
    return Program(floats((2, 8)), model=SharedAndUnused())


class Scaled(torch.nn.Module):
    scale: torch.Tensor

    def __init__(self, scale: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("unread", torch.rand(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, self.scale)


class AliasedBuffers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        table = torch.rand(2, 8)
        self.whole = Scaled(table)
        self.same = Scaled(table)
        self.row = Scaled(table[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.row(self.same(self.whole(x + 1) - 2) + x)


@case(
    Family.UNFLATTEN,
    catches="a buffer that two modules hold and a third has a view of, taken apart",
    fallback=[MUL],
)
def unflatten_aliased_buffers() -> Program:
    return Program(floats((2, 8)), model=AliasedBuffers())


class Running(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.sum(0))
        return torch.relu(x) + self.total


class RunningTwice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.running = Running()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.running(self.running(x * 2) - 1)


@case(
    Family.UNFLATTEN,
    catches="a buffer that a module writes to at each of two calls, written to once or not at all",
    fallback=["aten.add_.Tensor"],
    wiring=True,
    lanes=("graph",),  # lowering leaves no op that writes in place
)
def unflatten_buffer_mutation() -> Program:
    return Program(floats((2, 8)), model=RunningTwice())


class Shifted(torch.nn.Module):
    def __init__(self, shift: torch.Tensor) -> None:
        super().__init__()
        self.shift = shift

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x, self.shift) - torch.tensor([0.5, 1.5])


class HeldConstants(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        shift = torch.tensor([3.0, 5.0])
        self.first = Shifted(shift)
        self.second = Shifted(shift)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x + 1) * 2)


@case(
    Family.UNFLATTEN,
    catches="a constant of two modules, and one written in their code, given to the wrong module",
    fallback=[MUL],
)
def unflatten_constants() -> Program:
    return Program(floats((4, 2)), model=HeldConstants())


class Chooses(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a * self.weight, lambda a: a - self.weight, (x,))


class ChoosesTwice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.chooses = Chooses()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.chooses(self.chooses(x + 1) * 2) - x


@case(
    Family.UNFLATTEN,
    catches="the branches of a cond inside of a module that is called twice, with its weight",
    fallback=["cond", "_operator.getitem"],
)
def unflatten_cond_in_a_module() -> Program:
    return Program(floats((2, 8)), model=ChoosesTwice())


class InContainers(torch.nn.Module):
    def forward(
        self, pair: tuple[torch.Tensor, list[torch.Tensor]], *, more: dict[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        x, (y, z) = pair
        return {"sum": torch.relu(x - y) + more["b"], "product": torch.relu(z) * more["a"]}


def _in_containers(generator: torch.Generator, size: int | None) -> Inputs:
    x, y, z, a, b = (torch.randn(2, 8, generator=generator) for _ in range(5))
    return Inputs(((x, [y, z]),), {"more": {"a": a, "b": b}})


@case(
    Family.UNFLATTEN,
    catches="arguments in containers, by position and by name, adapted to the flat ones of a graph",
    fallback=[RELU],
    wiring=True,
)
def unflatten_arguments_in_containers() -> Program:
    return Program(_in_containers, model=InContainers())
