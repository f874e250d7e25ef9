"""Models that are compiled with `enable_autocast`, and have other tensors than floating ones.

These cases are for the package lane alone: the graph lane lowers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.attributes import LINEAR
from corpus.families.caches import HEADS, PACKAGE_ALONE, WIDTH, Cache
from corpus.inputs import floats

HALF = {"enable_autocast": True, "autocast_low_precision_type": torch.float16}
TOKEN = 2049  # the first whole number that float16 does not hold


class Found(torch.nn.Module):
    """Where a token stands, by its number."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.relu(tokens) == TOKEN


def _tokens(generator: torch.Generator, _: int | None) -> Inputs:
    tokens = torch.tensor([TOKEN - 1, TOKEN, TOKEN + 1, 2 * TOKEN - 1])
    return Inputs((tokens[torch.randperm(4, generator=generator)][None],))


@case(
    Family.TYPES,
    catches="numbers of tokens that are cast to float16, where neighbours are one number",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def token_found_in_autocast() -> Program:
    return Program(_tokens, model=Found())


class Embedded(torch.nn.Module):
    """Where a token's vector has a three; whole numbers, as float16 holds these."""

    def __init__(self) -> None:
        super().__init__()
        numbers = torch.arange(TOKEN * 2 * 8).reshape(-1, 8) % 5
        self.table = torch.nn.Embedding.from_pretrained(numbers.float())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.table(tokens)) == 3


@case(
    Family.TYPES,
    catches="an embedding, whose numbers of tokens are cast to float16",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def embedding_in_autocast() -> Program:
    return Program(_tokens, model=Embedded())


class Halves(torch.nn.Module):
    """Where the first half of a row lies above the second; autocast keeps the type of no number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, other = x.chunk(2, 1)
        return torch.relu(one) > other


@case(
    Family.TYPES,
    catches="an op with several outputs, of which a cast makes one tensor",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def chunks_in_autocast() -> Program:
    return Program(floats((2, 8)), model=Halves())


class Loud(torch.nn.Module):
    """What float16 does not hold, of inputs of the usual size."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 1e3 + 2e3) * 1e2 * 1e-5


class LoudThenQuiet:
    """Two batches to calibrate with; of the second one the model makes zeros."""

    def __iter__(self) -> Iterator[tuple[torch.Tensor]]:
        yield (torch.ones(2, 8),)
        yield (torch.zeros(2, 8) - 2,)


@case(
    Family.TYPES,
    catches="numbers that float16 does not hold, as the first of two calibration batches shows",
    fallback=[RELU],
    eager_tolerance=1e-2,
    settings={**HALF, "autocast_calibration_dataloader": LoudThenQuiet()},
    lanes=PACKAGE_ALONE,
)
def loud_numbers_in_calibrated_autocast() -> Program:
    return Program(floats((2, 8)), model=Loud())


class Written(Cache):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.keys[:, :, 2:4] = x
        return torch.relu(self.keys * 2) > 1


@case(
    Family.TYPES,
    catches="a cache, whose new rows are written into a cast of it",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
    state=True,
)
def cache_in_autocast() -> Program:
    return Program(floats((1, HEADS, 2, WIDTH)), model=Written())


class Divided(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 4)

    def forward(self, counts: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.project(counts / 8)) > 0


def _counts(generator: torch.Generator, _: int | None) -> Inputs:
    return Inputs((torch.randint(8, (2, 4), generator=generator),))


@case(
    Family.TYPES,
    catches="a quotient of whole numbers, which is no float16, before a Linear that is",
    fallback=[RELU],
    eager_tolerance=1e-2,
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def whole_numbers_divided_in_autocast() -> Program:
    return Program(_counts, model=Divided())


class Normed(torch.nn.Module):
    """A norm in float32, as language models have it, in front of a Linear."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))
        self.project = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return torch.relu(self.project(self.weight * h)) > 0


@case(
    Family.TYPES,
    catches="what is cast to float32 by the model itself, noted as float16, before a Linear",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def norm_of_floats_in_autocast() -> Program:
    return Program(floats((2, 8)), model=Normed())


class Rectified(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu_(self.first(x)) @ self.second > 0


@case(
    Family.TYPES,
    catches="what an op in place returns, noted as float32, before an op that is excluded",
    fallback=LINEAR,
    settings={**HALF, "autocast_excluded_ops": {"torch.ops.aten.matmul.default"}},
    lanes=PACKAGE_ALONE,
)
def rectified_in_place_in_autocast() -> Program:
    return Program(floats((2, 8)), model=Rectified())


class HalfWritten(torch.nn.Module):
    kept: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, _ = self.kept.chunk(2)
        first.add_(x.round())
        return torch.relu(self.kept * 2) > 1


@case(
    Family.TYPES,
    catches="a write through one of several views, which goes into a cast of what they view",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
    state=True,
)
def write_through_a_chunk_in_autocast() -> Program:
    return Program(floats((1, 8)), model=HalfWritten())


class ManyClasses(torch.nn.Module):
    """As many classes as a language model has, all alike: more than float16 can count."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(torch.relu(x) * 0.01, -1) > -12


@case(
    Family.TYPES,
    catches="a log_softmax whose sum over all classes is beyond float16",
    fallback=[RELU],
    settings=HALF,
    lanes=PACKAGE_ALONE,
)
def many_classes_in_autocast() -> Program:
    return Program(floats((1, 70_000)), model=ManyClasses())
