"""A blueprint while it is being drawn: steps are added, and children written as expressions.

An expression is a number (an input of the child, or an attribute after them) or a tuple: an op's
name, its operands, and its number where it has one, a float.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from corpus.blueprints.blueprint import (
    Attribute,
    AttributeKind,
    Blueprint,
    Form,
    FormKind,
    Input,
    Keyword,
    Op,
    Ref,
    Step,
    StepKind,
    packed,
)

NO_VALUE = Form(FormKind.NONE)


@dataclass(frozen=True)
class Packed:
    """What a child returns, in a container."""

    kind: FormKind
    items: tuple[Any, ...]


def tuple_of(*items: Any) -> Packed:
    return Packed(FormKind.TUPLE, items)


@dataclass
class Draft:
    inputs: list[Input] = field(default_factory=list)
    arguments: list[Form] = field(default_factory=list)
    keywords: list[Keyword] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    seeds: int = 0

    def input(self, *shape: int | str) -> Ref:
        """An input leaf; must come before any step."""
        self.inputs.append(Input(shape))
        return Ref(len(self.inputs) - 1)

    def tensor(
        self, path: str, kind: AttributeKind, shape: tuple[int, ...] = (8,), seed: int = 0
    ) -> Attribute:
        """An attribute, of a tensor of its own unless a seed is given."""
        self.seeds += 1
        return Attribute(path, kind, shape, seed or self.seeds)

    def add(self, step: Step) -> Ref:
        self.steps.append(step)
        return Ref(len(self.inputs) + len(self.steps) - 1)

    def engine(self, reads: Sequence[Ref], returns: Any, **more: Any) -> Ref:
        return self._child(StepKind.ENGINE, reads, returns, more)

    def fallback(self, reads: Sequence[Ref], returns: Any, **more: Any) -> Ref:
        return self._child(StepKind.FALLBACK, reads, returns, more)

    def finished(self, name: str, catches: str, returns: Form) -> Blueprint:
        return Blueprint(
            name=name,
            catches=catches,
            inputs=tuple(self.inputs),
            arguments=tuple(self.arguments),
            keywords=tuple(self.keywords),
            keyword_order=tuple(item.name for item in self.keywords),
            steps=tuple(self.steps),
            returns=returns,
        )

    def _child(
        self, kind: StepKind, reads: Sequence[Ref], returns: Any, more: dict[str, Any]
    ) -> Ref:
        given = len(reads) + len(more.get("keywords", ())) + len(more.get("attributes", ()))
        ops: list[Op] = []
        form = _form(returns, given, ops)
        return self.add(Step(kind, tuple(reads), ops=tuple(ops), returns=form, **more))


def item(ref: Ref, *path: int) -> Ref:
    return Ref(ref.at, (*ref.path, *path))


def _form(returns: Any, given: int, ops: list[Op]) -> Form:
    if returns is None:
        return NO_VALUE
    if isinstance(returns, Form):
        return returns
    if isinstance(returns, Packed):
        return packed(returns.kind, *(_form(part, given, ops) for part in returns.items))
    return Form(FormKind.VALUE, Ref(_expression(returns, given, ops)))


def _expression(written: Any, given: int, ops: list[Op]) -> int:
    """The number of the value that an expression makes; one that is written twice is made once."""
    if isinstance(written, int):
        return written
    name, *operands = written
    number = 0.0
    if operands and isinstance(operands[-1], float):
        number = operands.pop()
    op = Op(name, tuple(_expression(part, given, ops) for part in operands), number)
    if op not in ops:
        ops.append(op)
    return given + ops.index(op)
