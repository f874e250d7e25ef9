"""Which sizes are known, and to whom."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_symbols, free_unbacked_symbols

from corpus.axes.space import axis
from corpus.axes.view import SplitView, leaves, meta_of


def _input_sizes(view: SplitView) -> list[Any]:
    """The symbolic sizes of the model's inputs, as expressions."""
    values = [meta_of(node) for node in view.placeholders]
    sizes = [size for value in values for size in getattr(value, "shape", ())]
    return [size.node.expr for size in sizes if isinstance(size, torch.SymInt)]


def _symbols(view: SplitView) -> set[Any]:
    return {symbol for size in _input_sizes(view) for symbol in size.free_symbols}


def _shared(view: SplitView) -> bool:
    """One dynamic dimension in two places of the inputs."""
    return any(times > 1 for times in Counter(_input_sizes(view)).values())


def _derived(view: SplitView) -> bool:
    return any(not size.is_symbol for size in _input_sizes(view))


def _across_an_engine(view: SplitView) -> bool:
    given = [meta_of(item) for call in view.engines for pair in call.bound for item in pair]
    given += [meta_of(output) for call in view.engines for output in call.outputs]
    return any(isinstance(value, torch.SymInt) for value in given)


def _data_dependent(view: SplitView) -> bool:
    values = [meta_of(node) for call in view.calls for node in call.child.graph.nodes]
    values += [meta_of(node) for node in view.values]
    return any(is_unbacked(value) for value in leaves(values))


def is_unbacked(value: Any) -> bool:
    """Whether a number, or a size of a tensor, depends on data."""
    if not isinstance(value, torch.Tensor | torch.SymInt) or not free_symbols(value):
        return False
    return bool(free_unbacked_symbols(value))


DIMS = axis(
    "dimensions",
    static=("every size is a number", lambda view: not _symbols(view)),
    one=("one dynamic dimension", lambda view: len(_symbols(view)) == 1),
    several=("several dynamic dimensions", lambda view: len(_symbols(view)) > 1),
)
SIZES = axis(
    "sizes",
    bounds=("a dynamic dimension has bounds", lambda view: view.bounds is not None),
    shared=("a dynamic dimension is in two places of the inputs", _shared),
    derived=("a dimension is computed from another", _derived),
    into_engine=("a SymInt crosses an engine's boundary", _across_an_engine),
    data_dependent=("a size depends on data", _data_dependent),
)

AXES = (DIMS, SIZES)
