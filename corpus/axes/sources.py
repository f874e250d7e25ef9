"""Where the inputs of a child come from: one question, asked of engines and of fallbacks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.fx import Node

from corpus.axes.space import Predicate
from corpus.axes.view import Call, SplitView

# Value name to words, in the order in which they are printed.
SOURCES = {
    "graph_input": "an input of the model",
    "engine_output": "an engine's output",
    "fallback_output": "a fallback's output",
    "constant": "a constant of the parent",
    "same_twice": "the same value twice",
    "none": "nothing",
}


def reads_from(source: str, *, engines: bool) -> Predicate:
    """Whether an engine (or a fallback) reads something of that source."""

    def holds(view: SplitView) -> bool:
        calls = view.engines if engines else view.fallbacks
        return any(_reads(view, call, source) for call in calls)

    return holds


def _reads(view: SplitView, call: Call, source: str) -> bool:
    if source == "none":
        return not call.arguments
    if source == "same_twice":
        read = Counter(item for item in call.arguments if isinstance(item, Node))
        return any(times > 1 for times in read.values())
    return any(_source(view, item) == source for item in call.arguments)


def _source(view: SplitView, item: Any) -> str:
    maker = view.maker(item)
    if maker is not None:
        return "engine_output" if maker.is_engine else "fallback_output"
    if not isinstance(item, Node) or item.op == "get_attr":
        return "constant"
    return "graph_input" if item.op == "placeholder" else "loose op"
