"""State of which a model reads what it was before the call, by another piece or as a view.

They go through the package lane alone, as `corpus.families.caches`.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.caches import HEADS, PACKAGE_ALONE, WIDTH, Cache
from corpus.inputs import floats


class OldRows(Cache):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = self.keys * torch.sin(x.mean() * 2)
        self.keys[:, :, 2:4] = x
        return old, self.keys + x.mean()


@case(
    Family.CACHES,
    catches="old rows of a cache that are read behind the engine which writes to it in place",
    fallback=["aten.sin.default"],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def old_rows_read_by_a_later_piece() -> Program:
    return Program(floats((1, HEADS, 2, WIDTH)), model=OldRows())


class OldAsAView(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.randn(2, 8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = self.state.clone()
        self.state.copy_(x)
        return old[:, :4], x * 2


@case(
    Family.CACHES,
    catches="a slice of what the state was, which is returned and shows what the state became",
    fallback=["aten.slice.Tensor"],
    wiring=True,
    lanes=PACKAGE_ALONE,
    state=True,
)
def old_state_as_a_view() -> Program:
    return Program(floats((2, 8)), model=OldAsAView())
