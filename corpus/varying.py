"""The sizes of a model's inputs that vary: which there are, where, and inputs with these sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.utils._pytree as pytree

from corpus.case import Inputs

#: More numbers than this in the inputs of one call take too long, and too much memory, on a CPU.
MOST_NUMBERS: Final = 2**27

Path = tuple[Any, ...]
"""Where a tensor is in ``(args, kwargs)``: keys of dictionaries and places in sequences."""


class CannotVary(Exception):
    """The sizes are not stated in a way that fits the model; says what to write instead."""


@dataclass(frozen=True)
class Varying:
    """One size that varies on its own, from ``low`` to ``high``, both inclusive.

    ``key`` is equal for the places of one size alone. ``takes`` is the range that the program is
    exported with, which may be wider than what is tried, and has None where nothing is stated.
    """

    key: Any
    low: int
    high: int
    takes: tuple[int, int | None]

    @classmethod
    def of(
        cls, key: Any, low: int, high: int | None, own: int, takes: tuple[int, int | None]
    ) -> Varying:
        """One that is tried up to ``high``, or else to twice the example's ``own`` size."""
        return cls(key, low, max(2 * own, low + 1) if high is None else high, takes)

    def near(self, size: int, bounds: tuple[int, int]) -> int:
        """The size nearest to this one; for one above ``bounds``, one above its own range."""
        if size > bounds[1]:
            return (self.takes[1] or self.high) + 1
        return min(max(size, self.low), self.high)


@dataclass(frozen=True)
class Place:
    """One dimension of one tensor, which has ``factor`` times a size that varies, plus ``offset``.

    ``named`` is how a user writes it, INPUT:DIMENSION.
    """

    path: Path
    axis: int
    named: str
    size: Varying
    factor: int = 1
    offset: int = 0

    def at(self, size: int) -> int:
        """How large it is where the size that varies is as large as this."""
        return self.factor * size + self.offset

    @property
    def range(self) -> str:
        """The sizes that it may have, as a user writes them."""
        if self.size.takes[1] is None:
            return f"{self.at(self.size.low)} or more"
        return f"{self.at(self.size.low)}:{self.at(self.size.high)}"


@dataclass(frozen=True)
class Sizes:
    """What a `Program` needs of its dynamic dimensions.

    ``bounds`` are the least and the largest of all sizes that vary, and None where none does.
    ``ranges`` has the ranges that the program takes where they are not just these, and
    ``unbounded`` says that some size has no largest one.
    """

    shapes: Any = None
    places: tuple[Place, ...] = ()
    bounds: tuple[int, int] | None = None
    ranges: tuple[tuple[int, int | None], ...] = ()
    unbounded: bool = False

    def is_the_example(self, size: int | None) -> bool:
        """Whether a user's own sizes stand for this one: at the middle of ``bounds`` they do."""
        return self.bounds is None or size is None or size == sum(self.bounds) // 2

    def applied(self, given: Inputs, size: int) -> Inputs:
        """Inputs with every dynamic dimension of this size, as far as its own range allows.

        One above the upper bound every size is one above its own. Values are repeated, so that
        indices stay in range.
        """
        assert self.bounds is not None
        bounds, by_path = self.bounds, dict[Path, list[Place]]()
        for place in self.places:
            by_path.setdefault(place.path, []).append(place)

        def resize(path: Path, leaf: Any) -> Any:
            for place in by_path.get(path, ()):
                wanted = place.at(place.size.near(size, bounds))
                if leaf.shape[place.axis] == wanted:
                    continue
                index = torch.arange(wanted) % leaf.shape[place.axis]
                leaf = leaf.index_select(place.axis, index)
            return leaf

        args, kwargs = pytree.tree_map_with_path(
            lambda keys, leaf: resize(plain(keys), leaf), (given.args, dict(given.kwargs))
        )
        return Inputs(args, kwargs)


def sizes_of(shapes: Any, places: Sequence[Place], example: Inputs) -> Sizes:
    """The sizes that vary in these places.

    Raises:
        CannotVary: the example has none of these sizes, or they are too large to try.
    """
    if not places:
        return Sizes()
    for place in places:
        size = at(example, place.path).shape[place.axis]
        own, rest = divmod(size - place.offset, place.factor)
        if rest or not place.size.low <= own <= place.size.high:
            multiple = f" in steps of {place.factor}" if place.factor > 1 else ""
            raise CannotVary(
                f"the example has size {size} in {place.named}, where {place.range}{multiple} is "
                "stated; give an example within that range"
            )
    varying = {place.size for place in places}
    _refuse_two_sizes(places, example)
    bounds = min(each.low for each in varying), max(each.high for each in varying)
    ranges = tuple(sorted({each.takes for each in varying}, key=str))
    unbounded = any(high is None for _, high in ranges)
    made = Sizes(shapes, tuple(places), bounds, ranges if ranges != (bounds,) else (), unbounded)
    _refuse_huge(made, example)
    return made


def _refuse_two_sizes(places: Sequence[Place], example: Inputs) -> None:
    first: dict[Varying, tuple[int, Place]] = {}
    for place in places:
        size = at(example, place.path).shape[place.axis]
        own = (size - place.offset) // place.factor
        known, other = first.setdefault(place.size, (own, place))
        if known != own:
            raise CannotVary(
                f"{other.named} and {place.named} are stated as one size, and the example has "
                f"{at(example, other.path).shape[other.axis]} and {size} there; state each by "
                "itself, or give an example in which they fit"
            )


def _refuse_huge(sizes: Sizes, example: Inputs) -> None:
    numbers = 0
    for path, leaf in leaves(example):
        if not isinstance(leaf, torch.Tensor):
            continue
        own = {
            place.axis: place.at(place.size.high) for place in sizes.places if place.path == path
        }
        shape = [own.get(axis, size) for axis, size in enumerate(leaf.shape)]
        numbers += int(torch.Size(shape).numel())
    if numbers > MOST_NUMBERS:
        raise CannotVary(
            f"at the largest sizes one call is given {numbers:,} numbers, which takes too long "
            "here; state a smaller range"
        )


def leaves(example: Inputs) -> Iterator[tuple[Path, Any]]:
    """Everything that a model is given, with where it is."""
    found, _ = pytree.tree_flatten_with_path((example.args, dict(example.kwargs)))
    for keys, leaf in found:
        yield plain(keys), leaf


def plain(keys: Sequence[Any]) -> Path:
    """Where a leaf is, out of pytree's own keys."""
    return tuple(
        getattr(key, "key", getattr(key, "idx", getattr(key, "name", None))) for key in keys
    )


def at(example: Inputs, path: Path) -> torch.Tensor:
    """The tensor that is there."""
    found = dict(leaves(example))[path]
    assert isinstance(found, torch.Tensor)
    return found
