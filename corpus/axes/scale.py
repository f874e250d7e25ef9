"""How much of it there is."""

from __future__ import annotations

import torch

from corpus.axes.space import Predicate, axis
from corpus.axes.view import SplitView

KIB, MIB = 2**10, 2**20
DOZEN = 12


def _steps(least: int, most: int) -> Predicate:
    return lambda view: least <= len(view.calls) <= most


def _fan_out(least: int, most: int) -> Predicate:
    def holds(view: SplitView) -> bool:
        readers = [sum(user in view.by_node for user in node.users) for node in view.values]
        return least <= max(readers, default=0) <= most

    return holds


def _fan_in(least: int, most: int) -> Predicate:
    return lambda view: least <= max((len(c.arguments) for c in view.calls), default=0) <= most


def _payload(least: int, most: int) -> Predicate:
    """Bytes of tensors that one engine holds."""
    return lambda view: any(
        least
        <= sum(v.numel() * v.itemsize for v in call.held.values() if isinstance(v, torch.Tensor))
        < most
        for call in view.engines
    )


STEPS = axis(
    "steps",
    one=("one child", _steps(1, 1)),
    few=("two to nine children", _steps(2, 9)),
    dozens=("ten to ninety-nine children", _steps(10, 99)),
    hundreds=("a hundred children or more", _steps(100, 10**6)),
)
FAN_OUT = axis(
    "fan-out",
    one=("no value has more than one reader", _fan_out(1, 1)),
    few=("a value has two to eleven readers", _fan_out(2, DOZEN - 1)),
    dozens=("a value has a dozen readers or more", _fan_out(DOZEN, 10**6)),
)
FAN_IN = axis(
    "fan-in",
    one=("no child has more than one input", _fan_in(1, 1)),
    few=("a child has two to eleven inputs", _fan_in(2, DOZEN - 1)),
    dozens=("a child has a dozen inputs or more", _fan_in(DOZEN, 10**6)),
)
PAYLOAD = axis(
    "payload",
    bytes=("an engine of less than a kilobyte", _payload(0, KIB)),
    kilobytes=("an engine of kilobytes", _payload(KIB, MIB)),
    megabytes=("an engine of a megabyte or more", _payload(MIB, 10**12)),
)

AXES = (STEPS, FAN_OUT, FAN_IN, PAYLOAD)
