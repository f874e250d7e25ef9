"""What a module does when it is called, for oracles to compare: its results, inputs and state."""

from __future__ import annotations

import copy
import hashlib
import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs
from harness.rig.oracles import draws
from harness.rig.oracles.values import Observed, first_difference


def observe(module: torch.nn.Module, calls: Sequence[Inputs], *, repeat: bool = True) -> Observed:
    """Call a module on every input, and on the first one again if ``repeat``, without gradients.

    A call that draws random numbers is made many times. Each call gets a copy of its inputs, so
    that a program that writes to them does not change what the next one gets. The module itself is
    not copied: its calls may change it, and with them what a draw leaves behind.
    """
    before = _contents(module)
    returned, inputs, drew, wrote = [], [], [], []
    for number, call in enumerate((*calls, calls[0]) if repeat else calls):
        given: list[Inputs] = []
        times = draws.LATER if number else draws.DRAWS
        alike = partial(_draws_change_nothing, module, before, given)
        result, drawn = draws.draw(partial(_once, module, call, given), alike, times)
        returned.append(result)
        inputs.append((given[0].args, dict(given[0].kwargs)))
        drew.append(drawn)
        wrote.append(
            first_difference(_tensors(call), _tensors(given[0]), may_be_empty=True) is not None
        )
    after = _contents(module)
    changed = sorted((after[name], name) for name in after if after[name] != before.get(name))
    tensors = dict(_state_of(module))
    return Observed(
        returned,
        inputs,
        tuple(digest for digest, _ in changed),
        tuple(drew),
        tuple(wrote),
        tuple(tensors[name].detach().clone() for _, name in changed),
    )


def observe_unchanged(module: torch.nn.Module, calls: Sequence[Inputs]) -> Observed:
    """What a module does, whose state is as before when it has been called.

    A copy is called. A module that holds a tensor with a history of gradients, which torch does not
    copy, is called itself, as its user does, and gets back what it held.
    """
    try:
        copied = copy.deepcopy(module)
    except RuntimeError:  # whoever saves it copies it, and says so
        held = tuple(tensor for _, tensor in _state_of(module))
        before = [tensor.detach().clone() for tensor in held]
        with torch.autograd._unsafe_preserve_version_counter(held), torch.no_grad():
            try:
                return observe(module, calls)
            finally:
                for tensor, content in zip(held, before, strict=True):
                    tensor.copy_(content)
    return observe(copied, calls)


def _tensors(call: Inputs) -> list[Any]:
    return pytree.tree_leaves((call.args, dict(call.kwargs)))


def _draws_change_nothing(
    module: torch.nn.Module, before: dict[str, str], given: list[Inputs], results: list[Any]
) -> bool:
    """Whether all draws of a call returned the same, did the same to their inputs, and left the
    state as it was ``before`` all calls.
    """
    if _contents(module) != before:
        return False
    first, *others = zip(results, map(_tensors, given), strict=True)
    return all(first_difference(first, each, may_be_empty=True) is None for each in others)


def _kept(returned: Any) -> Any:
    """A copy of what a call returned, which later calls do not change."""
    try:
        return copy.deepcopy(returned)
    except RuntimeError:  # a tensor with a history of gradients, which torch does not copy
        return pytree.tree_map_only(torch.Tensor, lambda one: one.detach().clone(), returned)


def _once(module: torch.nn.Module, call: Inputs, given: list[Inputs]) -> Any:
    own = copy.deepcopy(call)
    given.append(own)
    with torch.no_grad():
        # A copy, since a program may return its input or its state and change it later.
        return _kept(module(*own.args, **own.kwargs))


def _contents(module: torch.nn.Module) -> dict[str, str]:
    return {name: content_digest(tensor) for name, tensor in _state_of(module)}


def _state_of(module: torch.nn.Module) -> Iterable[tuple[str, torch.Tensor]]:
    return itertools.chain(module.named_parameters(), module.named_buffers())


def content_digest(tensor: torch.Tensor) -> str:
    """A tensor's type, shape and digest as text, equal exactly for the same bits."""
    digest = hashlib.sha256(bytes_of(tensor)).hexdigest()[:16]
    return f"{tensor.dtype} {tuple(tensor.shape)} {digest}"


def bytes_of(tensor: torch.Tensor) -> bytes:
    """The elements of a tensor in their order, whatever its strides."""
    # A tensor of one element counts as contiguous with any stride, and only a copy has stride 1.
    plain = tensor.detach().cpu().reshape(-1).clone(memory_format=torch.contiguous_format)
    return plain.view(torch.uint8).numpy().tobytes()
