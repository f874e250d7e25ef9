"""What a user's function returns for one call of a model: read, scaled, compared and told."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs


def as_inputs(given: Any) -> Inputs:
    """What a user's function returns, as the arguments of one call.

    A pair of a tuple and a dictionary is arguments and keywords, a dictionary is keywords, a tuple
    or list is arguments, and anything else is the only argument.
    """
    if isinstance(given, tuple | list) and len(given) == 2:
        first, second = given
        if isinstance(first, tuple | list) and type(second) is dict and _are_names(second):
            return Inputs(tuple(first), second)
    if type(given) is dict and _are_names(given):
        return Inputs((), given)
    if type(given) in (tuple, list):
        return Inputs(tuple(given))
    return Inputs((given,))


def scaled(inputs: Inputs, generator: torch.Generator) -> Inputs:
    """Inputs of which every floating tensor is multiplied by one drawn factor of 0.5 to 1.

    A user's function that returns the same values each time would not show a program that
    returns what it computed first. Zeros, signs and infinities stay as they are.
    """
    factor = 0.5 + 0.5 * float(torch.rand((), generator=generator))

    def scale(leaf: Any) -> Any:
        floating = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf * factor if floating else leaf

    args, kwargs = pytree.tree_map(scale, (inputs.args, dict(inputs.kwargs)))
    return Inputs(args, kwargs)


def _are_names(given: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in given)


def equal(one: Inputs, other: Inputs) -> bool:
    """Whether two calls are given the same values, bit for bit where they are tensors."""
    leaves = (pytree.tree_leaves((each.args, dict(each.kwargs))) for each in (one, other))
    return all(
        torch.equal(a, b) if isinstance(a, torch.Tensor) else a is b or a == b
        for a, b in zip(*leaves, strict=True)
    )


def told(inputs: Inputs) -> Iterator[str]:
    """Each argument in a few words, such as ``torch.float32 [4, 8]``."""
    for leaf in pytree.tree_leaves((inputs.args, dict(inputs.kwargs))):
        is_tensor = isinstance(leaf, torch.Tensor)
        yield f"{leaf.dtype} {list(leaf.shape)}" if is_tensor else kind(leaf)


def kind(value: Any) -> str:
    """`None`, or such as `the int 5` in one short line."""
    return "None" if value is None else f"the {type(value).__name__} {reprlib.repr(value)}"
