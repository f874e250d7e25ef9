"""What fallbacks take and give."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from corpus.axes.sources import SOURCES, reads_from
from corpus.axes.space import Predicate, axis
from corpus.axes.view import Call, SplitView, is_getitem, meta_of

_IDENTITIES = ("aten.lift_fresh_copy.default", "aten.detach.default", "aten.alias.default")


def _namesake(view: SplitView, call: Call, placeholder: Node, argument: Any) -> str:
    """How a placeholder's name relates to the parent's nodes."""
    if isinstance(argument, Node) and placeholder.name == argument.name:
        return "right"
    other = view.by_name.get(placeholder.name)
    if other is None:
        return "none"
    return "earlier" if view.position[other] < view.position[call.node] else "later"


def _named(wanted: str) -> Predicate:
    return lambda view: any(
        _namesake(view, call, *pair) == wanted for call in view.fallbacks for pair in call.bound
    )


def _several_wrong(view: SplitView) -> bool:
    return any(
        sum(_namesake(view, call, *pair) in {"earlier", "later"} for pair in call.bound) > 1
        for call in view.fallbacks
    )


def _ordered(as_defined: bool) -> Predicate:
    def holds(view: SplitView) -> bool:
        for call in view.fallbacks:
            places = [view.position[item] for item in call.arguments if isinstance(item, Node)]
            if len(set(places)) > 1 and (places == sorted(places)) is as_defined:
                return True
        return False

    return holds


def _form(call: Call) -> str:
    returned = call.returned
    if not isinstance(returned, tuple | list):
        return "single"
    if any(isinstance(item, tuple | list) for item in returned):
        return "nested"
    if isinstance(returned, list):
        return "list"
    return "one-tuple" if len(returned) == 1 else "tuple"


def _returns(form: str) -> Predicate:
    return lambda view: any(_form(call) == form for call in view.fallbacks)


def _holds_output(wanted: str) -> Predicate:
    return lambda view: any(
        _content(call, output) == wanted for call in view.fallbacks for output in call.outputs
    )


def _content(call: Call, output: Any) -> str:
    if output is None:
        return "none"
    if isinstance(output, int):
        return "int"
    if not isinstance(output, Node):
        return "other literal"
    while output.op == "call_function" and str(output.target) in _IDENTITIES:
        output = output.args[0]
    if output.op == "placeholder":
        return "passed through"
    if output.op == "get_attr":
        value = call.held[str(output.target)]
        return "parameter" if isinstance(value, torch.nn.Parameter) else "constant"
    if isinstance(meta_of(output), torch.SymInt):
        return "symint"
    return "computed"


def _same_twice(view: SplitView) -> bool:
    for call in view.fallbacks:
        nodes = [output for output in call.outputs if isinstance(output, Node)]
        if len(set(nodes)) < len(nodes):
            return True
    return False


def _read_by(items: bool, whole: bool) -> Predicate:
    """Whether a container's elements are read by getitem, and the container as it is."""

    def holds(view: SplitView) -> bool:
        return any(
            any(map(is_getitem, call.node.users)) == items
            and any(not is_getitem(user) for user in call.node.users) == whole
            for call in view.fallbacks
            if not call.bare
        )

    return holds


INPUTS = axis(
    "fallback input",
    **{
        name: (f"a fallback reads {what}", reads_from(name, engines=False))
        for name, what in SOURCES.items()
    },
)
NAMES = axis(
    "placeholder name",
    right=("a placeholder has the name of the node it reads", _named("right")),
    earlier=("a placeholder has the name of an earlier node, a wrong one", _named("earlier")),
    later=("a placeholder has the name of a later node", _named("later")),
    several=("several placeholders of one fallback have names of wrong nodes", _several_wrong),
    none=("a placeholder has a name that no node has", _named("none")),
)
ORDER = axis(
    "argument order",
    as_defined=("a fallback's arguments come in the order of their definition", _ordered(True)),
    otherwise=("a fallback's arguments come in another order", _ordered(False)),
)
FORM = axis(
    "fallback output form",
    single=("a fallback returns one value", _returns("single")),
    tuple_=("a fallback returns a tuple", _returns("tuple")),
    one_tuple=("a fallback returns a tuple of one", _returns("one-tuple")),
    list_=("a fallback returns a list", _returns("list")),
    nested=("a fallback returns a container in a container", _returns("nested")),
)
CONTENT = axis(
    "fallback output",
    passed_through=("a fallback returns its own input", _holds_output("passed through")),
    constant=("a fallback returns a constant", _holds_output("constant")),
    parameter=("a fallback returns a parameter", _holds_output("parameter")),
    none=("a fallback returns None", _holds_output("none")),
    int_=("a fallback returns an int", _holds_output("int")),
    symint=("a fallback returns a SymInt", _holds_output("symint")),
    same_twice=("a fallback returns one value twice", _same_twice),
)
READ = axis(
    "fallback output use",
    getitem=("a fallback's elements are read by getitem", _read_by(True, False)),
    whole=("a fallback's container is read as it is", _read_by(False, True)),
    both=("a fallback's elements are read, and its container too", _read_by(True, True)),
)

AXES = (INPUTS, NAMES, ORDER, FORM, CONTENT, READ)
