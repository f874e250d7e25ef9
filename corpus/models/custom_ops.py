"""Custom ops as users register them: no release has a converter for any, so each falls back.

Importing this module registers them; whoever loads a program with one has to import it first.
"""

from __future__ import annotations

import torch


@torch.library.custom_op("corpus::gate", mutates_args=())
def gate(x: torch.Tensor, threshold: float) -> torch.Tensor:
    """Keep what is above a threshold, and a tenth of the rest."""
    return torch.where(x > threshold, x, x * 0.1)


@gate.register_fake
def _(x: torch.Tensor, threshold: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("corpus::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first and the last half of the last dimension, each in memory of its own."""
    first, last = x.chunk(2, -1)
    return first.clone(), last.clone()


@halves.register_fake
def _(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first, last = x.chunk(2, -1)
    return torch.empty_like(first), torch.empty_like(last)


@torch.library.custom_op("corpus::thirds", mutates_args=())
def thirds(x: torch.Tensor) -> list[torch.Tensor]:
    """The three thirds of the last dimension, as a list."""
    return [part.clone() for part in x.chunk(3, -1)]


@thirds.register_fake
def _(x: torch.Tensor) -> list[torch.Tensor]:
    return [torch.empty_like(part) for part in x.chunk(3, -1)]


@torch.library.custom_op("corpus::mix", mutates_args=())
def mix(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """A linear layer of its own, with weights that it is given."""
    mixed = x @ weight.t()
    return mixed if bias is None else mixed + bias


@mix.register_fake
def _(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@torch.library.custom_op("corpus::remember", mutates_args={"state"})
def remember(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    """Add to a state in place, and return what it was."""
    before = state.clone()
    state.add_(x.sum(0, keepdim=True))
    return before


@remember.register_fake
def _(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(state)
