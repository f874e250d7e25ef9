"""The values oracle: what a program computes, bit for bit.

NaN equals NaN of any payload; signed zeros are told apart; structure, shape and dtype are part of a
value, and so is the device where bits are compared; strides are not, since an engine returns
contiguous memory. What is drawn at random is compared by shape and statistics (`draws`).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs
from harness.rig.oracles import draws

#: The kind of a difference in how results are packed; the numbers may be right all the same.
STRUCTURE_DIFFERS = "structure differs"
#: Of two results without a tensor, which prove nothing.
NOTHING_COMPARED = "nothing compared"


@dataclass(frozen=True)
class ValueDifference:
    """Where two results differ first: its class, free of numbers, and a sentence for a person."""

    kind: str
    detail: str


def first_difference(
    expected: Any, got: Any, tolerance: float | None = None, *, may_be_empty: bool = False
) -> ValueDifference | None:
    """Where two results of one call differ first, or None.

    An empty comparison is a difference: a program without outputs proves nothing, unless
    ``may_be_empty`` says that something else is compared.

    Args:
        tolerance: relative and absolute, for the eager model; None for bit for bit. 0.0 allows no
            difference in value but takes signed zeros as equal.
    """
    left, left_spec = pytree.tree_flatten(expected)
    right, right_spec = pytree.tree_flatten(got)
    if left_spec != right_spec:
        return ValueDifference(STRUCTURE_DIFFERS, f"{right_spec}, should be {left_spec}")
    if not may_be_empty and not any(isinstance(leaf, torch.Tensor) for leaf in left):
        return ValueDifference(NOTHING_COMPARED, "no tensor among the outputs")
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        found = _leaf_difference(one, other, tolerance)
        if found is not None:
            return ValueDifference(found.kind, f"output {index}: {found.detail}")
    return None


def _leaf_difference(expected: Any, got: Any, tolerance: float | None) -> ValueDifference | None:
    both_tensors = isinstance(expected, torch.Tensor) and isinstance(got, torch.Tensor)
    if not both_tensors and type(expected) is not type(got):
        detail = f"{type(got).__name__}, should be {type(expected).__name__}"
        return ValueDifference("type differs", detail)
    if not both_tensors:
        detail = f"{got!r}, should be {expected!r}"
        same = expected == got or (expected != expected and got != got)  # NaN
        return None if same else ValueDifference("numbers differ", detail)
    if expected.shape != got.shape:
        detail = f"{tuple(got.shape)}, should be {tuple(expected.shape)}"
        return ValueDifference("shape differs", detail)
    if expected.dtype != got.dtype:
        return ValueDifference("dtype differs", f"{got.dtype}, should be {expected.dtype}")
    if tolerance is None and expected.device != got.device:
        return ValueDifference("device differs", f"{got.device}, should be {expected.device}")
    expected, got = expected.cpu(), got.cpu()
    equal = _same_bits(expected, got) if tolerance is None else _close(expected, got, tolerance)
    if bool(equal.all()):
        return None
    return ValueDifference("numbers differ", _describe(expected, got, equal))


def _same_bits(expected: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Elementwise: equal as bits, or both NaN."""
    if expected.dtype.is_complex:
        parts = _same_bits(torch.view_as_real(expected), torch.view_as_real(got))
        return parts.all(-1)
    if not expected.dtype.is_floating_point:
        return expected == got
    if expected.dtype.itemsize == 1:  # the float8 types have no comparison of their own
        expected, got = expected.to(torch.float32), got.to(torch.float32)
    signs = torch.signbit(expected) == torch.signbit(got)
    equal = (expected == got) & signs
    return equal | (torch.isnan(expected) & torch.isnan(got))


def _close(expected: torch.Tensor, got: torch.Tensor, tolerance: float) -> torch.Tensor:
    if not expected.dtype.is_floating_point:
        return expected == got
    return torch.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def _describe(expected: torch.Tensor, got: torch.Tensor, equal: torch.Tensor) -> str:
    wrong = (~equal).reshape(-1).nonzero().reshape(-1)
    at = int(wrong[0])
    where = ", ".join(str(int(i)) for i in torch.unravel_index(wrong[0], expected.shape))
    share = f"{len(wrong)} of {equal.numel()} elements"
    values = f"{got.reshape(-1)[at].item()!r}, should be {expected.reshape(-1)[at].item()!r}"
    return f"first wrong value at [{where}] is {values} ({share} differ)"


def _drawn_difference(expected: Any, got: Any) -> ValueDifference | None:
    """Where the draws of one call differ first in shape or distribution, or None."""
    if first_difference(expected, got) is None:
        return None
    left, left_spec = pytree.tree_flatten(expected)
    right, right_spec = pytree.tree_flatten(got)
    if left_spec != right_spec:
        return ValueDifference(STRUCTURE_DIFFERS, f"{right_spec}, should be {left_spec}")
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        found = _leaf_difference(one, other, None)
        if found is None:
            continue
        if found.kind != "numbers differ" or not isinstance(one, torch.Tensor):
            return ValueDifference(found.kind, f"output {index}: {found.detail}")
        detail = draws.difference(one, other)
        if detail:
            return ValueDifference("another distribution", f"output {index}: {detail}")
    return None


@dataclass(frozen=True)
class Observed:
    """What a program did: what each call returned and made of its inputs, and what state it left.

    ``state`` describes every parameter and buffer that the calls changed, by content and not by
    name, sorted: an inlined program has other names. ``drew`` tells of each call whether it draws
    random numbers; what it returned is then that of many draws, as `draws.draw` stacks it.
    """

    returned: list[Any]
    inputs: list[Any]
    state: tuple[str, ...]
    drew: tuple[bool, ...]

    def of_first_call(self) -> Observed:
        """What the first call alone did. The state is that of all calls, and is left out."""
        return Observed(self.returned[:1], self.inputs[:1], (), self.drew[:1])

    def flat(self) -> Observed:
        """The same, with what each call returned as a list, however it was packed."""
        returned = [pytree.tree_leaves(each) for each in self.returned]
        return replace(self, returned=returned)

    def difference(self, other: Observed, tolerance: float | None = None) -> ValueDifference | None:
        """Where ``other`` differs first, or None."""
        if self.drew != other.drew:
            detail = f"calls draw {list(other.drew)}, should be {list(self.drew)}"
            return ValueDifference("random numbers are drawn elsewhere", detail)
        pairs = zip(self.returned, other.returned, self.drew, strict=True)
        for number, (one, got, drew) in enumerate(pairs):
            if drew:
                found = _drawn_difference(one, got)
            else:
                # A model may return nothing and be known by the state that it leaves.
                found = first_difference(one, got, tolerance, may_be_empty=bool(self.state))
            if found is not None:
                return ValueDifference(found.kind, f"call {number}: {found.detail}")
        for number, (one, got) in enumerate(zip(self.inputs, other.inputs, strict=True)):
            found = first_difference((torch.empty(0), one), (torch.empty(0), got), tolerance)
            if found is not None:
                return ValueDifference(
                    "an input is left otherwise", f"call {number}: {found.detail}"
                )
        # Contents have no tolerance. That something of a kind was written to needs none.
        seen = _kinds if tolerance else tuple
        if seen(self.state) != seen(other.state):
            detail = f"changed {list(other.state)}, should be {list(self.state)}"
            return ValueDifference("state is left otherwise", detail)
        return None


def differences(
    expected: Observed, got: Observed, tolerance: float | None = None
) -> list[ValueDifference]:
    """Where ``got`` differs first; and where only its packing does, what differs behind that."""
    found = expected.difference(got, tolerance)
    if found is None:
        return []
    behind = None
    if found.kind == STRUCTURE_DIFFERS:
        behind = expected.flat().difference(got.flat(), tolerance)
    return [found] if behind is None else [found, behind]


def _kinds(state: Iterable[str]) -> tuple[str, ...]:
    """Type and shape of each content digest, sorted."""
    return tuple(sorted(each.rpartition(" ")[0] for each in state))


def observe(module: torch.nn.Module, calls: Sequence[Inputs], *, repeat: bool = True) -> Observed:
    """Call a module on every input, and on the first one again if ``repeat``; no gradients.

    The first call is made many times over if it draws random numbers. Each one gets inputs of its
    own: a program that writes to them must not change what the next program is given. The module
    itself is written to, if that is what it does.
    """
    before = _contents(module)
    returned, inputs, drew = [], [], []
    for number, call in enumerate((*calls, calls[0]) if repeat else calls):
        given: list[Inputs] = []
        times = 1 if number else draws.DRAWS
        result, drawn = draws.draw(partial(_once, module, call, given), times)
        returned.append(result)
        inputs.append((given[0].args, dict(given[0].kwargs)))
        drew.append(drawn)
    after = _contents(module)
    changed = sorted(after[name] for name in after if after[name] != before.get(name))
    return Observed(returned, inputs, tuple(changed), tuple(drew))


def _once(module: torch.nn.Module, call: Inputs, given: list[Inputs]) -> Any:
    own = copy.deepcopy(call)
    given.append(own)
    with torch.no_grad():
        # Copied, since a program may hand out its input or its state, and change it later.
        return copy.deepcopy(module(*own.args, **own.kwargs))


def _contents(module: torch.nn.Module) -> dict[str, str]:
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return {name: content_digest(tensor) for name, tensor in tensors}


def content_digest(tensor: torch.Tensor) -> str:
    """Type, shape and content of a tensor, as text: equal exactly for the same bits."""
    plain = tensor.detach().cpu().contiguous()
    content = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f"{plain.dtype} {tuple(plain.shape)} {digest}"
