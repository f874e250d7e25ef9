"""What a split module does beside computing: writing, drawing, aliasing."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx import Node

from corpus.axes.space import axis
from corpus.axes.view import Call, SplitView


def _written(node: Node) -> list[Node]:
    """The arguments that an op writes to."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return []
    return [
        value
        for argument, value in zip(schema.arguments, node.args, strict=False)
        if argument.alias_info is not None and argument.alias_info.is_write
        for value in ([value] if isinstance(value, Node) else [])
    ]


def is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.returns:
        return False
    alias = schema.returns[0].alias_info
    return alias is not None


def root_of(node: Node) -> Node:
    """The node whose memory this one has."""
    while is_view(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def writes(view: SplitView) -> Iterator[tuple[Call, Node, Node]]:
    """Every write: the call, the op, and the value that it writes to."""
    for call in view.calls:
        for node in call.child.graph.nodes:
            for target in _written(node):
                yield call, node, target


def _in_place(view: SplitView) -> Iterator[tuple[Call, Node, Node]]:
    """Every write: the call, the op, and whose memory it writes to."""
    for call, node, target in writes(view):
        yield call, node, root_of(target)


def _mutated_buffers(view: SplitView) -> set[tuple[str, str]]:
    return {(c.target, str(root.target)) for c, _, root in _in_place(view) if root.op == "get_attr"}


def _mutated_and_returned(view: SplitView) -> bool:
    mutated = _mutated_buffers(view)
    for output in view.outputs:
        call = view.maker(output)
        if call is None:
            continue
        roots = [root_of(item) for item in call.outputs if isinstance(item, Node)]
        if any((call.target, str(root.target)) in mutated for root in roots):
            return True
    return False


def _random(view: SplitView) -> bool:
    return any(_draws(node) for call in view.calls for node in call.child.graph.nodes)


def _draws(node: Node) -> bool:
    """Whether an op is random; a dropout that is told not to train is not."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    names = [argument.name for argument in node.target._schema.arguments]  # type: ignore[union-attr]
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    return given.get("train", True) is not False and given.get("dropout_p", 1.0) != 0.0


def _aliasing(view: SplitView) -> bool:
    """An output of a fallback that shares memory with its input, or with another output."""
    for call in view.fallbacks:
        outputs = list(dict.fromkeys(item for item in call.outputs if isinstance(item, Node)))
        roots = [root_of(item) for item in outputs]
        viewing = [root for item, root in zip(outputs, roots, strict=True) if item is not root]
        if any(root.op == "placeholder" or roots.count(root) > 1 for root in viewing):
            return True
    return False


STATE = axis(
    "state",
    in_place=("an op writes to what it reads", lambda view: any(True for _ in _in_place(view))),
    one_buffer=("one buffer is written to", lambda view: len(_mutated_buffers(view)) == 1),
    several_buffers=(
        "several buffers are written to",
        lambda view: len(_mutated_buffers(view)) > 1,
    ),
    returned=("a buffer is written to and returned", _mutated_and_returned),
    random=("an op draws random numbers", _random),
    aliasing=("a fallback's output shares memory with its input or another", _aliasing),
)

AXES = (STATE,)
