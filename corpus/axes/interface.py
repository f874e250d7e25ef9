"""How a model is called, and what it hands back."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import torch.utils._pytree as pytree
from torch.fx import Node

from corpus.axes.space import Predicate, axis
from corpus.axes.view import SplitView

# Value name to words.
CONTAINERS = {
    "dict_": "a dictionary",
    "list_": "a list",
    "tuple_": "a tuple",
    "namedtuple": "a named tuple",
    "dataclass": "a dataclass",
    "none": "None",
}


def _containers(value: Any) -> Iterator[str]:
    """The kinds of containers in a value, at any depth, and of None."""
    if value is None:
        yield "none"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield "dataclass"
        for item in dataclasses.fields(value):
            yield from _containers(getattr(value, item.name))
    elif isinstance(value, dict):
        yield "dict_"
        for inner in value.values():
            yield from _containers(inner)
    elif isinstance(value, list | tuple):
        named = isinstance(value, tuple) and hasattr(value, "_fields")
        yield "namedtuple" if named else "tuple_" if isinstance(value, tuple) else "list_"
        for inner in value:
            yield from _containers(inner)


def _takes(kind: str) -> Predicate:
    def holds(view: SplitView) -> bool:
        given = (*view.inputs.args, *view.inputs.kwargs.values())
        return any(kind in _containers(value) for value in given)

    return holds


def returned_form(view: SplitView) -> Any:
    """What the model returns, with the graph's nodes for tensors."""
    info = getattr(view.split.graph._codegen, "pytree_info", None)
    if info is None or info.out_spec is None:
        return view.split.graph.output_node().args[0]
    return pytree.tree_unflatten(list(view.outputs), info.out_spec)


def _gives(kind: str) -> Predicate:
    return lambda view: kind in _containers(returned_form(view))


def _declared_order(view: SplitView) -> list[str]:
    """The names of the model's arguments in its own order; a handmade split's in its spec's."""
    if view.model is not None:
        return list(inspect.signature(view.model.forward).parameters)
    info = getattr(view.split.graph._codegen, "pytree_info", None)
    return [] if info is None else list(info.in_spec.child(1).context)


def _another_order(view: SplitView) -> bool:
    if not view.inputs.kwargs:
        return False
    given = list(view.inputs.kwargs)
    order = [name for name in _declared_order(view) if name in view.inputs.kwargs]
    return given != order


def _by_keyword(view: SplitView) -> bool:
    """What was captured by keyword is taken by keyword alone from then on."""
    return bool(view.inputs.kwargs)


def _default_left_out(view: SplitView) -> bool:
    if view.model is None:
        return False
    bound = inspect.signature(view.model.forward).bind(*view.inputs.args, **view.inputs.kwargs)
    left_out = set(bound.signature.parameters) - set(bound.arguments)
    parameters = bound.signature.parameters.values()
    return any(p.name in left_out and p.default is not p.empty for p in parameters)


def _tensors_returned(view: SplitView) -> int:
    return sum(isinstance(output, Node) for output in view.outputs)


CALLED = axis(
    "arguments",
    positional=("called with positional arguments", lambda view: bool(view.inputs.args)),
    other_order=("keywords in another order than the signature's", _another_order),
    keyword_only=("an argument that is taken by keyword alone", _by_keyword),
    default=("a default that the call leaves out", _default_left_out),
)
TAKES = axis(
    "model input",
    **{
        name: (f"an argument is or holds {what}", _takes(name)) for name, what in CONTAINERS.items()
    },
)
GIVES = axis(
    "model output",
    **{name: (f"the model returns {what}", _gives(name)) for name, what in CONTAINERS.items()},
)
INPUT_USE = axis(
    "model input use",
    unused=(
        "an input that nothing reads",
        lambda view: any(not n.users for n in view.placeholders),
    ),
    returned=(
        "an input that the model returns",
        lambda view: any(node in view.outputs for node in view.placeholders),
    ),
)
COUNT = axis(
    "model outputs",
    one=("one output", lambda view: _tensors_returned(view) == 1),
    several=("several outputs", lambda view: _tensors_returned(view) > 1),
    none=("no output", lambda view: _tensors_returned(view) == 0),
)

AXES = (CALLED, TAKES, GIVES, INPUT_USE, COUNT)
