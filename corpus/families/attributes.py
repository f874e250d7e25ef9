"""Parameters, buffers and constants inside a fallback: what the legacy exporter has to lift."""

from __future__ import annotations

import torch

from corpus.case import Family, Origin, Program, case
from corpus.children import NON_PERSISTENT, PLAIN, Segment
from corpus.handmade import SplitBuilder
from corpus.inputs import floats

#: As torch.export names it, and as lowering does up to 2.7.
LINEAR = ("aten.linear.default", "aten.addmm.default")


class LinearInFallback(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.project(x + 1) * 2


@case(
    Family.ATTRIBUTES,
    catches="a weight that is lost, renamed or given wrong metadata on its way out of a fallback",
    fallback=[*LINEAR],
    cross=True,
)
def linear_in_fallback() -> Program:
    return Program(floats((2, 8)), model=LinearInFallback())


class LinearBesideAnOutput(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.project(x + 1), x * 2


@case(
    Family.ATTRIBUTES,
    catches="a weight lifted with made-up strides, where no one-output engine's metadata hides it",
    fallback=[*LINEAR],
)
def linear_beside_an_output() -> Program:
    return Program(floats((2, 8)), model=LinearBesideAnOutput())


class TwoLinears(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 4)
        self.second = torch.nn.Linear(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x + 1) * 2) - x


@case(
    Family.ATTRIBUTES,
    catches="weights of two fallbacks that change places",
    fallback=[*LINEAR],
    wiring=True,
)
def linears_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=TwoLinears())


class BatchNormInFallback(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
        # As after training: the defaults, zero and one, would hide a swap of the two.
        self.norm.running_mean = torch.rand(8) - 0.5
        self.norm.running_var = torch.rand(8) + 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x * 2) + 1


@case(
    Family.ATTRIBUTES,
    catches="a buffer in a fallback, for which a signature must say whether it is persistent",
    # As it is exported, and as a package lowers it.
    fallback=["aten.batch_norm.default", "aten._native_batch_norm_legit_no_training.default"],
)
def batch_norm_in_fallback() -> Program:
    return Program(floats((4, 8)), model=BatchNormInFallback())


class SharedLinear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shared(self.shared(x + 1) * 2) - 1


@case(
    Family.ATTRIBUTES,
    catches="one weight read by two fallbacks: an argument twice in the lifted graph's code",
    fallback=[*LINEAR],
)
def one_linear_in_two_fallbacks() -> Program:
    return Program(floats((2, 8)), model=SharedLinear())


class ConstantTensor(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.arange(8, dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.scale) - 3


@case(
    Family.ATTRIBUTES,
    catches="a plain tensor attribute in a fallback, neither parameter nor buffer",
    fallback=["aten.mul.Tensor"],
)
def constant_in_fallback() -> Program:
    return Program(floats((2, 8)), model=ConstantTensor())


class IntegerWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        weight = torch.randint(-128, 128, (8,), dtype=torch.int8)
        self.weight = torch.nn.Parameter(weight, requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.weight) * 2


@case(
    Family.ATTRIBUTES,
    catches="a quantised weight in a fallback, which cannot require a gradient",
    fallback=["aten.mul.Tensor"],
)
def integer_weight_in_fallback() -> Program:
    return Program(floats((2, 8)), model=IntegerWeight())


class NonPersistent(torch.nn.Module):
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(8), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.scale) - 2


@case(
    Family.ATTRIBUTES,
    catches="a non-persistent buffer in a fallback, which no state dict holds",
    fallback=["aten.mul.Tensor"],
)
def non_persistent_buffer_in_fallback() -> Program:
    return Program(floats((2, 8)), model=NonPersistent())


class HalfWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8).half())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul((x + 1).half(), self.weight).float() * 2


@case(
    Family.ATTRIBUTES,
    catches="a half-precision weight in a fallback, lifted with the metadata of a float",
    fallback=["aten.mul.Tensor"],
)
def half_weight_in_fallback() -> Program:
    return Program(floats((2, 8)), model=HalfWeight())


class DotsBecomeUnderscores(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Linear(8, 8)
        self.a_weight = torch.nn.Parameter(torch.randn(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(self.a(x + 1), self.a_weight) - 2


@case(
    Family.ATTRIBUTES,
    catches="two parameters whose names are one when dots become underscores: a.weight, a_weight",
    fallback=[*LINEAR, "aten.mul.Tensor"],
    wiring=True,
)
def names_that_collide_without_dots() -> Program:
    return Program(floats((2, 8)), model=DotsBecomeUnderscores())


@case(
    Family.ATTRIBUTES,
    catches="two fallbacks with other values under one name: the second takes the first's place",
    origin=Origin.HANDMADE,
    wiring=True,
)
def one_name_with_two_values() -> Program:
    first, second = (torch.nn.Parameter(torch.randn(8)) for _ in range(2))
    return _one_name("weight", first, second)


@case(
    Family.ATTRIBUTES,
    catches="two fallbacks with other buffers under one name, one of them kept in no state dict",
    origin=Origin.HANDMADE,
    wiring=True,
)
def one_name_with_two_buffers() -> Program:
    values = torch.randn(8), torch.randn(8)
    return _one_name("layer.scale", *values, kinds=("", NON_PERSISTENT))


@case(
    Family.ATTRIBUTES,
    catches="two fallbacks with other plain tensors under one name, which are no state",
    origin=Origin.HANDMADE,
    wiring=True,
)
def one_name_with_two_plain_tensors() -> Program:
    return _one_name("scale", torch.randn(8), torch.randn(8), kinds=(PLAIN, PLAIN))


def _one_name(
    path: str, first: torch.Tensor, second: torch.Tensor, kinds: tuple[str, str] = ("", "")
) -> Program:
    """Two fallbacks that each hold a tensor under this path, of kinds as of `trace_child`."""
    builder = SplitBuilder()
    made = builder.fallback(
        lambda a, w: a * w,
        builder.input("x", 2, 8),
        attributes={path: first},
        kinds={path: kinds[0]},
    )
    engine = builder.engine(lambda a: a + 1, made)
    last = builder.fallback(
        lambda a, w: a - w, engine, attributes={path: second}, kinds={path: kinds[1]}
    )
    return Program(floats((2, 8)), split=builder.finish(last))


class Counting(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return torch.relu(x * 2) + 1


@case(
    Family.ATTRIBUTES,
    catches="a fallback that only counts its calls, and is taken for dead code",
    fallback=["aten.add_.Tensor"],
    wiring=True,
    lanes=("graph",),  # lowering leaves no op that writes in place
)
def fallback_with_an_effect_alone() -> Program:
    return Program(floats((2, 8)), model=Counting())


class TwoBuffers(torch.nn.Module):
    total: torch.Tensor
    last: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8))
        self.register_buffer("last", torch.ones(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        self.total.add_(y.sum(0))
        self.last.mul_(0.5)
        return torch.relu(y) + self.last, self.total


@case(
    Family.ATTRIBUTES,
    catches="two buffers that fallbacks write to, one of them returned: written to in other order",
    fallback=["aten.add_.Tensor", "aten.mul_.Tensor"],
    wiring=True,
    lanes=("graph",),  # lowering leaves no op that writes in place
    state=True,
)
def two_mutated_buffers() -> Program:
    return Program(floats((2, 8)), model=TwoBuffers())


class TableAndRow(torch.nn.Module):
    """A table, and its first row, which lies at the same place in memory."""

    table: torch.Tensor
    row: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.randn(4, 8))
        self.register_buffer("row", self.table[0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mul(x + 1, self.table) - torch.mul(x - 1, self.row)


@case(
    Family.ATTRIBUTES,
    catches="a buffer and a view of it in fallbacks: taken for one, as they begin at one address",
    fallback=["aten.mul.Tensor"],
    wiring=True,
)
def view_of_a_buffer_in_a_fallback() -> Program:
    return Program(floats((4, 8)), model=TableAndRow())


class Drawing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        # Drawn, and 3 every time: a program can be held against another bit for bit.
        return torch.relu(y + torch.randint_like(y, 3, 4)) * 2


@case(
    Family.ATTRIBUTES,
    catches="a random op in a fallback that is moved, doubled or taken for a constant",
    fallback=["aten.randint_like.low_dtype", "aten.randint_like.default"],
    wiring=True,
)
def random_op_in_fallback() -> Program:
    return Program(floats((2, 8)), model=Drawing())


@case(
    Family.ATTRIBUTES,
    catches="a fallback that draws random numbers which nobody reads: later draws are others",
    origin=Origin.HANDMADE,
    wiring=True,
)
def unread_draw_in_fallback() -> Program:
    builder = SplitBuilder()
    x = builder.input("x", 2, 8)
    engine = builder.engine(lambda a: a + 1, x)
    builder.fallback(torch.rand_like, engine)
    noisy = builder.fallback(lambda a: a + torch.rand_like(a), engine)
    return Program(floats((2, 8)), split=builder.finish(noisy))


def _fallback_that_holds(
    attributes: dict[str, torch.Tensor], segment: Segment, kinds: dict[str, str] | None = None
) -> Program:
    """An engine, and a fallback that computes the segment of its output and of these tensors."""
    builder = SplitBuilder()
    engine = builder.engine(lambda a: a + 1, builder.input("x", 2, 8))
    made = builder.fallback(segment, engine, attributes=attributes, kinds=kinds or {})
    return Program(floats((2, 8)), split=builder.finish(made))


@case(
    Family.ATTRIBUTES,
    catches="a fallback's tensor that is neither parameter nor buffer, which nobody hands on",
    origin=Origin.HANDMADE,
    wiring=True,
)
def plain_tensor_in_one_fallback() -> Program:
    return _fallback_that_holds(
        {"layer.scale": torch.randn(8)},
        lambda a, scale: torch.relu(a * scale),
        kinds={"layer.scale": PLAIN},
    )


@case(
    Family.ATTRIBUTES,
    catches="one weight under two names in one fallback: the second name is never handed on",
    origin=Origin.HANDMADE,
    wiring=True,
)
def tied_weights_in_one_fallback() -> Program:
    weight = torch.nn.Parameter(torch.randn(8))
    return _fallback_that_holds(
        {"up": weight, "down": weight}, lambda a, up, down: torch.relu(a * up) - down
    )
