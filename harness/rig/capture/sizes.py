"""A call in which every independent dynamic dimension has a size of its own.

A case makes its inputs with one size for all dynamic dimensions. Where two of them are independent,
a program that takes one for the other would compute the same, and have metadata that fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph

from corpus.case import Inputs


def user_values(exported: ExportedProgram | None, graph: Graph) -> list[Any]:
    """The `meta["val"]` of every input that the user gives, in order; of a handmade graph, all."""
    values = [node.meta.get("val") for node in graph.nodes if node.op == "placeholder"]
    if exported is None:
        return values
    specs = exported.graph_signature.input_specs
    return [
        value
        for value, spec in zip(values, specs, strict=True)
        if spec.kind is InputKind.USER_INPUT
    ]


def apart(
    values: Sequence[Any],
    largest: Inputs,
    bounds: tuple[int, int],
    example: int,
    ranges: Mapping[sympy.Symbol, tuple[int, int]],
) -> Inputs | None:
    """``largest`` cut down so that no two independent dimensions are of one size.

    Args:
        values: the fake value of each flat input, in the order in which ``largest`` flattens.
        largest: inputs with the upper bound in every dynamic dimension.
        bounds: of the dynamic dimensions, both inclusive.
        example: the size that the program was captured with, which none of them gets as far as the
            bounds allow it.
        ranges: of dimensions whose own bounds are not these, theirs.

    Returns:
        None where fewer than two dimensions are independent.
    """
    symbols = list(dict.fromkeys(symbol for value in values for symbol in _symbols(value)))
    if len(symbols) < 2:
        return None
    low, high = max(bounds[0], 2), bounds[1]
    candidates = _first(low, high, example, len(symbols)) or [high]
    sizes = dict(zip(symbols, itertools.cycle(candidates), strict=False))
    for symbol in ranges.keys() & sizes.keys():
        lower, upper = ranges[symbol]
        own = _first(max(low, lower), min(high, upper), example, len(symbols))
        others = {size for other, size in sizes.items() if other != symbol}
        free = [size for size in own if size not in others]
        sizes[symbol] = next(iter(free or own), upper)
    leaves, spec = pytree.tree_flatten((largest.args, dict(largest.kwargs)))
    cut = [_cut(leaf, value, sizes) for leaf, value in zip(leaves, values, strict=True)]
    args, kwargs = pytree.tree_unflatten(cut, spec)
    return Inputs(args, kwargs)


def indices_within(call: Inputs) -> Inputs:
    """The call with every whole number below the smallest size that a tensor of it has."""
    leaves, spec = pytree.tree_flatten((call.args, dict(call.kwargs)))
    sizes = [size for leaf in leaves for size in getattr(leaf, "shape", ()) if size]

    def within(leaf: Any) -> Any:
        whole = isinstance(leaf, torch.Tensor) and not (
            leaf.is_floating_point() or leaf.is_complex() or leaf.dtype is torch.bool
        )
        return leaf % min(sizes) if whole else leaf

    args, kwargs = pytree.tree_unflatten([within(leaf) for leaf in leaves], spec)
    return Inputs(args, kwargs)


def _first(low: int, high: int, but: int, count: int) -> list[int]:
    """The first sizes of a range, which may be of millions, without one of them."""
    sizes = (size for size in range(low, high + 1) if size != but)
    return list(itertools.islice(sizes, count))


def ranges_tried(
    values: Sequence[Any], smallest: Inputs, largest: Inputs
) -> dict[sympy.Symbol, tuple[int, int]]:
    """The least and the largest size that each independent dimension has in these two calls."""
    low, high = (pytree.tree_leaves((each.args, dict(each.kwargs))) for each in (smallest, largest))
    ranges = {}
    for value, small, large in zip(values, low, high, strict=True):
        for axis, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            expr = size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(0)
            if len(expr.free_symbols) == 1:  # a size, or as of 16 * hops a multiple of one
                (symbol,) = expr.free_symbols
                factor, offset = expr.coeff(symbol), expr.subs(symbol, 0)
                least, most = ((n.shape[axis] - offset) / factor for n in (small, large))
                ranges[symbol] = int(least), int(most)
    return ranges


def _symbols(value: Any) -> list[sympy.Symbol]:
    if not isinstance(value, torch.Tensor):
        return []
    symbolic: list[Any] = [size for size in value.shape if isinstance(size, torch.SymInt)]
    exprs = [size.node.expr for size in symbolic]
    return [symbol for expr in exprs for symbol in sorted(expr.free_symbols, key=str)]


def _cut(leaf: Any, value: Any, sizes: Mapping[sympy.Symbol, int]) -> Any:
    if not isinstance(value, torch.Tensor):
        return leaf
    for axis, size in enumerate(value.shape):
        if isinstance(size, torch.SymInt):
            leaf = leaf.narrow(axis, 0, int(size.node.expr.subs(sizes)))
    return leaf.clone()
