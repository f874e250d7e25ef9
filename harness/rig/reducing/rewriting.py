"""Candidates made out of candidates: without some ops, with other inputs, sizes or names.

Each gives None where there is no such candidate.
"""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.export import Dim
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from harness.rig.reducing.candidate import IS, Candidate, Held, Leaf, Value, alike, value_of
from harness.rig.reducing.taking_apart import NotTakenApart, specs_of


def _copied(candidate: Candidate) -> tuple[Graph, dict[Node, Node]]:
    graph = copy.deepcopy(candidate.graph)
    return graph, dict(zip(candidate.graph.nodes, graph.nodes, strict=True))


def _tidied(candidate: Candidate, graph: Graph, **changes: Any) -> Candidate:
    """A candidate with another graph, without what is dead in it."""
    graph.eliminate_dead_code()
    used = {str(node.target) for node in graph.nodes if node.op == "get_attr"}
    held = {name: each for name, each in candidate.held.items() if name in used}
    return dataclasses.replace(candidate, **{"held": held, **changes}, graph=graph)


def returning(candidate: Candidate, returned: Any) -> Candidate:
    graph, same = _copied(candidate)
    graph.output_node().args = (map_arg(returned, same.__getitem__),)
    return _tidied(candidate, graph)


StandIn = Callable[[Node, Mapping[Node, Any]], Any]


def operand(node: Node, replaced: Mapping[Node, Any]) -> Any:
    """The first value of the same type and sizes that a node reads."""
    for read in node.all_input_nodes:
        stands = replaced.get(read, read)
        if isinstance(stands, Node) and alike(stands, node):
            return stands
    return None


def nothing_stands_in(node: Node, replaced: Mapping[Node, Any]) -> Any:
    return None


def without_ops(candidate: Candidate, nodes: Sequence[Node], stand_in: StandIn) -> Candidate | None:
    """Without some ops; what is left reads stand-ins, or new inputs where there are none."""
    gone = dict.fromkeys(nodes)
    for node in nodes:  # elements of a tuple go with it
        gone |= {
            user: None
            for user in node.users
            if value_of(node) == Value(None) and user.target is operator.getitem
        }
    graph, same = _copied(candidate)
    replaced: dict[Node, Any] = {}
    leaves = dict(candidate.leaves)
    args = candidate.args
    for node in (each for each in candidate.graph.nodes if each in gone):
        stands = stand_in(node, replaced)
        value = value_of(node)
        if stands is not None:
            stands = same.get(stands, stands)
        elif all(user in gone for user in node.users):
            stands = None
        elif value.tensor:
            leaf = _drawn(candidate, value)
            if leaf is None or not candidate.positional:
                return None
            with graph.inserting_before(next(iter(graph.nodes))):
                stands = graph.placeholder("new")
            stands.target = stands.name
            stands.meta[IS] = value
            leaves[stands.name] = leaf
            args = (*args, stands.name)
        elif value.number is not None and not candidate.dynamic:
            stands = value.number
        else:
            return None
        replaced[node] = stands
    _in_place_of(graph, {same[node]: stands for node, stands in replaced.items()})
    for node in reversed(graph.nodes):
        if node.op == "call_function" and node in {same[each] for each in gone}:
            graph.erase_node(node)
    return _tidied(candidate, graph, leaves=leaves, args=args)


def _in_place_of(graph: Graph, stands: Mapping[Node, Any]) -> None:
    def instead(node: Node) -> Any:
        seen: Any = node
        while isinstance(seen, Node) and seen in stands:
            seen = stands[seen]
        return seen

    for node in graph.nodes:
        if node not in stands:
            node.args = map_arg(node.args, instead)
            node.kwargs = map_arg(node.kwargs, instead)
        else:
            node.args, node.kwargs = (), {}


def replaced(candidate: Candidate, node: Node, twin: Node) -> Candidate:
    """With another value in the place of an input or of a tensor that the model holds."""
    graph, same = _copied(candidate)
    same[node].replace_all_uses_with(same[twin])
    if node.op == "get_attr":
        return _tidied(candidate, graph)
    made = _tidied(candidate, graph)
    return without_inputs(made, [node.name]) or made


def without_inputs(candidate: Candidate, names: Collection[str]) -> Candidate | None:
    if len(names) == len(candidate.leaves):
        names = [*names][1:]  # a model without inputs is another matter
    if not names or (candidate.dynamic and not candidate.positional):
        return None
    args = tuple(item for item in candidate.args if not _inside(item, names))
    kwargs = {key: item for key, item in candidate.kwargs.items() if not _inside(item, names)}
    left = pytree.tree_leaves((args, kwargs))
    if set(candidate.leaves) - set(left) - {*names}:
        return None  # a container holds others too
    graph, _ = _copied(candidate)
    for node in [each for each in graph.nodes if each.op == "placeholder"]:
        if node.name not in left:
            if node.users:
                return None
            graph.erase_node(node)
    leaves = {name: leaf for name, leaf in candidate.leaves.items() if name in left}
    made = _tidied(candidate, graph, leaves=leaves, args=args, kwargs=kwargs)
    return _with_shapes(made)


def _inside(item: Any, names: Collection[str]) -> bool:
    return all(name in names for name in pytree.tree_leaves(item))


def as_input(candidate: Candidate, node: Node) -> Candidate | None:
    """With a new input in the place of a tensor that the model holds."""
    value = value_of(node)
    leaf = _drawn(candidate, value) if value.tensor else None
    if leaf is None or not candidate.positional:
        return None
    graph, same = _copied(candidate)
    with graph.inserting_before(next(iter(graph.nodes))):
        made = graph.placeholder("new")
    made.target = made.name
    made.meta[IS] = value
    same[node].replace_all_uses_with(made)
    leaves = {**candidate.leaves, made.name: leaf}
    return _with_shapes(_tidied(candidate, graph, leaves=leaves, args=(*candidate.args, made.name)))


def run_with(candidate: Candidate, node: Node, read: Node) -> Candidate | None:
    """With what an op reads in its place; None where the model then does not run."""
    graph, same = _copied(candidate)
    same[node].replace_all_uses_with(same[read])
    graph.erase_node(same[node])
    try:
        return _tidied(candidate, graph).watched()
    except Exception:  # noqa: BLE001 - whatever an op says of sizes that do not fit
        return None


def with_fewer(candidate: Candidate, at: int, index: int) -> Candidate | None:
    """With one argument less, which has a default."""
    graph, same = _copied(candidate)
    node = same[candidate.calls[at]]
    node.args = (
        node.args[:index]
        if index + 1 == len(node.args)
        else (
            *node.args[:index],
            None,
            *node.args[index + 1 :],
        )
    )
    return _tidied(candidate, graph)


def with_op(
    candidate: Candidate, at: int, target: Any, args: tuple[Any, ...] | None = None
) -> Candidate:
    """With another op, which reads the first operand of the same sizes unless it is told what."""
    graph, same = _copied(candidate)
    node = candidate.calls[at]
    given = (
        (next(one for one in node.all_input_nodes if alike(one, node)),) if args is None else args
    )
    made = same[node]
    made.target, made.args, made.kwargs = target, map_arg(given, same.__getitem__), {}
    return _tidied(candidate, graph)


def resized(candidate: Candidate, size: int, less: int) -> Candidate | None:
    """With a smaller number wherever a size is this one; None where the model then does not run."""
    if candidate.dynamic:
        return None
    graph, _ = _copied(candidate)

    def smaller(item: Any) -> Any:
        return less if type(item) is int and item == size else item

    for node in graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            node.args, node.kwargs = pytree.tree_map(smaller, (node.args, node.kwargs))
    leaves = {}
    for name, leaf in candidate.leaves.items():
        node = next(each for each in graph.nodes if each.name == name)
        shape = node.meta[IS].shapes[0] if node.meta[IS].tensor else ()
        new = [less if one == size else kept for one, kept in zip(shape, leaf.sizes, strict=True)]
        leaves[name] = dataclasses.replace(leaf, sizes=tuple(new))
    held = {
        name: each
        if not torch.is_tensor(each.value)
        else Held(_cut(each.value, size, less), each.kind)
        for name, each in candidate.held.items()
    }
    try:
        made = _tidied(candidate, graph, leaves=leaves, held=held).watched()
    except Exception:  # noqa: BLE001 - whatever an op says of sizes that do not fit
        return None
    return made


def _cut(tensor: torch.Tensor, size: int, less: int) -> torch.Tensor:
    if size not in tensor.shape:
        return tensor
    cut = tuple(slice(less if one == size else None) for one in tensor.shape)
    small = tensor.detach()[cut].clone()
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(small, requires_grad=tensor.requires_grad)
    return small


def renamed(candidate: Candidate, names: Mapping[str, str]) -> Candidate:
    graph, _ = _copied(candidate)
    for node in graph.nodes:
        if node.op == "get_attr":
            node.target = names.get(str(node.target), str(node.target))
    held = {names.get(name, name): each for name, each in candidate.held.items()}
    return _tidied(candidate, graph, held=held)


def renamed_leaves(candidate: Candidate, names: Mapping[str, str]) -> Candidate:
    """With other names of inputs, of which the keywords of a call keep theirs."""
    graph, same, new = Graph(), dict[Node, Node](), dict[str, str]()
    for node in candidate.graph.nodes:
        args, kwargs = (map_arg(each, same.__getitem__) for each in (node.args, node.kwargs))
        name, target = node.name, node.target
        if node.op == "placeholder":
            name = target = names[node.name]
        same[node] = graph.create_node(node.op, target, args, kwargs, name)
        same[node].meta = dict(node.meta)
        if node.op == "placeholder":
            new[node.name] = same[node].name
    args, kwargs = pytree.tree_map(new.__getitem__, (candidate.args, dict(candidate.kwargs)))
    leaves = {new[name]: leaf for name, leaf in candidate.leaves.items()}
    return _tidied(candidate, graph, leaves=leaves, args=args, kwargs=kwargs)


def static(candidate: Candidate) -> Candidate:
    """The same without dynamic dimensions, of the sizes that the example has."""
    program, given = candidate.program, candidate.program.inputs
    assert program.bounds is not None
    middle = sum(program.bounds) // 2
    leaves = {name: dataclasses.replace(each, spec=None) for name, each in candidate.leaves.items()}
    still = dataclasses.replace(
        program,
        inputs=lambda generator, _: given(generator, middle),
        dynamic_shapes=None,
        shapes_for_save=None,
        bounds=None,
        unbounded=False,
        ranges=(),
    )
    return dataclasses.replace(candidate, program=still, leaves=leaves).watched()


def one_by_one(candidate: Candidate) -> Candidate | None:
    """Called with its leaves, one by one."""
    names = pytree.tree_leaves((candidate.args, dict(candidate.kwargs)))
    leaves = candidate.leaves
    if candidate.dynamic:
        try:
            specs = specs_of(candidate)
        except NotTakenApart:
            return None
        leaves = {
            name: dataclasses.replace(leaf, spec=specs[name]) for name, leaf in leaves.items()
        }
    made = dataclasses.replace(candidate, args=tuple(names), kwargs={}, leaves=leaves)
    program = dataclasses.replace(made.program, given_to_save=None)
    return _with_shapes(dataclasses.replace(made, program=program))


def _with_shapes(candidate: Candidate) -> Candidate:
    """The same with dynamic shapes as its leaves tell them, where it is called one by one."""
    if not candidate.dynamic or not candidate.positional:
        return candidate
    shapes = tuple(candidate.leaves[name].spec for name in candidate.args)
    if not any(shapes):  # of a dynamic model that would be another question
        return candidate
    program = dataclasses.replace(
        candidate.program, dynamic_shapes=shapes, shapes_for_save=None, ranges=()
    )
    return dataclasses.replace(candidate, program=program)


def _drawn(candidate: Candidate, value: Value) -> Leaf | None:
    """An input that may stand for a value; None where one of its sizes depends on others."""
    if not candidate.dynamic:
        return Leaf(None, value.shapes[0], value.dtype)
    dims = {
        dim
        for leaf in candidate.leaves.values()
        for dim in pytree.tree_leaves(leaf.spec)
        if isinstance(dim, Dim)
    }
    bounds = candidate.program.bounds
    assert bounds is not None
    tried = (sum(bounds) // 2, bounds[1])
    sizes = [*zip(*value.shapes, strict=True)]
    if any(len(set(of)) > 1 and (of != tried or len(dims) != 1) for of in sizes):
        return None
    spec = {at: next(iter(dims)) for at, of in enumerate(sizes) if len(set(of)) > 1}
    shape = tuple("size" if at in spec else of[0] for at, of in enumerate(sizes))
    return Leaf(None, shape, value.dtype, spec or None)


def cut_short(candidate: Candidate, calls: int) -> Candidate | None:
    """Only so many of the first ops, the last value of which is returned."""
    kept = candidate.calls[:calls]
    last = next((node for node in reversed(kept) if value_of(node).tensor), None)
    if last is None:
        return None
    graph, same = _copied(candidate)
    graph.output_node().args = (same[last],)
    for node in reversed(candidate.calls[calls:]):
        graph.erase_node(same[node])
    return _tidied(candidate, graph, out_spec=None)
