"""An axis and its values: the words in which the structure space is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from corpus.axes.view import SplitView

Predicate = Callable[[SplitView], bool]


@dataclass(frozen=True)
class Value:
    """One value of an axis: ``what`` says it in words, ``holds`` whether a split module has it."""

    axis: str
    name: str
    what: str
    holds: Predicate

    @property
    def id(self) -> str:
        return f"{self.axis}/{self.name}"


@dataclass(frozen=True)
class Axis:
    """A question about a split module. A case may have several values of one axis, or none.

    ``alone`` says that each value needs a case, and no pair of one with another axis's does.
    """

    name: str
    values: tuple[Value, ...]
    alone: bool = False


def axis(name: str, **values: tuple[str, Predicate]) -> Axis:
    """An axis from ``value_name=(what, holds)``; underscores in names are printed as dashes."""
    return Axis(
        name,
        tuple(
            Value(name, key.strip("_").replace("_", "-"), what, holds)
            for key, (what, holds) in values.items()
        ),
    )


def alone(one: Axis) -> Axis:
    """The axis, of which no pair of values with another axis's is wanted."""
    return replace(one, alone=True)


def values_held(axes: tuple[Axis, ...], view: SplitView) -> tuple[str, ...]:
    """The ids of the values that a split module has, in the order of the axes."""
    return tuple(value.id for one in axes for value in one.values if value.holds(view))
