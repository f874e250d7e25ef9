"""Who reads one value."""

from __future__ import annotations

from torch.fx import Node

from corpus.axes.space import Predicate, axis
from corpus.axes.view import SplitView


def _readers(view: SplitView, node: Node, engines: bool) -> int:
    calls = [view.by_node[user] for user in node.users if user in view.by_node]
    return sum(call.is_engine == engines for call in calls)


def _read_by(least: int, most: int, engines: bool) -> Predicate:
    def holds(view: SplitView) -> bool:
        return any(least <= _readers(view, node, engines) <= most for node in view.values)

    return holds


def _read_by_both(view: SplitView) -> bool:
    return any(_readers(view, node, True) and _readers(view, node, False) for node in view.values)


MANY = 10**6

READERS = axis(
    "readers",
    one_fallback=("one fallback reads a value", _read_by(1, 1, False)),
    two_fallbacks=("two fallbacks read a value", _read_by(2, 2, False)),
    many_fallbacks=("three or more fallbacks read a value", _read_by(3, MANY, False)),
    one_engine=("one engine reads a value", _read_by(1, 1, True)),
    two_engines=("two engines read a value", _read_by(2, 2, True)),
    many_engines=("three or more engines read a value", _read_by(3, MANY, True)),
    both=("a fallback and an engine read a value", _read_by_both),
)

AXES = (READERS,)
