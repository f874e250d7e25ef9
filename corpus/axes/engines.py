"""What engines take and give."""

from __future__ import annotations

import torch
from torch.fx import Node

from corpus.axes.sources import SOURCES, reads_from
from corpus.axes.space import Predicate, axis
from corpus.axes.view import Call, SplitView, is_getitem, leaves, meta_of


def _gives(least: int, most: int) -> Predicate:
    return lambda view: any(least <= len(call.outputs) <= most for call in view.engines)


def _unused(view: SplitView) -> bool:
    return any(_has_unused(call) for call in view.engines)


def _has_unused(call: Call) -> bool:
    users = list(call.node.users)
    if call.bare or any(not is_getitem(user) for user in users):
        return not users
    read = {item.args[1] for item in call.items if item.users}
    return read != set(range(len(call.outputs)))


def _out_of_order(view: SplitView) -> bool:
    for call in view.engines:
        read = [item.args[1] for item in sorted(call.items, key=view.position.__getitem__)]
        if read != sorted(read):  # type: ignore[type-var]
            return True
    return False


def _read_twice(view: SplitView) -> bool:
    reads = [[item.args[1] for item in call.items] for call in view.engines]
    return any(len(set(read)) < len(read) for read in reads)


def _read_whole(view: SplitView) -> bool:
    return any(
        not call.bare and any(not is_getitem(user) for user in call.node.users)
        for call in view.engines
    )


def _nested(view: SplitView) -> bool:
    """An output that is an element of what was computed of an element: chunk of chunk."""
    return any(
        isinstance(output, Node) and is_getitem(output) and _of_an_element(view, call, output)
        for call in view.engines
        for output in call.outputs
    )


def _of_an_element(view: SplitView, call: Call, node: Node) -> bool:
    """Whether a getitem is behind a node of a segment, in it or before it."""
    given = dict(call.bound)
    stack = list(node.all_input_nodes)
    while stack:
        source = stack.pop()
        argument = given.get(source)
        if is_getitem(source) or (isinstance(argument, Node) and is_getitem(argument)):
            return True
        stack.extend(source.all_input_nodes)
    return False


def _returned(view: SplitView) -> bool:
    makers = [view.maker(output) for output in view.outputs]
    return any(call is not None and call.is_engine for call in makers)


def _tensors(view: SplitView) -> list[torch.Tensor]:
    values = [meta_of(item) for call in view.engines for item in leaves(call.returned)]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _other_dtype(view: SplitView) -> bool:
    return any(value.dtype is not torch.float32 for value in _tensors(view))


def _empty(view: SplitView) -> bool:
    return any(0 in [size for size in t.shape if isinstance(size, int)] for t in _tensors(view))


INPUTS = axis(
    "engine input",
    **{
        name: (f"an engine reads {what}", reads_from(name, engines=True))
        for name, what in SOURCES.items()
    },
)
COUNT = axis(
    "engine outputs",
    one=("an engine has one output", _gives(1, 1)),
    two=("an engine has two outputs", _gives(2, 2)),
    many=("an engine has three or more outputs", _gives(3, 10**6)),
)
USE = axis(
    "engine output use",
    unused=("an engine's output is read by nobody", _unused),
    out_of_order=("an engine's outputs are read in another order", _out_of_order),
    twice=("two getitems read one output of an engine", _read_twice),
    whole=("an engine's outputs are read as a whole", _read_whole),
    nested=("an engine's output is an element of an element", _nested),
    returned=("the model returns an engine's output", _returned),
)
KIND = axis(
    "engine output kind",
    other_dtype=("an engine's output is no float32", _other_dtype),
    scalar=("an engine's output is 0-d", lambda view: any(t.dim() == 0 for t in _tensors(view))),
    empty=("an engine's output has no elements", _empty),
)

AXES = (INPUTS, COUNT, USE, KIND)
