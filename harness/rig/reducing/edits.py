"""What may make a candidate smaller: each edit gives another candidate, or None where it cannot.

None of them asks whether the failure is kept; `search` does.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import torch
from torch.fx import Node

from harness.rig.reducing import rewriting
from harness.rig.reducing.candidate import Candidate, alike, value_of

Edit = Callable[[], Candidate | None]
_FEW: Final = 24  # ops of a model that is small
_PLAIN_OP: Final = torch.ops.aten.neg.default  # stands for an op of which nothing but sizes counts
_PLAIN_TUPLE: Final = torch.ops.aten.chunk.default  # the same for an op that returns several values


def plainer(candidate: Candidate) -> Iterator[Edit]:
    """Without what makes it more than a model that is called with tensors one by one."""
    program, case = candidate.program, candidate.case

    def asked(**changes: Any) -> Edit:
        return lambda: dataclasses.replace(candidate, case=dataclasses.replace(case, **changes))

    def programmed(**changes: Any) -> Edit:
        return lambda: dataclasses.replace(
            candidate, program=dataclasses.replace(program, **changes)
        )

    if candidate.mode != "nonstrict":
        yield lambda: dataclasses.replace(candidate, mode="nonstrict")
    for hook in ("before_compile", "after_compile", "given_to_save"):
        if getattr(program, hook) is not None:
            yield programmed(**{hook: None})
    if program.names_sizes:
        yield programmed(names_sizes=False)
    if program.shapes_for_save is not None:
        yield programmed(shapes_for_save=None, dynamic_shapes=program.shapes_for_save, ranges=())
    if candidate.dynamic:
        yield lambda: rewriting.static(candidate)
    if not candidate.positional:
        yield lambda: rewriting.one_by_one(candidate)
    if candidate.out_spec is not None:
        yield lambda: dataclasses.replace(candidate, out_spec=None)
    elif isinstance(candidate.graph.output_node().args[0], tuple) and len(candidate.outputs) == 1:
        yield lambda: rewriting.returning(candidate, candidate.outputs[0])
    if case.min_block_size != 1:
        yield asked(min_block_size=1)
    for field in ("settings", "save_keywords"):
        for pair in getattr(case, field):
            yield asked(**{field: tuple(one for one in getattr(case, field) if one != pair)})


def fewer_fallbacks(candidate: Candidate) -> Iterator[Edit]:
    """Fewer ops that are kept in PyTorch: those alone that the graph has, halves, and single."""
    named = candidate.case.fallback
    in_graph = {_op(node) for node in candidate.calls}
    kept = tuple(name for name in named if name in in_graph)

    def asked(names: Sequence[str]) -> Edit:
        case = dataclasses.replace(candidate.case, fallback=tuple(names))
        return lambda: dataclasses.replace(candidate, case=case)

    if kept != named:
        yield asked(kept)
    for start, length in _runs(len(named)):
        yield asked(named[:start] + named[start + length :])


def fewer_outputs(candidate: Candidate) -> Iterator[Edit]:
    """Half of what is returned, and less; only where it is returned one by one."""
    if candidate.out_spec is not None:
        return
    outputs = candidate.outputs
    for at in range(len(outputs)):
        if len(outputs) > 1 and isinstance(outputs[at], Node):
            yield lambda at=at: rewriting.returning(candidate, (outputs[at],))  # type: ignore[misc]
    for start, length in _runs(len(outputs)):
        kept = outputs[:start] + outputs[start + length :]
        if kept:
            yield lambda kept=kept: rewriting.returning(candidate, kept)  # type: ignore[misc]


def without(candidate: Candidate, start: int, length: int) -> Iterator[Edit]:
    """Without a run of ops: what they read stands for them, or else new inputs, or constants."""
    calls = candidate.calls[start : start + length]
    yield lambda: rewriting.without_ops(candidate, calls, rewriting.operand)
    yield lambda: rewriting.without_ops(candidate, calls, rewriting.nothing_stands_in)
    if length == 1:
        for twin in _twins(candidate, calls[0]):
            yield lambda twin=twin: rewriting.without_ops(candidate, calls, lambda node, _: twin)  # type: ignore[misc]


def of_other_sizes(candidate: Candidate) -> Iterator[Edit]:
    """Without an op of a small model, in whose place stands what it reads, whatever its sizes."""
    if len(candidate.calls) > _FEW:
        return
    for node in reversed(candidate.calls):
        for read in node.all_input_nodes:
            if value_of(node).tensor and value_of(read).tensor and not alike(node, read):
                yield lambda node=node, read=read: rewriting.run_with(candidate, node, read)  # type: ignore[misc]


def fewer_inputs(candidate: Candidate) -> Iterator[Edit]:
    """Without inputs that nobody reads, and with one in the place of two that are alike."""
    graph = candidate.graph
    unread = [node.name for node in graph.nodes if node.op == "placeholder" and not node.users]
    for names in ([unread] if len(unread) > 1 else []), [[name] for name in unread]:
        for some in names:
            yield lambda some=some: rewriting.without_inputs(candidate, some)  # type: ignore[misc]
    sources = [node for node in graph.nodes if node.op in ("placeholder", "get_attr")]
    for node in reversed(sources):
        for twin in _twins(candidate, node):
            yield lambda node=node, twin=twin: rewriting.replaced(candidate, node, twin)  # type: ignore[misc]
        if node.op == "get_attr":
            yield lambda node=node: rewriting.as_input(candidate, node)  # type: ignore[misc]


def plainer_ops(candidate: Candidate) -> Iterator[Edit]:
    """Ops that are given less, and one plain op in the place of others."""
    fallback = set(candidate.case.fallback)
    for at, node in enumerate(candidate.calls):
        for index in reversed(range(len(node.args))):
            if node.args[index] is not None and _may_be_left_out(node, index):
                yield lambda at=at, index=index: rewriting.with_fewer(candidate, at, index)  # type: ignore[misc]
        same = [one for one in node.all_input_nodes if alike(one, node)]
        plain = next((one for one in candidate.calls if _is_plain(one, fallback, node)), None)
        target = plain.target if plain is not None else _PLAIN_OP
        if same and node.target is not target and (_op(node) in fallback) == (plain is not None):
            yield lambda at=at, target=target: rewriting.with_op(candidate, at, target)  # type: ignore[misc]
        element = _only_element(node)
        if element is not None and _op(node) not in fallback:
            for twin in _twins(candidate, node, element):
                yield lambda at=at, twin=twin: rewriting.with_op(  # type: ignore[misc]
                    candidate, at, _PLAIN_TUPLE, (twin, 1)
                )


def smaller_sizes(candidate: Candidate) -> Iterator[Edit]:
    """Smaller numbers in the place of every size that is larger, wherever it stands.

    None of them is 1: of a single number two values are easily alike by chance.
    """
    sizes = {size for node in candidate.graph.nodes for size in _sizes(node)}
    for size in sorted(sizes, reverse=True):
        for less in sorted({2, 3, 4, size // 2}):
            if 1 < less < size:
                yield lambda size=size, less=less: rewriting.resized(candidate, size, less)  # type: ignore[misc]


def shorter_names(candidate: Candidate) -> Iterator[Edit]:
    """Letters in the place of names."""
    held = _letters(candidate.held, "wvutsrqponmlkjihgfedcba")
    leaves = _letters(candidate.leaves, "xyzabcdefghijklmnopqrstuvw")
    yield lambda: rewriting.renamed(rewriting.renamed_leaves(candidate, leaves), held)
    yield lambda: rewriting.renamed_leaves(candidate, leaves)
    yield lambda: rewriting.renamed(candidate, held)
    for old, new in held.items():
        if new not in candidate.held:
            yield lambda old=old, new=new: rewriting.renamed(candidate, {old: new})  # type: ignore[misc]


def _letters(names: Collection[str], letters: str) -> dict[str, str]:
    """A short name for each; the same for what has one."""
    free = itertools.chain(letters, (f"{letters[0]}{number}" for number in itertools.count()))
    return dict(zip(names, free, strict=False))


def _runs(length: int) -> Iterator[tuple[int, int]]:
    """Halves, quarters, ..., single ones of a list, as start and length."""
    size = length // 2
    while size:
        yield from ((start, size) for start in range(0, length, size))
        size //= 2


def _twins(candidate: Candidate, node: Node, like: Node | None = None) -> list[Node]:
    """Values of before a node that are like it, or like another one; no result of an op first."""
    before = list(itertools.takewhile(lambda one: one is not node, candidate.graph.nodes))
    same = [one for one in before if alike(one, like or node)]
    return sorted(same, key=lambda one: one.op == "call_function")[:4]


def _only_element(node: Node) -> Node | None:
    """The first of the values that an op returns, if nothing else of them is read."""
    users = list(node.users)
    first = len(users) == 1 and users[0].target is operator.getitem and users[0].args[1] == 0
    return users[0] if first else None


def _op(node: Node) -> str:
    """An op as a case names it."""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return f"{node.target.__module__}.{node.target.__name__}"  # type: ignore[union-attr]


def _is_plain(one: Node, fallback: Collection[str], node: Node) -> bool:
    """Whether a node has an op of one tensor that may stand where another fallback is."""
    return (
        _op(node) in fallback
        and _op(one) in fallback
        and [*one.args] == one.all_input_nodes
        and len(one.args) == 1
        and not one.kwargs
        and alike(one, one.all_input_nodes[0])
    )


def _may_be_left_out(node: Node, index: int) -> bool:
    """Whether an op has a default for an argument that comes last, or takes None for it."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    arguments = node.target._schema.arguments
    if index >= len(arguments) or not arguments[index].has_default_value():
        return False
    return index + 1 == len(node.args) or arguments[index].default_value is None


def _sizes(node: Node) -> Iterator[int]:
    value = value_of(node)
    if value.tensor:
        yield from value.shapes[0]
