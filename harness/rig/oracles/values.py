"""The values oracle: a program computes the right values, bit for bit.

NaN equals NaN of any payload, and signed zeros differ. Structure, shape and dtype are part of a
value, and so is the device where bits are compared. Strides are not, since an engine returns
contiguous memory. Random draws are compared by shape and statistics (see `draws`).
"""

from __future__ import annotations

import cmath
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
import torch.utils._pytree as pytree

from harness.rig.oracles import draws
from harness.wire.oracles import PACKING

#: Results are packed differently; their numbers may be right all the same.
STRUCTURE_DIFFERS = "structure differs"
INPUT_OVERWRITTEN = "an input is overwritten that the model leaves as it is"
#: A program returns less than the model, which no other packing of what it returns makes good.
OUTPUTS_MISSING = "outputs are missing"
#: Neither result has a tensor, so the comparison proves nothing.
NOTHING_COMPARED = "nothing compared"


@dataclass(frozen=True)
class ValueDifference:
    """Where two results differ first: ``kind`` has no numbers, ``detail`` is for a person."""

    kind: str
    detail: str


def first_difference(
    expected: Any,
    got: Any,
    tolerance: float | None = None,
    *,
    may_be_empty: bool = False,
    packing: bool = True,
) -> ValueDifference | None:
    """Where two results of one call differ first, or None.

    An empty comparison is a difference, because a program without outputs proves nothing;
    ``may_be_empty`` says that something else is compared as well.

    Args:
        tolerance: relative, and absolute as a share of the largest number up to 1; None compares
            bit for bit. 0.0 allows no difference in value but takes signed zeros as equal.
        packing: whether a number in place of a tensor, or another device, is a difference. If not,
            what is in there is compared.
    """
    left, left_spec = pytree.tree_flatten(expected)
    right, right_spec = pytree.tree_flatten(got)
    if left_spec != right_spec:
        return ValueDifference(STRUCTURE_DIFFERS, f"{right_spec}, should be {left_spec}")
    if not may_be_empty and not any(isinstance(leaf, torch.Tensor) for leaf in left):
        return ValueDifference(NOTHING_COMPARED, "no tensor among the outputs")
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        found = _leaf_difference(one, other, tolerance, packing=packing)
        if found is not None:
            return ValueDifference(found.kind, f"output {index}: {found.detail}")
    return None


def _leaf_difference(
    expected: Any, got: Any, tolerance: float | None, *, packing: bool = True
) -> ValueDifference | None:
    both_tensors = isinstance(expected, torch.Tensor) and isinstance(got, torch.Tensor)
    if not both_tensors and type(expected) is not type(got):
        detail = f"{type(got).__name__}, should be {type(expected).__name__}"
        if packing:
            return ValueDifference("type differs", detail)
        return None if _same_number(expected, got) else ValueDifference("numbers differ", detail)
    if not both_tensors:
        detail = f"{got!r}, should be {expected!r}"
        same = expected == got or (expected != expected and got != got)  # NaN
        return None if same else ValueDifference("numbers differ", detail)
    if expected.shape != got.shape:
        detail = f"{tuple(got.shape)}, should be {tuple(expected.shape)}"
        return ValueDifference("shape differs", detail)
    if expected.dtype != got.dtype:
        return ValueDifference("dtype differs", f"{got.dtype}, should be {expected.dtype}")
    if packing and tolerance is None and expected.device != got.device:
        return ValueDifference("device differs", f"{got.device}, should be {expected.device}")
    expected, got = _as_in_memory(expected.cpu()), _as_in_memory(got.cpu())
    if tolerance is None and _is_copy(expected, got):
        return None
    equal = _same_bits(expected, got) if tolerance is None else _close(expected, got, tolerance)
    if bool(equal.all()):
        return None
    return ValueDifference("numbers differ", _describe(expected, got, equal))


def _same_number(expected: Any, got: Any) -> bool:
    """Whether two leaves hold one number each, the same one but for what a float32 cannot hold."""
    numbers = [
        leaf.item() if isinstance(leaf, torch.Tensor) and leaf.numel() == 1 else leaf
        for leaf in (expected, got)
    ]
    if not all(isinstance(number, int | float | complex) for number in numbers):
        return False
    return cmath.isclose(*numbers, rel_tol=1e-6)


def _as_in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor whose memory holds its numbers, which that of `conj` and of its parts does not."""
    lazy = tensor.is_conj() or tensor.is_neg()
    return tensor.resolve_conj().resolve_neg() if lazy else tensor


_BITS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _is_copy(expected: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether all bits are equal, which is quickly asked and mostly so."""
    bits = _BITS.get(expected.dtype.itemsize)
    return bits is not None and torch.equal(expected.view(bits), got.view(bits))


def _same_bits(expected: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Which elements are equal as bits, or both NaN."""
    if expected.dtype.is_complex:
        parts = _same_bits(torch.view_as_real(expected), torch.view_as_real(got))
        return parts.all(-1)
    if not expected.dtype.is_floating_point:
        return expected == got
    if expected.dtype.itemsize == 1:  # torch cannot compare float8 types
        expected, got = expected.to(torch.float32), got.to(torch.float32)
    signs = torch.signbit(expected) == torch.signbit(got)
    equal = (expected == got) & signs
    return equal | (torch.isnan(expected) & torch.isnan(got))


def _close(expected: torch.Tensor, got: torch.Tensor, tolerance: float) -> torch.Tensor:
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        return expected == got
    # Of small numbers a smaller difference is one: a softmax over many classes has no large ones.
    finite = expected[torch.isfinite(expected)]
    largest = float(finite.abs().max()) if finite.numel() else 1.0
    allowed = tolerance * min(1.0, largest)
    return torch.isclose(got, expected, rtol=tolerance, atol=allowed, equal_nan=True)


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
    """What a program did: each call's result and its inputs afterwards, and the state it left.

    ``state`` has the digests of every parameter and buffer that the calls changed, sorted and
    without names, since an inlined program has other names; ``contents`` has these tensors, in the
    same order. ``drew`` says for each call whether what it does hangs on random numbers; its result
    is then that of many draws, stacked by `draws.draw`. ``wrote`` says for each call whether it
    changed the inputs that it was given.
    """

    returned: list[Any]
    inputs: list[Any]
    state: tuple[str, ...]
    drew: tuple[bool, ...]
    wrote: tuple[bool, ...]
    contents: tuple[torch.Tensor, ...] = field(default=(), compare=False)

    def of_first_call(self) -> Observed:
        """What the first call did, without the state, which is that of all calls."""
        return Observed(self.returned[:1], self.inputs[:1], (), self.drew[:1], self.wrote[:1])

    def flat(self) -> Observed:
        """The same, with each call's result as a flat list."""
        returned = [pytree.tree_leaves(each) for each in self.returned]
        return replace(self, returned=returned)

    def as_many_as(self, expected: Observed) -> Observed:
        """Of two that are flat: without what a call returns behind what is expected of it."""
        pairs = zip(self.returned, expected.returned, strict=True)
        return replace(self, returned=[got[: len(one)] for got, one in pairs])

    def parts(self) -> tuple[Observed, Observed, Observed]:
        """What it returned, what it did to its inputs, and the state it left, each by itself."""
        return (
            Observed(self.returned, [], (), self.drew, ()),
            Observed([], self.inputs, (), (), self.wrote),
            Observed([], [], self.state, (), (), self.contents),
        )

    def difference(
        self, other: Observed, tolerance: float | None = None, *, packing: bool = True
    ) -> ValueDifference | None:
        """Where ``other`` differs first, or None; for ``packing`` see `first_difference`."""
        if self.drew != other.drew:
            detail = f"calls draw {list(other.drew)}, should be {list(self.drew)}"
            return ValueDifference("random numbers are drawn elsewhere", detail)
        pairs = zip(self.returned, other.returned, self.drew, strict=True)
        for number, (one, got, drew) in enumerate(pairs):
            if drew:
                found = _drawn_difference(one, got)
            else:
                # A model that returns nothing is compared by the state that it leaves.
                found = first_difference(
                    one, got, tolerance, may_be_empty=bool(self.state), packing=packing
                )
            if found is not None:
                return ValueDifference(found.kind, f"call {number}: {found.detail}")
        for number, (one, got) in enumerate(zip(self.inputs, other.inputs, strict=True)):
            found = first_difference((torch.empty(0), one), (torch.empty(0), got), tolerance)
            if found is not None:
                overwritten = other.wrote[number] and not self.wrote[number]
                kind = INPUT_OVERWRITTEN if overwritten else "an input is left otherwise"
                return ValueDifference(kind, f"call {number}: {found.detail}")
        if not self._leaves_as(other, tolerance):
            detail = f"changed {list(other.state)}, should be {list(self.state)}"
            return ValueDifference("state is left otherwise", detail)
        return None

    def _leaves_as(self, other: Observed, tolerance: float | None) -> bool:
        """Whether each tensor that was changed has its like among the other's."""
        if not tolerance or self.state == other.state:
            return self.state == other.state
        if any(self.drew):  # what was drawn may be in the state
            return _kinds(self.state) == _kinds(other.state)
        left = list(other.contents)
        for one in self.contents:
            same = (n for n, got in enumerate(left) if not _leaf_difference(one, got, tolerance))
            place = next(same, None)
            if place is None:
                return False
            del left[place]
        return not left


def differences(
    expected: Observed, got: Observed, tolerance: float | None = None
) -> list[ValueDifference]:
    """The first difference; if that is in the packing, also the first one in what is packed.

    What is returned behind all that is expected is a matter of the packing.
    """
    found = expected.difference(got, tolerance)
    if found is None:
        return []
    behind = None
    if found.kind in PACKING:
        leaves, others = expected.flat(), got.flat()
        behind = _missing(leaves, others)
        behind = behind or leaves.difference(others.as_many_as(leaves), tolerance, packing=False)
    return [found] if behind is None else [found, behind]


def _missing(expected: Observed, got: Observed) -> ValueDifference | None:
    """Of two that are flat: the first call that returns less than it should."""
    for number, (one, other) in enumerate(zip(expected.returned, got.returned, strict=True)):
        if len(other) < len(one):
            detail = f"call {number}: {len(other)}, should be {len(one)}"
            return ValueDifference(OUTPUTS_MISSING, detail)
    return None


def is_only_as_wrong_as(
    compiled: Observed, got: Observed, right: Observed, tolerance: float
) -> bool:
    """Whether all that a program does wrong is, bit for bit, what the compiled module does.

    Saving it is not to blame then. A program may do better than that module: 2.14 leaves it to the
    loader of a program to write some buffers back. How results are packed does not count.
    """
    compiled, got, right = compiled.flat(), got.flat(), right.flat()
    if right.difference(got, tolerance) is None or right.difference(compiled, tolerance) is None:
        return False
    return all(
        part.difference(of_got, tolerance) is None or _is_alike(of_compiled, of_got)
        for part, of_compiled, of_got in zip(
            right.parts(), compiled.parts(), got.parts(), strict=True
        )
    )


def _is_alike(one: Observed, other: Observed) -> bool:
    found = one.difference(other)
    return found is None or found.kind == NOTHING_COMPARED


def _kinds(state: Iterable[str]) -> tuple[str, ...]:
    """The type and shape in each content digest, sorted."""
    return tuple(sorted(each.rpartition(" ")[0] for each in state))
