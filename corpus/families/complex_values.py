"""Complex values beside real ones, and models of complex values that no engine is made of.

Lowering writes complex values as pairs of reals. What an op does to each part by itself is no
complex op then, and who makes pairs has to take them apart again. These cases are for the package
lane alone: the graph lane lowers nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, floats, keyword_floats


class OneMinus(torch.nn.Module):
    """What is left of one behind a complex factor, as a filter's complement."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(1 - torch.view_as_complex(torch.relu(x) * 2)) + 1


@case(
    Family.TYPES,
    catches="a real number beside a complex one, which is added to both of its parts",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_taken_from_one() -> Program:
    return Program(floats((2, 3, 2)), model=OneMinus())


class Turned(torch.nn.Module):
    """A turn by a right angle."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.view_as_complex(torch.relu(x) * 2) * 1j) + 1


@case(
    Family.TYPES,
    catches="a product with an imaginary number, done to each part by itself",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_times_an_imaginary_number() -> Program:
    return Program(floats((2, 3, 2)), model=Turned())


class Current(torch.nn.Module):
    """Real voltages over complex impedances."""

    def forward(self, impedance: torch.Tensor, voltage: torch.Tensor) -> torch.Tensor:
        ohms = torch.view_as_complex(torch.relu(impedance) * 2 + 1)
        return torch.view_as_real(voltage / ohms) + 1


@case(
    Family.TYPES,
    catches="a real tensor over a complex one of as many rows as columns, taken for pairs",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def real_over_complex() -> Program:
    return Program(floats((3, 3, 2), (3, 3)), model=Current())


class Attenuated(torch.nn.Module):
    def forward(self, x: torch.Tensor, orders: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.view_as_complex(torch.relu(x) * 2 + 1) ** orders) + 1


@case(
    Family.TYPES,
    catches="complex values to the power of as many real ones, which are taken for pairs",
    fallback=[RELU],
    eager_tolerance=1e-4,
    lanes=PACKAGE_ALONE,
)
def complex_to_the_power_of_reals() -> Program:
    return Program(floats((3, 3, 2), (3, 3)), model=Attenuated())


class Gated(torch.nn.Module):
    """Complex values where a gate is open, a real level elsewhere, and the gate behind them."""

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        waves = torch.view_as_complex(torch.relu(x) * 2)
        kept = torch.where(gate > 0, waves, gate)
        rows = torch.cat([kept, gate], 1)
        return torch.view_as_real(torch.stack([rows, torch.cat([gate, gate], 1)])) + 1


@case(
    Family.TYPES,
    catches="complex values that are chosen, joined and stacked beside real ones",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_joined_with_reals() -> Program:
    return Program(floats((2, 3, 2), (2, 3)), model=Gated())


class Product(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.view_as_complex(torch.relu(x) * 2 + 1).prod(1)) + 1


@case(
    Family.TYPES,
    catches="a product of complex numbers, taken for that of their parts",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def product_of_complex_numbers() -> Program:
    return Program(floats((2, 3, 2)), model=Product())


class Spread(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_complex(torch.relu(x) * 2).std(1) + 1


@case(
    Family.TYPES,
    catches="a deviation of complex numbers, whose differences are squared as they are",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def deviation_of_complex_numbers() -> Program:
    return Program(floats((2, 6, 2)), model=Spread())


class Rolled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(torch.roll(torch.view_as_complex(torch.relu(x) * 2), 1)) + 1


@case(
    Family.TYPES,
    catches="complex numbers that are rolled as a whole, by one part instead of by one number",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_rolled_as_a_whole() -> Program:
    return Program(floats((2, 3, 2)), model=Rolled())


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_complex(torch.relu(x)) * 2


@case(
    Family.TYPES,
    catches="a complex result of a model that is too small for an engine: pairs of reals",
    min_block_size=5,
    lanes=PACKAGE_ALONE,
)
def complex_result_without_an_engine() -> Program:
    return Program(floats((2, 3, 2)), model=Scaled())


class HandedBack(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, torch.relu(x.abs() - 1) * 2


def _numbers(*shapes: tuple[int, ...]) -> Callable[[torch.Generator, int | None], Inputs]:
    def inputs(generator: torch.Generator, _: int | None) -> Inputs:
        made = (torch.randn(each, generator=generator, dtype=torch.complex64) for each in shapes)
        return Inputs(tuple(made))

    return inputs


@case(
    Family.TYPES,
    catches="a complex input that is handed back beside another result: pairs of reals",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_input_handed_back() -> Program:
    return Program(_numbers((2, 3)), model=HandedBack())


class Centred(torch.nn.Module):
    """How far each number is from the mean of its row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = torch.view_as_complex(torch.relu(x) * 2)
        return torch.view_as_real(values - values.mean(-1, keepdim=True)) + 1


@case(
    Family.TYPES,
    catches="a mean of complex values that keeps its dimension",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_mean_taken_away() -> Program:
    return Program(floats((3, 3, 2)), model=Centred())


class Filtered(torch.nn.Module):
    def forward(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return torch.fft.ifft(torch.fft.fft(x) * weights)


@case(
    Family.TYPES,
    catches="a complex result out of a fallback, whose call has no value yet",
    fallback=["aten._fft_c2c.default"],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_result_out_of_a_fallback() -> Program:
    return Program(_numbers((2, 4), (4,)), model=Filtered())


class OverANumber(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (1 + 1j)


@case(
    Family.TYPES,
    catches="a quotient by a complex number, done to each part by itself",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_over_a_complex_number() -> Program:
    return Program(_numbers((2, 4)), model=OverANumber())


class OfTwoReals(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.exp(x + 1j * torch.relu(y))


@case(
    Family.TYPES,
    catches="an imaginary part that is made by 1j, of a real tensor that is no pair",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_of_two_reals_by_1j() -> Program:
    return Program(floats((2, 4), (2, 4)), model=OfTwoReals())


class TurnedBy(torch.nn.Module):
    """What is turned by angles that are given by keyword."""

    def forward(self, x: torch.Tensor, *, angles: torch.Tensor) -> torch.Tensor:
        turns = torch.complex(torch.cos(angles), torch.sin(angles))
        return torch.view_as_real(torch.view_as_complex(torch.relu(x) * 2) * turns) + 1


@case(
    Family.TYPES,
    catches="an input by keyword beside complex values, whose name is not found again",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
)
def complex_turned_by_a_keyword() -> Program:
    return Program(keyword_floats([(2, 3, 2)], angles=(3,)), model=TurnedBy())


class Squared(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(torch.relu(x) * 2)
        return pairs * pairs


@case(
    Family.TYPES,
    catches="a complex result of a batch that varies, which only the example's size comes through",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=PACKAGE_ALONE,
    dynamic=True,
)
def complex_result_of_a_dynamic_batch() -> Program:
    return Program(floats((DYNAMIC, 3, 2)), model=Squared(), dynamic_shapes=batch(), bounds=BOUNDS)
