"""Models that do many things at once, so that one compilation asks much of lowering and tracing.

Each thing has a case of its own, which tells what is wrong. These are for who waits: `--quick`
asks them in the place of a dozen.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from corpus.case import Family, Inputs, Program, case
from corpus.families.alternating_relu import RELU
from corpus.families.caches import PACKAGE_ALONE
from corpus.families.dynamic_shapes import BOUNDS
from corpus.families.keyword_ranges import lengths, up_to_twice_as_many
from corpus.inputs import floats, size_of_call


class Lowered(torch.nn.Module):
    """A constant and its transpose, shared heads, a mask of columns, complex means turned round in
    both dimensions and over, a median, fractions as many as whole numbers, the variance of a
    population, and a border that is of another width on each side, around a convolution's own.
    """

    weight: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(4, 4))
        self.convolution = torch.nn.Conv2d(2, 3, 2, padding=1)

    def forward(
        self, x: torch.Tensor, query: torch.Tensor, key: torch.Tensor, fill: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        doubled = self.weight * 2
        symmetric = torch.relu(x @ doubled) - torch.relu(x @ doubled.t())
        heads = functional.scaled_dot_product_attention(query, key, key * 2, enable_gqa=True)
        columns = torch.tensor([True, False, False, True])
        filled = torch.relu(x).masked_scatter(columns, fill * 2)
        waves = torch.view_as_complex(torch.relu(query[0, :3, :, :2]) * 2)
        turned = (waves - waves.mean(1, keepdim=True)).flip(-2).flip(-1).permute(-1, 0)
        middle, place = torch.median(x * 3, dim=1)
        middle = middle - torch.full_like(place, 0.5, dtype=torch.float32)
        spread = (x * 2).var(1, unbiased=False) + (x * 3).std(1)
        bordered = self.convolution(functional.pad(key, (1, 2, 0, 3)))
        waved = torch.view_as_real(turned)
        return symmetric, heads + 1, filled + 1, waved + 1, middle - 1, place, spread, bordered


@case(
    Family.TYPES,
    catches="much of what lowering writes anew, in one model",
    fallback=[RELU],
    eager_tolerance=1e-5,
    settings={"decompose_attention": True},
    lanes=PACKAGE_ALONE,
)
def much_of_lowering_at_once() -> Program:
    return Program(floats((2, 4), (1, 4, 3, 8), (1, 2, 3, 8), (2, 2)), model=Lowered())


class Traced(torch.nn.Module):
    """Two inputs of one size that varies, which the user names, one of another size, a list of
    states, and keywords out of their order. A second engine gets two times as many rows, and
    one as many numbers as a size and some, less two.
    """

    def forward(
        self,
        left: torch.Tensor,
        right: torch.Tensor,
        many: torch.Tensor,
        *,
        scale: torch.Tensor,
        shift: torch.Tensor,
        states: list[torch.Tensor],
    ) -> tuple[torch.Tensor, ...]:
        hidden, kept = states
        made = torch.relu(left * scale - right * hidden)
        twice = torch.relu(torch.cat([left * 2, right * 3])) * kept
        fewer = torch.relu(torch.cat([scale, shift])[: left.shape[0] + 4 - 2] - 1) * 2
        return made * 2 + right * kept, made * shift, twice, torch.relu(many - 1) * 2, fewer


def _inputs(generator: torch.Generator, size: int | None) -> Inputs:
    many = up_to_twice_as_many(generator, size).kwargs["b"]
    rows = size_of_call(size, BOUNDS, example=BOUNDS[1])
    left, right = (torch.randn(rows, 8, generator=generator) for _ in range(2))
    scale, shift, hidden, kept = (torch.randn(8, generator=generator) for _ in range(4))
    keywords = {"states": [hidden, kept], "shift": shift, "scale": scale}
    return Inputs((left, right, many), keywords)


@case(
    Family.INTERFACES,
    catches="much of how a module is traced that torch_tensorrt.compile is given, at once",
    fallback=[RELU],
    wiring=True,
    dynamic=True,
    lanes=PACKAGE_ALONE,
    module_given=True,
)
def much_of_tracing_at_once() -> Program:
    dims = lengths()
    return Program(
        _inputs,
        model=Traced(),
        dynamic_shapes={
            "left": dims["a"],
            "right": dims["a"],
            "many": dims["b"],
            "scale": None,
            "shift": None,
            "states": [None, None],
        },
        bounds=BOUNDS,
        ranges=(BOUNDS, (BOUNDS[0], 2 * BOUNDS[1])),
        names_sizes=True,
    )
