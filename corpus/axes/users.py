"""What users met: sizes at boundaries, writes to inputs, forms of caches, ways to call.

Few cases have any of these, and each asks for a model of its own. So every value needs a case, and
no pair of values does: the axes are alone.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import Node

from corpus.axes.interface import returned_form
from corpus.axes.shapes import is_unbacked
from corpus.axes.space import Predicate, alone, axis
from corpus.axes.state import is_view, root_of, writes
from corpus.axes.view import Call, SplitView, is_getitem, meta_of

_NUMBER = torch.SymInt | torch.SymFloat
_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
_SIZE = "aten.sym_size.int"
_ITEM = {"aten.item.default", "aten._local_scalar_dense.default"}


def _out_of(view: SplitView) -> Iterator[Node]:
    """What engines return, in the engines."""
    for call in view.engines:
        yield from (output for output in call.outputs if isinstance(output, Node))


def _source(view: SplitView, node: Node) -> Node:
    """The node in a child that made what a node of the parent holds; itself if none did."""
    call = view.maker(node)
    if call is None:
        return node
    index = node.args[1] if is_getitem(node) else 0
    assert isinstance(index, int)
    made = call.outputs[index]
    return made if isinstance(made, Node) else node


def _into(view: SplitView) -> Iterator[Node]:
    """What engines read, as it was made."""
    for call in view.engines:
        yield from (_source(view, item) for item in call.arguments if isinstance(item, Node))


def _is_number(node: Any) -> bool:
    return isinstance(meta_of(node), _NUMBER)


def _arithmetic(view: SplitView) -> bool:
    """A number that crosses is computed by Python's own operators."""
    crossing = [*_out_of(view), *_into(view)]
    return any(_is_number(node) and node.target in _ARITHMETIC for node in crossing)


def _item(view: SplitView) -> bool:
    return any(str(node.target) in _ITEM for node in _into(view))


def _fraction(view: SplitView) -> bool:
    return any(isinstance(meta_of(node), torch.SymFloat) for node in _into(view))


def _read_for_its_size(view: SplitView) -> bool:
    inputs = [node for call in view.engines for node, _ in call.bound]
    return any(node.users and {str(u.target) for u in node.users} == {_SIZE} for node in inputs)


def _returns_a_size(view: SplitView) -> bool:
    made = [_source(view, item) for item in view.outputs if isinstance(item, Node)]
    return any(map(_is_number, made))


def _written_inputs(view: SplitView) -> Iterator[tuple[Call, Node, Node, bool]]:
    """Every write to an input: the call, the op, the input, and whether it is a part of it."""
    for call, node, target in writes(view):
        given, part = _origin(view, call, target)
        if given in view.placeholders:
            yield call, node, given, part


def _origin(view: SplitView, call: Call, node: Node) -> tuple[Node, bool]:
    """The node whose memory a node of a child has, and whether it is only a part of that.

    It is an input of the model, an attribute, or what an op made.
    """
    root, part = root_of(node), is_view(node)
    argument = dict(call.bound).get(root)
    if not isinstance(argument, Node):
        return root, part
    maker, source = view.maker(argument), _source(view, argument)
    if maker is None or source is argument:
        return argument, part
    origin, through = _origin(view, maker, source)
    return origin, part or through


def _read_later(view: SplitView, call: Call, written: Node, given: Node) -> bool:
    """Whether an op behind a write reads the input; that it wrote to it is no reading."""
    place = view.position[call.node]
    if any(view.position[user] > place for user in given.users if user in view.by_node):
        return True
    behind = False
    for node in call.child.graph.nodes:
        if behind and node.op == "call_function":
            roots = [_origin(view, call, read)[0] for read in node.all_input_nodes]
            if given in roots:
                return True
        behind = behind or node is written
    return False


def _later(read: bool) -> Predicate:
    return lambda view: any(
        _read_later(view, call, node, given) is read
        for call, node, given, _ in _written_inputs(view)
    )


def _some_write(of_part: bool) -> Predicate:
    return lambda view: any(part is of_part for *_, part in _written_inputs(view))


def _written_and_returned(view: SplitView) -> bool:
    written = {given for _, _, given, _ in _written_inputs(view)}
    for output in view.outputs:
        call, source = view.maker(output), output
        if call is not None:
            source = _origin(view, call, _source(view, output))[0]
        if source in written:
            return True
    return False


def _caches(view: SplitView) -> Iterator[tuple[Call, Node, str]]:
    """Every write to a buffer: the call, the node that is written to, the buffer's name."""
    for call, _, target in writes(view):
        origin, _ = _origin(view, call, target)
        if origin.op == "get_attr":
            yield call, target, str(origin.target)


def _some_cache(wanted: Any) -> Predicate:
    return lambda view: any(wanted(*item) for item in _caches(view))


def _bound_by_a_number(_: Call, target: Node, __: str) -> bool:
    return is_view(target) and any(_is_number(argument) for argument in target.args)


def _written_twice(view: SplitView) -> bool:
    return any(times > 1 for times in Counter(name for _, _, name in _caches(view)).values())


def _strided(view: SplitView) -> bool:
    written = {name for _, _, name in _caches(view)}
    held = [value for call in view.calls for name, value in call.held.items() if name in written]
    return any(not value.is_contiguous() for value in held)


def _read_elsewhere(view: SplitView) -> bool:
    """A child reads a buffer that another child writes to."""
    return any(
        name in _buffers_read(view, other)
        for call, _, name in _caches(view)
        for other in view.calls
        if other.target != call.target
    )


def _buffers_read(view: SplitView, call: Call) -> set[str]:
    origins = [_origin(view, call, placeholder)[0] for placeholder, _ in call.bound]
    return {*call.held, *(str(origin.target) for origin in origins if origin.op == "get_attr")}


def _parameters(view: SplitView) -> Mapping[str, inspect.Parameter]:
    return {} if view.model is None else inspect.signature(view.model.forward).parameters


def _takes(kind: Any) -> Predicate:
    return lambda view: any(each.kind is kind for each in _parameters(view).values())


def _optional_left_out(view: SplitView) -> bool:
    given = {*list(_parameters(view))[: len(view.inputs.args)], *view.inputs.kwargs}
    return any(
        each.default is None and name not in given for name, each in _parameters(view).items()
    )


def _none_in_between(view: SplitView) -> bool:
    pairs = itertools.pairwise(view.inputs.args)
    return any(one is None and isinstance(other, torch.Tensor) for one, other in pairs)


def _keys(value: Any) -> Any:
    """The keys of dictionaries in their order, at any depth."""
    if isinstance(value, Mapping):
        return [(key, _keys(item)) for key, item in value.items()]
    return [_keys(item) for item in value] if isinstance(value, list | tuple) else None


def _another_order_at_save(view: SplitView) -> bool:
    given, saved = view.inputs, view.given_to_save
    if saved is None:
        return False
    return _keys((given.args, given.kwargs)) != _keys((saved.args, saved.kwargs))


def _beside_tensors(kind: Any) -> Predicate:
    def holds(view: SplitView) -> bool:
        leaves = pytree.tree_leaves(returned_form(view), is_leaf=lambda leaf: leaf is None)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Node)]
        return bool(tensors) and any(isinstance(leaf, kind) for leaf in leaves)

    return holds


def _both_ways(is_one: Any) -> Predicate:
    def holds(view: SplitView) -> bool:
        given = (*view.inputs.args, *view.inputs.kwargs.values())
        return any(is_one(value) for value in given) and is_one(returned_form(view))

    return holds


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


_BOUNDARY = axis(
    "number at an engine",
    out=("an engine returns a size or a number", lambda v: any(map(_is_number, _out_of(v)))),
    into=("an engine reads a size or a number", lambda view: any(map(_is_number, _into(view)))),
    arithmetic=("a number that crosses is computed from sizes", _arithmetic),
    item=("an engine reads what `.item()` read", _item),
    fraction=("an engine reads a number that is not whole", _fraction),
    returned=("the model returns a size", _returns_a_size),
    size_alone=("an engine reads a tensor for its size alone", _read_for_its_size),
    data_dependent_out=(
        "an engine's output has a size that depends on data",
        lambda view: any(is_unbacked(meta_of(node)) for node in _out_of(view)),
    ),
    data_dependent_into=(
        "an engine's input has a size that depends on data",
        lambda view: any(is_unbacked(meta_of(node)) for node in _into(view)),
    ),
)
_WRITE = axis(
    "write to an input",
    whole=("an input is written to whole", _some_write(False)),
    part=("a part of an input is written to", _some_write(True)),
    read_later=("an input is written to and read afterwards", _later(True)),
    not_read=("an input is written to, and nothing reads it afterwards", _later(False)),
    fallback=(
        "a fallback writes to an input",
        lambda view: any(not call.is_engine for call, *_ in _written_inputs(view)),
    ),
    two=(
        "two inputs are written to",
        lambda view: len({given for _, _, given, _ in _written_inputs(view)}) > 1,
    ),
    returned=("an input is written to and returned", _written_and_returned),
)
_CACHE = axis(
    "cache",
    submodule=(
        "a submodule's buffer is written to",
        _some_cache(lambda call, target, name: "." in name),
    ),
    fallback=("a fallback writes to a buffer", _some_cache(lambda call, *_: not call.is_engine)),
    number=("a number bounds what is written of a buffer", _some_cache(_bound_by_a_number)),
    whole=(
        "a buffer is overwritten whole",
        lambda view: any(
            str(op.target) == "aten.copy_.default" and target.op == "get_attr"
            for _, op, target in writes(view)
        ),
    ),
    twice=("a buffer is written to twice", _written_twice),
    strided=("a buffer that is not contiguous is written to", _strided),
    read_elsewhere=("a child reads a buffer that another one writes to", _read_elsewhere),
)
_FORM = axis(
    "form of a call",
    star=("the model takes `*args`", _takes(inspect.Parameter.VAR_POSITIONAL)),
    star_keywords=("the model takes `**kwargs`", _takes(inspect.Parameter.VAR_KEYWORD)),
    keywords_alone=(
        "called with keywords alone",
        lambda view: bool(view.inputs.kwargs) and not view.inputs.args,
    ),
    other_order_at_save=("saved with keys in another order", _another_order_at_save),
    optional=("an optional argument is left out", _optional_left_out),
    none_between=("None is given before a tensor", _none_in_between),
    nothing=(
        "called with nothing",
        lambda view: not view.inputs.args and not view.inputs.kwargs,
    ),
    none_out=("None is returned beside a tensor", _beside_tensors(type(None))),
    number_out=("a number is returned beside a tensor", _beside_tensors(int | float)),
    dict_both_ways=(
        "a dictionary in and one out",
        _both_ways(lambda value: isinstance(value, dict)),
    ),
    dataclass_both_ways=("a dataclass in and one out", _both_ways(_is_dataclass)),
)

AXES = tuple(alone(one) for one in (_BOUNDARY, _WRITE, _CACHE, _FORM))
