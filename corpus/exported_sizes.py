"""Which sizes vary in a program that torch has exported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch.export import Dim, ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils._sympy.numbers import int_oo

from corpus.case import Inputs
from corpus.model_sizes import built, limits
from corpus.varying import CannotVary, Path, Place, Sizes, Varying, at, leaves, sizes_of


@dataclass(frozen=True)
class _Found:
    """A dynamic dimension of a program: the symbol that it has, or that it follows from."""

    path: Path
    axis: int
    named: str
    symbol: sympy.Symbol
    factor: int
    offset: int

    @property
    def follows(self) -> bool:
        return (self.factor, self.offset) != (1, 0)


def sizes_of_archive(exported: ExportedProgram, example: Inputs, stated: Sequence[str]) -> Sizes:
    """The dynamic dimensions that an archive has, narrowed to what is stated.

    A text is ``NAME=LOW:HIGH`` where one size alone varies, else ``INPUT:DIMENSION=LOW:HIGH``.
    """
    found = list(_dynamic_of(exported, example))
    held = {each.symbol: _range(exported, each.symbol) for each in found}
    tried: dict[Any, tuple[int, int]] = {}
    for text in stated:
        low, high, named = limits(text)
        chosen = _chosen(text, named, found)
        tried |= dict.fromkeys(chosen, (low, high))
    varying = {}
    for symbol, (lowest, highest) in held.items():
        least, most = tried.get(symbol, (lowest, highest))
        first = next(each for each in found if each.symbol == symbol)
        if least < lowest or (highest is not None and most is not None and most > highest):
            raise CannotVary(
                f"dynamic sizes {least} to {most} of {first.named}: the archive takes {lowest} to "
                f"{highest or 'any'}"
            )
        varying[symbol] = _varying(first, example, least, most, held[symbol])
    shapes = _shapes(exported, example, found, held) if found else None
    return sizes_of(shapes, _places(found, varying), example)


def sizes_of_exported(exported: ExportedProgram, example: Inputs, shapes: Any) -> Sizes:
    """The dynamic dimensions that torch has found, of a program that was exported with shapes."""
    found = list(_dynamic_of(exported, example))
    varying: dict[sympy.Symbol, Varying] = {}
    for each in found:
        low, high = held = _range(exported, each.symbol)
        varying.setdefault(each.symbol, _varying(each, example, low, high, held))
    return sizes_of(shapes, _places(found, varying), example)


def _varying(
    first: _Found, example: Inputs, low: int, high: int | None, takes: tuple[int, int | None]
) -> Varying:
    size = at(example, first.path).shape[first.axis]
    return Varying.of(first.symbol, low, high, (size - first.offset) // first.factor, takes)


def _places(found: Sequence[_Found], varying: Mapping[Any, Varying]) -> list[Place]:
    return [
        Place(each.path, each.axis, each.named, varying[each.symbol], each.factor, each.offset)
        for each in found
    ]


def _chosen(text: str, named: Sequence[str], found: Sequence[_Found]) -> set[sympy.Symbol]:
    """The symbols that a text names, as a dimension, by torch's own names, or as the only one."""
    symbols = {each.symbol for each in found}
    names = {each.replace(".", "_") for each in named}
    chosen = {
        each.symbol for each in found if not each.follows and {each.named, str(each.symbol)} & names
    }
    follows = [each.named for each in found if each.follows and each.named in names]
    if follows:
        raise CannotVary(
            f"dynamic {text!r}: {', '.join(follows)} follows from another size in the archive; "
            "state that one"
        )
    if not chosen and len(symbols) == 1 and ":" not in "".join(named):
        chosen = symbols
    if not chosen:
        has = ", ".join(each.named for each in found if not each.follows)
        raise CannotVary(
            f"dynamic {text!r}: the archive has no such dynamic size; write "
            f"INPUT:DIMENSION=LOW:HIGH of {has}"
            if has
            else f"dynamic {text!r}: the sizes of the archive are fixed; export it with "
            "dynamic_shapes, or leave this out"
        )
    return chosen


def _shapes(
    exported: ExportedProgram,
    example: Inputs,
    found: Sequence[_Found],
    held: Mapping[Any, tuple[int, int | None]],
) -> Any:
    """What its user gave to `torch.export`, as far as the archive tells.

    The ranges are the archive's own, whatever is asked: `save` is given what `export` was.
    """
    dims = {
        symbol: Dim(f"size{number}", min=low, max=high)
        for number, (symbol, (low, high)) in enumerate(held.items())
    }
    of_path: dict[Path, dict[int, Any]] = {}
    for each in found:
        dim: Any = dims[each.symbol]
        dim = each.factor * dim if each.factor != 1 else dim
        dim = dim + each.offset if each.offset else dim
        of_path.setdefault(each.path, {})[each.axis] = dim
    return built(exported.module(), example, of_path)


def _dynamic_of(exported: ExportedProgram, example: Inputs) -> Iterator[_Found]:
    specs = exported.graph_signature.input_specs
    users = {spec.arg.name for spec in specs if spec.kind is InputKind.USER_INPUT}
    nodes = [node for node in exported.graph.nodes if node.op == "placeholder"]
    values = [node for node in nodes if node.name in users]
    for node, (path, _) in zip(values, leaves(example), strict=True):
        for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
            expr = size.node.expr if isinstance(size, torch.SymInt) else None
            if expr is None or len(expr.free_symbols) != 1:
                continue
            (symbol,) = expr.free_symbols
            offset = int(expr.subs(symbol, 0))
            factor = int(expr.subs(symbol, 1)) - offset
            if expr == factor * symbol + offset:
                yield _Found(path, axis, f"{node.name}:{axis}", symbol, factor, offset)


def _range(exported: ExportedProgram, symbol: sympy.Symbol) -> tuple[int, int | None]:
    held = exported.range_constraints.get(symbol)
    if held is None:
        return 2, None
    return max(int(held.lower), 1), None if held.upper == int_oo else int(held.upper)
