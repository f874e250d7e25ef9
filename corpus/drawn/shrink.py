"""Smaller blueprints of a blueprint: what a reduction tries, in a fixed order.

The order is defined first: `size` is a tuple, compared as one, and every candidate is below what it
was made of. So a greedy search ends, and ends in the same blueprint on every machine. A candidate
need not be a program that builds: whoever tries it finds out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from corpus.blueprints.blueprint import (
    Blueprint,
    Form,
    FormKind,
    Keyword,
    KeywordRef,
    Naming,
    Ref,
    Step,
    to_json,
)

Size = tuple[int, ...]
Item = TypeVar("Item")


def size(blueprint: Blueprint) -> Size:
    """Steps, then inputs, then ops, then all that is read, returned, held, and named or nested."""
    steps = blueprint.steps
    forms = [blueprint.returns, *blueprint.arguments, *(k.form for k in blueprint.keywords)]
    inner = [step.returns for step in steps if step.returns is not None]
    return (
        len(steps),
        len(blueprint.inputs),
        sum(len(step.ops) for step in steps),
        sum(len(step.reads) + len(step.keywords) + len(step.attributes) for step in steps)
        + sum(len(ref.path) for step in steps for ref in _refs_of(step)),
        sum(_weight(form) for form in (*forms, *inner)),
        len(blueprint.keywords),
        sum((step.naming is not Naming.OWN) + bool(step.name) + step.nested for step in steps),
        sum(isinstance(length, str) for item in blueprint.inputs for length in item.shape),
    )


def smaller(blueprint: Blueprint) -> Iterator[Blueprint]:
    """Candidates, each smaller, the boldest first; each also without what nobody reads any more."""
    below, seen = size(blueprint), {str(to_json(blueprint))}
    for changed in (blueprint, *_changes(blueprint)):
        for candidate in (pruned(changed), changed):
            text = str(to_json(candidate))
            if text not in seen and size(candidate) < below:
                seen.add(text)
                yield candidate


def pruned(blueprint: Blueprint) -> Blueprint:
    """Without steps and inputs that no output needs."""
    inputs = len(blueprint.inputs)
    needed: set[int] = set()
    waiting = [ref.at for ref in _refs(blueprint.returns)]
    while waiting:
        at = waiting.pop()
        if at in needed:
            continue
        needed.add(at)
        if at >= inputs:
            waiting.extend(_reads(blueprint.steps[at - inputs]))
    for at in reversed(range(inputs + len(blueprint.steps))):
        if at not in needed:
            blueprint = _without(blueprint, at, None) or blueprint
    return blueprint


def _changes(blueprint: Blueprint) -> Iterator[Blueprint]:
    yield from (
        dataclasses.replace(blueprint, returns=form) for form in _smaller_forms(blueprint.returns)
    )
    yield from _without_runs(blueprint)
    first = len(blueprint.inputs)
    for at in reversed(range(first, first + len(blueprint.steps))):
        step = blueprint.steps[at - first]
        stands_in = [Ref(other) for other in _reads(step) if other < at]
        for other in (*step.reads, *stands_in, *(Ref(index) for index in range(first))):
            changed = _without(blueprint, at, other)
            if changed is not None:
                yield changed
    for at in reversed(range(first)):
        for twin in range(first):
            changed = _without(blueprint, at, Ref(twin)) if twin != at else None
            if changed is not None:
                yield changed
    for index, step in enumerate(blueprint.steps):
        yield from _with_one_output(blueprint, index, step)
        for less in _smaller_steps(step):
            steps = (*blueprint.steps[:index], less, *blueprint.steps[index + 1 :])
            yield dataclasses.replace(blueprint, steps=steps)
    yield from _read_whole(blueprint)
    yield from _plainer_calls(blueprint)


def _read_whole(blueprint: Blueprint) -> Iterator[Blueprint]:
    """A value that is read whole where an element of it was read."""
    refs = [ref for step in blueprint.steps for ref in _refs_of(step)]
    for at in sorted({ref.at for ref in (*refs, *_refs(blueprint.returns)) if ref.path}):

        def moved(ref: Ref, at: int = at) -> Ref:
            return Ref(at) if ref.at == at else ref

        yield dataclasses.replace(
            blueprint,
            steps=tuple(_step_moved(step, moved) for step in blueprint.steps),
            returns=_mapped(blueprint.returns, moved),
        )


def _with_one_output(blueprint: Blueprint, index: int, step: Step) -> Iterator[Blueprint]:
    """A child that returns one of its outputs bare; whoever reads any of them reads that."""
    at = len(blueprint.inputs) + index

    def moved(ref: Ref) -> Ref:
        return Ref(at, ref.path[1:]) if ref.at == at else ref

    for item in step.returns.items if step.returns is not None else ():
        bare = dataclasses.replace(step, returns=item)
        steps = (*blueprint.steps[:index], bare, *blueprint.steps[index + 1 :])
        yield dataclasses.replace(
            blueprint,
            steps=tuple(_step_moved(each, moved) for each in steps),
            returns=_mapped(blueprint.returns, moved),
        )


def _without_runs(blueprint: Blueprint) -> Iterator[Blueprint]:
    """Without a half, a quarter, ... of all steps; what the first of them read stands in."""
    first, length = len(blueprint.inputs), len(blueprint.steps) // 2
    while length > 1:
        for start in range(0, len(blueprint.steps) - length + 1, length):
            reads = blueprint.steps[start].reads
            cut: Blueprint | None = blueprint
            for at in reversed(range(first + start, first + start + length)):
                cut = cut and _without(cut, at, reads[0] if reads else Ref(0))
            if cut is not None:
                yield cut
        length //= 2


def _plainer_calls(blueprint: Blueprint) -> Iterator[Blueprint]:
    """Inputs one by one in place of containers and keywords; sizes that are numbers."""
    leaves = tuple(Form(FormKind.VALUE, Ref(at)) for at in range(len(blueprint.inputs)))
    yield dataclasses.replace(blueprint, arguments=leaves, keywords=(), keyword_order=())
    inputs = tuple(
        dataclasses.replace(item, shape=tuple(_number(length) for length in item.shape))
        for item in blueprint.inputs
    )
    yield dataclasses.replace(blueprint, inputs=inputs)


def _number(length: int | str) -> int:
    if isinstance(length, int):
        return length
    return 6 if length.startswith("2*") else 3


def _smaller_steps(step: Step) -> Iterator[Step]:
    """A step with one op, one value that it reads, or one peculiarity less."""
    given = len(step.reads) + len(step.keywords) + len(step.attributes)
    for index in reversed(range(len(step.ops))):
        for operand in step.ops[index].reads:
            yield _without_value(step, given + index, operand)
    for index in reversed(range(len(step.attributes))):
        at = len(step.reads) + len(step.keywords) + index
        for other in range(given):
            if other != at:
                yield _without_value(step, at, other)
    for index in reversed(range(len(step.reads))):
        for other in range(given):
            if other != index:
                yield _without_value(step, index, other)
    if step.returns is not None:
        yield from (dataclasses.replace(step, returns=f) for f in _smaller_forms(step.returns))
    if step.naming is not Naming.OWN:
        yield dataclasses.replace(step, naming=Naming.OWN)
    if step.name:
        yield dataclasses.replace(step, name="")
    if step.nested:
        yield dataclasses.replace(step, nested=False)


def _without_value(step: Step, at: int, other: int) -> Step:
    """A child without one of its values; whoever reads it reads another one."""

    def moved(number: int) -> int:
        number = other if number == at else number
        return number - (number > at)

    reads, keywords, attributes = len(step.reads), len(step.keywords), len(step.attributes)
    op = at - reads - keywords - attributes
    return dataclasses.replace(
        step,
        reads=_but(step.reads, at),
        keywords=_but(step.keywords, at - reads),
        attributes=_but(step.attributes, at - reads - keywords),
        ops=tuple(
            dataclasses.replace(each, reads=tuple(map(moved, each.reads)))
            for each in _but(step.ops, op)
        ),
        returns=step.returns and _mapped(step.returns, lambda r: Ref(moved(r.at), r.path)),
    )


def _without(blueprint: Blueprint, at: int, other: Ref | None) -> Blueprint | None:
    """Without a value of the parent; whoever reads it reads ``other``, None if that is later."""
    first = len(blueprint.inputs)
    if other is not None and other.at >= at >= first:
        return None

    def moved(ref: Ref) -> Ref:
        if ref.at == at and other is not None:
            ref = Ref(other.at, other.path)
        return Ref(ref.at - (ref.at > at), ref.path)

    if at < first:
        arguments, keywords = _without_leaf(blueprint, at)
    else:
        arguments, keywords = blueprint.arguments, blueprint.keywords
    names = {item.name for item in keywords}
    return dataclasses.replace(
        blueprint,
        inputs=_but(blueprint.inputs, at),
        arguments=arguments,
        keywords=keywords,
        keyword_order=tuple(name for name in blueprint.keyword_order if name in names),
        steps=tuple(_step_moved(step, moved) for step in _but(blueprint.steps, at - first)),
        returns=_mapped(blueprint.returns, moved),
    )


def _without_leaf(blueprint: Blueprint, at: int) -> tuple[tuple[Form, ...], tuple[Keyword, ...]]:
    """The call without one input leaf; pairs, which need two, fall apart into arguments."""

    def kept(form: Form) -> list[Form]:
        if form.kind is FormKind.VALUE:
            assert form.ref is not None
            number = form.ref.at
            return [] if number == at else [Form(FormKind.VALUE, Ref(number - (number > at)))]
        items = [part for item in form.items for part in kept(item)]
        if len(items) == len(form.items):
            return [dataclasses.replace(form, items=tuple(items))]
        return items

    arguments = [part for form in blueprint.arguments for part in kept(form)]
    keywords = [
        Keyword(item.name, parts[0]) for item in blueprint.keywords if (parts := kept(item.form))
    ]
    return tuple(arguments), tuple(keywords)


def _step_moved(step: Step, moved: Callable[[Ref], Ref]) -> Step:
    again = moved(Ref(step.again)).at if step.again >= 0 else step.again
    return dataclasses.replace(
        step,
        reads=tuple(moved(ref) for ref in step.reads),
        keywords=tuple(KeywordRef(item.name, moved(item.ref)) for item in step.keywords),
        again=again,
    )


def _smaller_forms(form: Form) -> Iterator[Form]:
    """One item of a container in its place, or the container without one of its items."""
    yield from form.items
    fixed = form.kind in (FormKind.NAMED_PAIR, FormKind.DATA_PAIR)
    for index, item in enumerate(form.items):
        if not fixed and len(form.items) > 1:
            yield dataclasses.replace(form, items=_but(form.items, index))
        for less in _smaller_forms(item):
            items = (*form.items[:index], less, *form.items[index + 1 :])
            yield dataclasses.replace(form, items=items)


def _mapped(form: Form, moved: Callable[[Ref], Ref]) -> Form:
    ref = form.ref and moved(form.ref)
    return dataclasses.replace(
        form, ref=ref, items=tuple(_mapped(item, moved) for item in form.items)
    )


def _refs(form: Form) -> Iterator[Ref]:
    if form.ref is not None:
        yield form.ref
    for item in form.items:
        yield from _refs(item)


def _refs_of(step: Step) -> list[Ref]:
    return [*step.reads, *(item.ref for item in step.keywords)]


def _reads(step: Step) -> list[int]:
    again = [step.again] if step.again >= 0 else []
    return [*(ref.at for ref in _refs_of(step)), *again]


def _weight(form: Form) -> int:
    path = len(form.ref.path) if form.ref is not None else 0
    return 1 + path + sum(_weight(item) for item in form.items)


def _but(items: Iterable[Item], at: int) -> tuple[Item, ...]:
    """All but one; of a number that is none of them, all."""
    return tuple(item for index, item in enumerate(items) if index != at)
