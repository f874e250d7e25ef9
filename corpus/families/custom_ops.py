"""What stays in PyTorch by its name: custom ops, and ops that users name in other ways."""

from __future__ import annotations

import torch

import corpus.models.custom_ops as ops
from corpus.case import Family, Program, case
from corpus.families.alternating_relu import Alternating
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, floats

IMPORTS = [ops.__name__]
GATE, MIX = "corpus.gate.default", "corpus.mix.default"


class Gated(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        held = ops.gate(x * 2 - y, 0.25)
        return ops.gate(held + y, -0.5) - x


@case(
    Family.CUSTOM_OPS,
    catches="a custom op with a number beside its tensor, of which one is lost or doubled",
    fallback=[GATE],
    wiring=True,
    imports=IMPORTS,
)
def custom_op_twice() -> Program:
    return Program(floats((2, 8), (2, 8)), model=Gated())


@case(
    Family.CUSTOM_OPS,
    catches="a custom op over a dynamic batch, whose fake kernel is asked for sizes once more",
    fallback=[GATE],
    wiring=True,
    imports=IMPORTS,
    dynamic=True,
)
def custom_op_of_a_dynamic_batch() -> Program:
    return Program(
        floats((DYNAMIC, 8), (DYNAMIC, 8)),
        model=Gated(),
        dynamic_shapes=batch(2),
        bounds=BOUNDS,
    )


class Halved(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, last = ops.halves(x * 2 + 1)
        return first * 3 - last


@case(
    Family.CUSTOM_OPS,
    catches="two outputs of a custom op, changed for one another on the way into an engine",
    fallback=["corpus.halves.default"],
    wiring=True,
    imports=IMPORTS,
)
def custom_op_with_two_outputs() -> Program:
    return Program(floats((2, 8)), model=Halved())


class InThirds(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, third = ops.thirds(x * 2 + 1)
        return first * 3 - second * third


@case(
    Family.CUSTOM_OPS,
    catches="a list that a custom op returns, whose elements are read by index",
    fallback=["corpus.thirds.default"],
    wiring=True,
    imports=IMPORTS,
)
def custom_op_with_a_list() -> Program:
    return Program(floats((2, 9)), model=InThirds())


class Mixed(torch.nn.Module):
    shift: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 4, bias=False)
        self.register_buffer("shift", torch.rand(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        held = ops.mix(x * 2, self.first.weight, self.first.bias) + self.shift
        return ops.mix(held, self.second.weight, None) - 1


@case(
    Family.CUSTOM_OPS,
    catches="weights that a custom op reads, and None in the place of one",
    fallback=[MIX],
    wiring=True,
    imports=IMPORTS,
)
def custom_op_with_weights() -> Program:
    return Program(floats((2, 8)), model=Mixed())


class Remembering(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.rand(1, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.remember(x * 2, self.state) + torch.relu(x - 1)


@case(
    Family.CUSTOM_OPS,
    catches="a custom op that writes to a buffer, whose write nobody sees in the next call",
    fallback=[
        "corpus.remember.default",
        "auto_functionalized_v2",
        "higher_order.auto_functionalized_v2",
    ],
    wiring=True,
    imports=IMPORTS,
    state=True,
)
def custom_op_that_writes() -> Program:
    return Program(floats((2, 8)), model=Remembering())


@case(
    Family.CUSTOM_OPS,
    catches="a fallback named as a packet (aten.relu), which no node's name is equal to",
    fallback=["aten.relu"],
    wiring=True,
)
def fallback_named_as_a_packet() -> Program:
    return Program(floats((2, 8)), model=Alternating(2))


class Normalised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(x * 2) + 1) - x


@case(
    Family.CUSTOM_OPS,
    catches="layer_norm named as export names it, which lowering renames before anybody looks",
    fallback=["aten.layer_norm.default", "aten.relu.default"],
    wiring=True,
)
def layer_norm_by_its_exported_name() -> Program:
    return Program(floats((2, 8)), model=Normalised())


@case(
    Family.CUSTOM_OPS,
    catches="layer_norm named as lowering names it: a tuple of three, of which one is read",
    fallback=["aten.native_layer_norm.default", "aten.layer_norm.default"],
    wiring=True,
)
def layer_norm_by_its_lowered_name() -> Program:
    return Program(floats((2, 8)), model=Normalised())
