"""From a blueprint to a program: the same module on every machine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.fx import Node

from corpus.blueprints.blueprint import (
    Attribute,
    AttributeKind,
    Blueprint,
    Form,
    FormKind,
    Input,
    Naming,
    Ref,
    Step,
    StepKind,
)
from corpus.blueprints.ops import OPS
from corpus.case import Inputs, Program
from corpus.children import NON_PERSISTENT, PLAIN
from corpus.handmade import SplitBuilder
from corpus.structures import DataPair, NamedPair

BOUNDS = (2, 8)
STATIC_ROWS = 3
_KEPT_KINDS = {
    AttributeKind.NON_PERSISTENT: NON_PERSISTENT,
    AttributeKind.PLAIN: PLAIN,
}


def build(blueprint: Blueprint) -> Program:
    """The program of a blueprint."""
    return _Building(blueprint).program()


class _Building:
    """One blueprint while its parent graph grows: the node of each value, the tensor of a seed."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        self.tensors: dict[int, torch.Tensor] = {}
        self.items: dict[Ref, Node] = {}
        dims = {
            name: torch.export.Dim(name, min=BOUNDS[0], max=BOUNDS[1]) for name in self._names()
        }
        shapes = [_dynamic(item, dims) for item in blueprint.inputs]
        generator = torch.Generator().manual_seed(0)
        call = make_inputs(blueprint, generator, 4)
        declared = {item.name: call.kwargs[item.name] for item in blueprint.keywords}
        self.builder, leaves = SplitBuilder.for_call(Inputs(call.args, declared), shapes)
        self.values: list[Node] = [
            node for node in leaves if isinstance(node.meta["val"], torch.Tensor)
        ]
        self.dynamic_shapes = _in_arguments(blueprint, shapes) if dims else None

    def program(self) -> Program:
        for step in self.blueprint.steps:
            self.values.append(self._add(step))
        split = self.builder.finish_as(_fill(self.blueprint.returns, self._node))
        return Program(
            functools.partial(make_inputs, self.blueprint),
            split=split,
            dynamic_shapes=self.dynamic_shapes,
            bounds=BOUNDS if self.dynamic_shapes is not None else None,
        )

    def _names(self) -> list[str]:
        sizes = [size for item in self.blueprint.inputs for size in item.shape]
        return sorted({size.removeprefix("2*") for size in sizes if isinstance(size, str)})

    def _node(self, ref: Ref) -> Node:
        node = self.values[ref.at]
        for depth, index in enumerate(ref.path):
            part = Ref(ref.at, ref.path[: depth + 1])
            # A path that ends in -1 - index is a getitem of its own, not the one that is there.
            if part not in self.items:
                self.items[part] = self.builder.item(node, index if index >= 0 else -1 - index)
            node = self.items[part]
        return node

    def _add(self, step: Step) -> Node:
        reads = [self._node(ref) for ref in step.reads]
        if step.kind is StepKind.CONSTANT:
            (attribute,) = step.attributes
            return self.builder.constant(attribute.path, self._tensor(attribute))
        if step.kind is StepKind.AGAIN:
            return self.builder.again(self.values[step.again], *reads)
        if step.kind is StepKind.LOOSE:
            return self.builder.op(torch.ops.aten.sub.Tensor, *reads)
        segment = functools.partial(_run_child, step)
        attributes = {item.path: self._tensor(item) for item in step.attributes}
        placeholders = self._placeholders(step, reads)
        if step.kind is StepKind.ENGINE:
            return self.builder.engine(
                segment,
                *reads,
                placeholders=placeholders,
                attributes=attributes,
                name=step.name or None,
            )
        return self.builder.fallback(
            segment,
            *reads,
            placeholders=placeholders,
            keywords={item.name: self._node(item.ref) for item in step.keywords},
            attributes=attributes,
            name=step.name or None,
            nested=step.nested,
            kinds={
                item.path: _KEPT_KINDS[item.kind]
                for item in step.attributes
                if item.kind in _KEPT_KINDS
            },
        )

    def _placeholders(self, step: Step, reads: list[Node]) -> list[str]:
        if step.naming is Naming.OWN or step.keywords:
            return []
        right = [node.name for node in reads]
        if step.naming is Naming.RIGHT:
            return right if len(set(right)) == len(right) else []
        others = [node.name for node in self.builder.nodes if node.name not in right]
        own = [f"own_{index}" for index in range(len(reads))]
        if step.naming is Naming.EARLIER:
            # The first child may read every node that there is; no other name is left to take then.
            return [*others[:1], *own[1:]] if others else []
        if step.naming is Naming.LATER:
            number = self.builder.children
            return [f"_run_on_acc_{number + 1}", *own[1:]]
        return (others + own)[: len(reads)]

    def _tensor(self, attribute: Attribute) -> torch.Tensor:
        if attribute.seed not in self.tensors:
            generator = torch.Generator().manual_seed(attribute.seed)
            made = torch.rand(attribute.shape, generator=generator) + 0.5
            self.tensors[attribute.seed] = _as_kind(made, attribute.kind)
        return self.tensors[attribute.seed]


def _as_kind(made: torch.Tensor, kind: AttributeKind) -> torch.Tensor:
    if kind is AttributeKind.PARAMETER:
        return torch.nn.Parameter(made)
    if kind is AttributeKind.FROZEN:
        return torch.nn.Parameter(made, requires_grad=False)
    if kind is AttributeKind.INTEGER:
        return torch.nn.Parameter((made * 100).to(torch.int8), requires_grad=False)
    if kind is AttributeKind.HALF:
        return torch.nn.Parameter(made.half())
    return made


def _run_child(step: Step, *given: Any) -> Any:
    values = list(given)
    for op in step.ops:
        values.append(OPS[op.name](*(values[at] for at in op.reads), op.number))
    assert step.returns is not None

    def leaf(ref: Ref) -> Any:
        found = values[ref.at]
        for index in ref.path:
            found = found[index]
        return found

    return _fill(step.returns, leaf)


def _fill(form: Form, leaf: Callable[[Ref], Any]) -> Any:
    """A form with what ``leaf`` says for each value."""
    items = [_fill(item, leaf) for item in form.items]
    if form.kind is FormKind.VALUE:
        assert form.ref is not None
        return leaf(form.ref)
    return {
        FormKind.NONE: lambda: None,
        FormKind.NUMBER: lambda: form.number,
        FormKind.TUPLE: lambda: tuple(items),
        FormKind.LIST: lambda: items,
        FormKind.DICT: lambda: dict(zip("abcdefgh", items, strict=False)),
        FormKind.NAMED_PAIR: lambda: NamedPair(*items),
        FormKind.DATA_PAIR: lambda: DataPair(*items),
    }[form.kind]()


def make_inputs(blueprint: Blueprint, generator: torch.Generator, size: int | None) -> Inputs:
    """One call's arguments; ``size`` is the size of every dynamic dimension."""
    chosen = STATIC_ROWS if size is None else size
    leaves = [torch.randn(_sizes(item, chosen), generator=generator) for item in blueprint.inputs]

    def leaf(ref: Ref) -> Any:
        return leaves[ref.at]

    kwargs = {item.name: _fill(item.form, leaf) for item in blueprint.keywords}
    return Inputs(
        tuple(_fill(form, leaf) for form in blueprint.arguments),
        {name: kwargs[name] for name in blueprint.keyword_order},
    )


def _sizes(item: Input, chosen: int) -> list[int]:
    return [
        size if isinstance(size, int) else chosen * (2 if size.startswith("2*") else 1)
        for size in item.shape
    ]


def _dynamic(item: Input, dims: Mapping[str, Any]) -> dict[int, Any]:
    found = {}
    for axis, size in enumerate(item.shape):
        if isinstance(size, str):
            dim = dims[size.removeprefix("2*")]
            found[axis] = 2 * dim if size.startswith("2*") else dim
    return found


def _in_arguments(blueprint: Blueprint, shapes: list[dict[int, Any]]) -> Any:
    """The dynamic dimensions in the structure of the call, as torch.export takes them."""

    def dims(form: Form) -> Any:
        if form.kind is FormKind.DATA_PAIR:  # torch.export wants a list here
            return [dims(item) for item in form.items]
        return _fill(form, lambda ref: shapes[ref.at] or None)

    named = {f"x{index}": dims(form) for index, form in enumerate(blueprint.arguments)}
    return named | {item.name: dims(item.form) for item in blueprint.keywords}
