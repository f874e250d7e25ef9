"""What one program calls its sizes, and in which order it has its effects.

Two programs name the symbols of one size differently: in a scope each is called by the model
input's dimension that it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy
import torch
from torch.fx import Node
from torch.utils._sympy.functions import Max, Min

from harness.rig.oracles.terms import Term


@dataclass
class Place:
    """A tensor that ops can write to: ``term`` is what stands there now."""

    term: Term


@dataclass
class Scope:
    """The names of one program's symbols, its effects so far, and what they may write to.

    ``attributes`` are by the id of what is read, which is kept beside each, so that no other thing
    gets that id: one tensor may have several names and readers.
    """

    symbols: dict[sympy.Symbol, sympy.Symbol]
    effects: list[Term] = field(default_factory=list)
    attributes: dict[int, tuple[Any, Place]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: torch.fx.Graph) -> Scope:
        """Number the symbols in the order in which the model inputs' dimensions have them."""
        symbols: dict[sympy.Symbol, sympy.Symbol] = {}
        values = [node.meta.get("val") for node in graph.nodes if node.op == "placeholder"]
        for value in values:
            for size in value.shape if isinstance(value, torch.Tensor) else ():
                expr = size.node.expr if isinstance(size, torch.SymInt) else None
                if isinstance(expr, sympy.Symbol) and expr not in symbols:
                    symbols[expr] = sympy.Symbol(f"n{len(symbols)}", integer=True, positive=True)
        return cls(symbols)

    def size_of(self, source: Any, axis: Any) -> sympy.Expr | None:
        """One size of a node's value, or None if it is not known."""
        value = source.meta.get("val") if isinstance(source, Node) else None
        if isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]  # inliners give the element of a one-output engine a list
        if not isinstance(value, torch.Tensor):
            return None
        if not -value.dim() <= axis < value.dim():  # a wire to a tensor of fewer dimensions
            return None
        return self.canonical(value.shape[axis])

    def canonical(self, size: Any) -> sympy.Expr | None:
        """A size in the names of ``symbols``; None for anything that is not a size."""
        if isinstance(size, int) and not isinstance(size, bool):
            return sympy.Integer(size)
        if not isinstance(size, torch.SymInt):
            return None
        expr = sympy.sympify(size.node.expr)
        if any(symbol not in self.symbols for symbol in expr.free_symbols):
            return None
        # torch's Min and Max are equal to no others, and a program from disk has sympy's own.
        named = expr.xreplace(self.symbols)
        return named.replace(Min, sympy.Min).replace(Max, sympy.Max)
