"""What a program that draws random numbers is held against: shape, and statistics over many draws.

The first call that moves the generator is made `DRAWS` times, each draw from a seed of its own; of
the later ones shape and type are compared. A program that draws the same numbers in the same order
agrees bit for bit. One that draws others is right if they are of the same distribution as far as
two moments tell: every element's mean, and the whole output's mean and spread, each within `BOUND`
standard errors. Standard errors come from the draws themselves, which are independent of each other
whatever the elements of one draw are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.utils._pytree as pytree

DRAWS = 64
BOUND = 6.0  # standard errors: chance exceeds it twice in a thousand million


def draw(call: Callable[[], Any], draws: int = DRAWS) -> tuple[Any, bool]:
    """What a call returns, and whether it draws random numbers.

    If it does, each tensor has the results of all ``draws``, stacked in a new first dimension. The
    generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        first = call()
        if torch.equal(torch.get_rng_state(), before):
            return first, False
        results = [first]
        for seed in range(1, draws):
            torch.manual_seed(seed)
            results.append(call())
    leaves = [pytree.tree_leaves(result) for result in results]
    stacked = [
        torch.stack(leaf) if isinstance(leaf[0], torch.Tensor) else leaf[0]
        for leaf in zip(*leaves, strict=True)
    ]
    return pytree.tree_unflatten(stacked, pytree.tree_structure(first)), True


def difference(expected: torch.Tensor, got: torch.Tensor) -> str:
    """How the distributions of two stacks of draws of one shape and type differ, or "".

    Fewer draws than `DRAWS` have no statistics.
    """
    if len(expected) < DRAWS:
        return ""
    one, other = (stack.detach().to(torch.float64).flatten(1) for stack in (expected, got))
    for what, measure in _MEASURES.items():
        mine, theirs = measure(one), measure(other)
        error = ((mine.var(0) + theirs.var(0)) / DRAWS).sqrt()
        gap = (mine.mean(0) - theirs.mean(0)).abs()
        # What does not vary from draw to draw has no standard error, only rounding.
        wrong = gap > BOUND * error + 1e-9 * mine.mean(0).abs()
        if bool(wrong.any()):
            at = int(wrong.nonzero()[0])
            return (
                f"{what} is {theirs.mean(0)[at].item():.6g}, should be "
                f"{mine.mean(0)[at].item():.6g} within {BOUND * error[at].item():.2g}"
            )
    return ""


def _spread(draws: torch.Tensor) -> torch.Tensor:
    """A draw's squared distance from the mean of all draws."""
    return (draws - draws.mean(0)).square().sum(1, keepdim=True)


# What is measured of each draw of shape [draws, elements]; its mean over the draws is compared.
_MEASURES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "an element's mean": lambda draws: draws,
    "the sum's mean": lambda draws: draws.sum(1, keepdim=True),
    "the spread": _spread,
}
