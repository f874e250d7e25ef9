"""What the wiring oracle knows about ops: identities, mutations, random draws and casts."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

IDENTITIES = frozenset(
    {
        torch.ops.aten.detach.default,
        torch.ops.aten.lift_fresh_copy.default,
        torch.ops.aten.alias.default,
        # In-place by schema; they change autograd and aliasing only, which no term contains.
        torch.ops.aten.detach_.default,
        torch.ops.aten.lift_fresh.default,
    }
)

#: Makes a tensor of a number.
OF_A_NUMBER = "aten.scalar_tensor.default"
ITEMS = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})
CASTS = frozenset({OF_A_NUMBER, "aten.to.device", "aten.to.dtype"})


def has_effect(node: Node) -> bool:
    return mutates(node) or is_random(node)


def mutates(node: Node) -> bool:
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.is_mutable
        and node.target not in IDENTITIES
    )


def is_random(node: Node) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    names = [argument.name for argument in target._schema.arguments]
    # Dropout of a model in eval mode draws nothing.
    return "train" not in names or bool(bound_arguments(node)[names.index("train")])


def bound_arguments(node: Node) -> list[Any]:
    """An op's arguments in the order of its schema, with defaults filled in."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return [*node.args, *(value for _, value in sorted(node.kwargs.items()))]
    bound: list[Any] = []
    for index, argument in enumerate(node.target._schema.arguments):
        if index < len(node.args):
            bound.append(node.args[index])
        elif argument.name in node.kwargs:
            bound.append(node.kwargs[argument.name])
        else:
            bound.append(argument.default_value)
    return bound
