"""Types of values that TensorRT lacks, cuts down, or keeps: complex, double, bfloat16, int64."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.inputs import floats

RELU = "aten.relu.default"
VIEW_AS_REAL = "aten.view_as_real.default"
VIEW_AS_COMPLEX = "aten.view_as_complex.default"

#: More than 32 bits: who cuts an int64 down to an int32 makes another number of it.
BEYOND_32_BITS = 2**33
#: A third, whose double is no float32: what was cut down to one in between shows.
THIRD = 1 / 3


def _complex(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex64, generator=generator)


class ComplexIntoFallback(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.view_as_real(x) * 2 + 1) - y


def _complex_and_real(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((_complex(generator, 2, 4), torch.randn(2, 4, 2, generator=generator)))


@case(
    Family.TYPES,
    catches="a complex input that a fallback takes apart, refused or made real at the boundary",
    fallback=[VIEW_AS_REAL, RELU],
    wiring=True,
)
def complex_input_into_fallback() -> Program:
    return Program(_complex_and_real, model=ComplexIntoFallback())


class ComplexIntoEngine(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        turned = torch.view_as_real(x * x + x)
        return torch.relu(turned) * 2 - y


@case(
    Family.TYPES,
    catches="a complex input that an engine multiplies, taken for pairs of reals",
    fallback=[RELU],
    wiring=True,
)
def complex_input_into_engine() -> Program:
    return Program(_complex_and_real, model=ComplexIntoEngine())


class Rotary(torch.nn.Module):
    """Positions turned as Llama's reference does it: a complex buffer, a complex product."""

    turns: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(3.0), 10.0 ** -torch.arange(4.0))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex((x + 1).reshape(2, 3, 4, 2))
        return torch.relu(torch.view_as_real(pairs * self.turns).flatten(2)) * 2


@case(
    Family.TYPES,
    catches="a complex buffer, as rotary embeddings have it, folded, lost or turned the other way",
    fallback=[RELU],
    wiring=True,
)
def complex_buffer() -> Program:
    return Program(floats((2, 3, 8)), model=Rotary())


@case(
    Family.TYPES,
    catches="a complex buffer that a fallback reads, with its product left in PyTorch",
    fallback=["aten.mul.Tensor", VIEW_AS_COMPLEX, VIEW_AS_REAL],
    wiring=True,
)
def complex_buffer_in_fallback() -> Program:
    return Program(floats((2, 3, 8)), model=Rotary())


class ComplexOut(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2 + 1
        return torch.view_as_complex(y), torch.relu(y) - 3


@case(
    Family.TYPES,
    catches="a complex output of a fallback, returned as pairs of reals",
    fallback=[VIEW_AS_COMPLEX, RELU],
    wiring=True,
)
def complex_output() -> Program:
    return Program(floats((2, 4, 2)), model=ComplexOut())


class ComplexBesideReal(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        turned = x * x + x
        return turned, torch.relu(torch.view_as_real(turned) * 2) - y


@case(
    Family.TYPES,
    catches="a complex output beside a real one of the same engine, returned as pairs of reals",
    fallback=[RELU],
    wiring=True,
)
def complex_output_beside_a_real_one() -> Program:
    return Program(_complex_and_real, model=ComplexBesideReal())


def _double_complex(generator: torch.Generator, _: int | None) -> Inputs:
    x = torch.randn(2, 4, dtype=torch.complex128, generator=generator)
    return Inputs((x, torch.randn(2, 4, 2, dtype=torch.float64, generator=generator)))


@case(
    Family.TYPES,
    catches="truncate_double: complex128 in, of which pairs of doubles become pairs of floats",
    fallback=[RELU],
    wiring=True,
    eager_tolerance=1e-5,
    settings={"truncate_double": True},
)
def complex_double_truncated() -> Program:
    return Program(_double_complex, model=ComplexIntoEngine())


class InDouble(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * THIRD + 1) * 2


def _doubles(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, dtype=torch.float64, generator=generator),))


@case(
    Family.TYPES,
    catches="a float64 input, refused without a word of the setting that would help",
    fallback=[RELU],
    wiring=True,
)
def double_input() -> Program:
    return Program(_doubles, model=InDouble())


@case(
    Family.TYPES,
    catches="truncate_double: a float64 output comes back as float32, or the engine refuses it",
    fallback=[RELU],
    wiring=True,
    eager_tolerance=1e-5,
    settings={"truncate_double": True},
)
def double_input_truncated() -> Program:
    return Program(_doubles, model=InDouble())


class TwoInDouble(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return torch.relu(x * THIRD), torch.relu(x + 1), (x * 2).argmax(1)


@case(
    Family.TYPES,
    catches="truncate_double: outputs of one engine, each cast by itself, and one is no double",
    fallback=[RELU],
    lanes=("package",),
    eager_tolerance=1e-5,
    settings={"truncate_double": True},
)
def two_doubles_truncated() -> Program:
    return Program(_doubles, model=TwoInDouble())


class DoubleTable(torch.nn.Module):
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(8, dtype=torch.float64) * THIRD)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu((x * self.table).float() + 1) * 2


@case(
    Family.TYPES,
    catches="truncate_double: a float64 buffer inside of a float32 model, cut down or kept",
    fallback=[RELU],
    wiring=True,
    eager_tolerance=1e-5,
    settings={"truncate_double": True},
)
def double_buffer_truncated() -> Program:
    return Program(floats((2, 8)), model=DoubleTable())


class DoubleInside(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        summed = torch.cumsum((x + 1).to(torch.float64), -1)
        return summed.to(torch.float32) * 2 - x


@case(
    Family.TYPES,
    catches="a sum in float64 between two float32 engines, whose type one of them takes over",
    fallback=[
        *("aten.to.dtype", "aten._to_copy.default", "aten.cumsum.default"),
        "aten._assert_tensor_metadata.default",
    ],
    wiring=True,
)
def double_inside_a_fallback() -> Program:
    return Program(floats((2, 8)), model=DoubleInside())


class Brain(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(8, dtype=torch.bfloat16))
        self.shift = torch.nn.Parameter(torch.rand(8, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        low, high = torch.chunk(torch.relu(x * 2) * self.scale + self.shift, 2, -1)
        return torch.relu(high) - 1, low.float()


def _brain(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randn(2, 8, generator=generator).to(torch.bfloat16),))


@case(
    Family.TYPES,
    catches="bfloat16 inputs, weights and outputs, taken for half or float32 on the way",
    fallback=[RELU],
    wiring=True,
)
def bfloat16_model() -> Program:
    return Program(_brain, model=Brain())


@case(
    Family.TYPES,
    catches="a bfloat16 weight of a fallback, saved as another type",
    fallback=["aten.mul.Tensor"],
    wiring=True,
)
def bfloat16_weight_in_fallback() -> Program:
    return Program(_brain, model=Brain())


class Identifiers(torch.nn.Module):
    def forward(self, ids: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        moved = ids * 2 + 1
        return torch.bitwise_xor(moved, ids) - 1, torch.relu(x + 1) * 2


def _large(generator: torch.Generator, _: int | None) -> Inputs:
    ids = torch.randint(BEYOND_32_BITS, 2 * BEYOND_32_BITS, (2, 8), generator=generator)
    return Inputs((ids, torch.randn(2, 8, generator=generator)))


@case(
    Family.TYPES,
    catches="int64 numbers beyond 32 bits, cut down where they enter or leave an engine",
    fallback=["aten.bitwise_xor.Tensor", RELU],
    wiring=True,
)
def int64_beyond_32_bits() -> Program:
    return Program(_large, model=Identifiers())


class TableOfIdentifiers(torch.nn.Module):
    names: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("names", BEYOND_32_BITS + 7 * torch.arange(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best = torch.relu(x * 2).argmax(-1)
        return self.names[best] + 1, best


@case(
    Family.TYPES,
    catches="an int64 index out of an engine, and an int64 buffer that it picks from",
    fallback=[RELU, "aten.index.Tensor"],
    wiring=True,
)
def int64_index_and_table() -> Program:
    return Program(floats((3, 8)), model=TableOfIdentifiers())
