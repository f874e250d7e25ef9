"""A custom op, as a user's module defines it; whoever loads a program with it imports this."""

import torch


@torch.library.custom_op("inliner_tests::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@halved.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
