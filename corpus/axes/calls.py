"""How children are called, and what else stands in the parent."""

from __future__ import annotations

from collections import Counter

from corpus.axes.space import axis
from corpus.axes.view import SplitView, is_getitem


def _targets(view: SplitView) -> Counter[str]:
    return Counter(call.target for call in view.calls)


def _named_unlike(view: SplitView) -> bool:
    times = _targets(view)
    # The second call of one child cannot have its name; that is another value.
    return any(c.node.name != c.target and times[c.target] == 1 for c in view.calls)


def _nested(view: SplitView) -> bool:
    return any(
        any(node.op == "call_module" for node in call.child.graph.nodes) for call in view.calls
    )


def _loose(view: SplitView) -> bool:
    loose = [n for n in view.values if n.op == "call_function" and not is_getitem(n)]
    return bool(loose) and bool(view.calls)


CALL = axis(
    "call",
    other_name=("a call's node is not named after its child", _named_unlike),
    twice=("one child is called twice", lambda view: max(_targets(view).values(), default=0) > 1),
    keywords=("a call gives keyword arguments", lambda v: any(c.node.kwargs for c in v.calls)),
    no_arguments=(
        "a child is called without arguments",
        lambda view: any(not call.arguments for call in view.calls),
    ),
    nested=("a child has children of its own", _nested),
)
PARENT = axis(
    "parent",
    loose_ops=("ops stand in the parent beside its children", _loose),
    only_engines=("only engines", lambda view: bool(view.engines) and not view.fallbacks),
    only_fallbacks=("only fallbacks", lambda view: bool(view.fallbacks) and not view.engines),
    neither=("neither engine nor fallback", lambda view: not view.calls),
    both=("engines and fallbacks", lambda view: bool(view.engines) and bool(view.fallbacks)),
)

AXES = (CALL, PARENT)
