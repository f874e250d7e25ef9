"""Compares programs that draw random numbers, by shape and by statistics over many draws.

The first call is made `DRAWS` times if it moves the generator, each time from a seed of its own,
and a later one `LATER` times; of later calls only shape and type are compared. If it returns the
same each time, nothing that counts was drawn: many models draw a number for each layer, to skip
some while they train, and read it in training alone. A program that draws the same numbers in
the same order agrees bit for bit. A program that draws other numbers is right if two moments
agree: every element's mean, and the whole output's mean and spread, each within `BOUND` standard
errors. The standard errors come from the draws themselves, which are independent of each other
even if the elements of one draw are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.utils._pytree as pytree

DRAWS = 64
LATER = 8
BOUND = 6.0  # standard errors; chance exceeds it twice in a thousand million comparisons


def draw(
    call: Callable[[], Any], alike: Callable[[list[Any]], bool], draws: int = DRAWS
) -> tuple[Any, bool]:
    """What a call returns, and whether that hangs on the random numbers that it draws.

    If it does, each tensor has the results of all ``draws``, stacked in a new first dimension. The
    generator's state is restored.

    Args:
        alike: whether all draws did the same; it is given what they returned.
    """
    with torch.random.fork_rng(devices=[]):
        _seed(0)
        before = torch.get_rng_state()
        first = call()
        if torch.equal(torch.get_rng_state(), before):
            return first, False
        results = [first]
        for seed in range(1, draws):
            _seed(seed)
            results.append(call())
    if alike(results):
        return first, False
    leaves = [pytree.tree_leaves(result) for result in results]
    stacked = [
        torch.stack(leaf) if isinstance(leaf[0], torch.Tensor) else leaf[0]
        for leaf in zip(*leaves, strict=True)
    ]
    return pytree.tree_unflatten(stacked, pytree.tree_structure(first)), True


def _seed(seed: int) -> None:
    """`torch.manual_seed`, which formats a traceback for each device that was never used."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def difference(expected: torch.Tensor, got: torch.Tensor) -> str:
    """How the distributions of two stacks of draws of one shape and type differ, or "".

    Fewer than `DRAWS` draws are too few for statistics and never differ.
    """
    if len(expected) < DRAWS:
        return ""
    one, other = (stack.detach().to(torch.float64).flatten(1) for stack in (expected, got))
    for what, measure in _MEASURES.items():
        mine, theirs = measure(one), measure(other)
        error = ((mine.var(0) + theirs.var(0)) / DRAWS).sqrt()
        gap = (mine.mean(0) - theirs.mean(0)).abs()
        # A value that does not vary between draws has no standard error, so rounding is allowed.
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


# Functions of draws of shape [draws, elements]; the mean of each over the draws is compared.
_MEASURES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "an element's mean": lambda draws: draws,
    "the sum's mean": lambda draws: draws.sum(1, keepdim=True),
    "the spread": _spread,
}
