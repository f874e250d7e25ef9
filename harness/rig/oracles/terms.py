"""Terms: what a node computes, independent of names and numbers.

Terms are hash-consed: two nodes compute the same exactly if their terms are the same object. A
term's head is a kind and a label; its children are terms. An engine is an uninterpreted function
that is named by its payload. Below them stands what the wiring oracle knows about ops: identities,
mutations, random draws and casts.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node


class Kind(enum.StrEnum):
    INPUT = "model input"
    LEAKED = "input that the model does not have"
    STATE = "parameter or constant"
    ENGINE = "engine"
    ENGINE_OUTPUT = "engine output"
    OP = "op"
    ITEM = "element"
    SIZE = "size"
    CONSTANT = "literal"
    LIST = "list"
    EFFECT = "effect"
    CYCLE = "value that depends on itself"
    DANGLING = "node that is not in the graph"


@dataclass(frozen=True, eq=False)
class Term:
    """A node of the shared term graph. Terms are compared by identity."""

    kind: Kind
    label: Hashable
    children: tuple[Term, ...] = ()
    note: str = ""  # a readable name, from the first program that had the term

    def describe(self, depth: int = 2) -> str:
        """The term as text, ``depth`` levels deep."""
        if self.kind is Kind.ENGINE_OUTPUT:
            return f"output {self.label} of {self.children[0].describe(depth - 1)}"
        if self.kind is Kind.ITEM:
            return f"{self.children[0].describe(depth)}[{self.label}]"
        head = self.note or f"{self.kind} {self.label}"
        if not self.children:
            return head
        if depth <= 0:
            return f"{head}(...)"
        return f"{head}({', '.join(child.describe(depth - 1) for child in self.children)})"


class TermTable:
    """Makes terms, and returns the same object for the same head and children."""

    def __init__(self) -> None:
        self._terms: dict[tuple[Kind, Hashable, tuple[int, ...]], Term] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def make(
        self, kind: Kind, label: Hashable, children: tuple[Term, ...] = (), note: str = ""
    ) -> Term:
        key = (kind, label, tuple(id(child) for child in children))
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = Term(kind, label, children, note)
        return found


def labels(terms: Iterable[Term], kind: Kind) -> set[Hashable]:
    """The labels of all terms of one kind among these terms and what they are made of."""
    stack, seen, found = list(terms), set(), set()
    while stack:
        term = stack.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        stack.extend(term.children)
        if term.kind is kind:
            found.add(term.label)
    return found


@dataclass(frozen=True)
class Difference:
    """The first place where two terms differ: the reader, its argument, and what that reads."""

    reader: str
    position: int
    expected: Term
    got: Term

    @property
    def kind(self) -> str:
        """The class of the difference, free of names."""
        if self.expected.kind is Kind.ENGINE_OUTPUT and _other_engines(self.expected, self.got):
            return f"reads another {Kind.ENGINE}"
        if self.expected.kind is self.got.kind:
            return f"reads another {self.expected.kind}"
        return f"reads {_article(self.got.kind)} in place of {_article(self.expected.kind)}"

    def describe(self) -> str:
        return (
            f"{self.reader} argument {self.position} reads {self.got.describe()}, "
            f"should read {self.expected.describe()}"
        )


def _article(kind: Kind) -> str:
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def differences(
    expected: Term, got: Term, reader: str, position: int, seen: set[tuple[int, int]]
) -> Iterator[Difference]:
    """The nearest places, outputs towards inputs, where two terms have other heads.

    ``seen`` is shared over a program's outputs, so that a shared subterm is reported once.
    """
    for difference, _ in differing(expected, got, reader, position, seen):
        yield difference


def differing(
    expected: Term, got: Term, reader: str, position: int, seen: set[tuple[int, int]]
) -> Iterator[tuple[Difference, Term | None]]:
    """`differences`, each with the term that reads; None where ``reader`` itself reads."""
    stack: list[tuple[Term, Term, str, Term | None, int]] = [
        (expected, got, reader, None, position)
    ]
    while stack:
        left, right, parent, owner, at = stack.pop()
        if left is right or (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        if _same_head(left, right):
            head = left.note or f"{left.kind} {left.label}"
            pairs = zip(left.children, right.children, strict=True)
            stack.extend(
                (one, other, head, left, index) for index, (one, other) in enumerate(pairs)
            )
        else:
            yield Difference(parent, at, left, right), owner


def _same_head(left: Term, right: Term) -> bool:
    return (
        left.kind is right.kind
        and left.label == right.label
        and len(left.children) == len(right.children)
        # An output belongs to its engine, so its reader reports "output 0 of another engine".
        and not (left.kind is Kind.ENGINE_OUTPUT and _other_engines(left, right))
    )


def _other_engines(left: Term, right: Term) -> bool:
    """Whether two engine outputs are of different engines."""
    return right.kind is Kind.ENGINE_OUTPUT and left.children[0].label != right.children[0].label


IDENTITIES = frozenset(
    {
        torch.ops.aten.detach.default,
        torch.ops.aten.lift_fresh_copy.default,
        torch.ops.aten.alias.default,
        # In-place by schema; they change autograd and aliasing only, which no term contains.
        torch.ops.aten.detach_.default,
        torch.ops.aten.lift_fresh.default,
    }
)

#: Makes a tensor of a number.
OF_A_NUMBER = "aten.scalar_tensor.default"
ITEMS = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})
#: On a GPU `TorchTensorRTModule.forward` moves it there, which is traced as `to.dtype_layout`.
CASTS = frozenset({OF_A_NUMBER, "aten.to.device", "aten.to.dtype", "aten.to.dtype_layout"})


def has_effect(node: Node) -> bool:
    return mutates(node) or is_random(node)


def mutates(node: Node) -> bool:
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and node.target._schema.is_mutable
        and node.target not in IDENTITIES
    )


def is_random(node: Node) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    names = [argument.name for argument in target._schema.arguments]
    # Dropout of a model in eval mode draws nothing.
    return "train" not in names or bool(bound_arguments(node)[names.index("train")])


def bound_arguments(node: Node) -> list[Any]:
    """An op's arguments in the order of its schema, with defaults filled in."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return [*node.args, *(value for _, value in sorted(node.kwargs.items()))]
    bound: list[Any] = []
    for index, argument in enumerate(node.target._schema.arguments):
        if index < len(node.args):
            bound.append(node.args[index])
        elif argument.name in node.kwargs:
            bound.append(node.kwargs[argument.name])
        else:
            bound.append(argument.default_value)
    return bound
