"""A case taken apart: the graph that was exported, what it holds, and the leaves of its call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import Graph

from harness.rig.capture.capture import CapturedProgram
from harness.rig.reducing.candidate import Candidate, Held, Leaf
from harness.rig.reproduce.engines import one_by_one


class NotTakenApart(Exception):
    """A model has a form that cannot be reduced: what, and where."""


def taken_apart(captured: CapturedProgram, mode: str) -> Candidate:
    """The graph that was exported of a case, as a candidate in the form that the case has.

    Raises:
        NotTakenApart: its placeholders are not its inputs.
    """
    exported = captured.exported
    assert exported is not None
    module = exported.module(check_guards=False)
    constants = set(exported.graph_signature.lifted_tensor_constants)
    held = {
        str(node.target): _held(module, str(node.target), constants)
        for node in module.graph.nodes
        if node.op == "get_attr"
    }
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    example = (captured.example.args, dict(captured.example.kwargs))
    leaves, spec = pytree.tree_flatten(example)
    if len(leaves) != len(names):
        raise NotTakenApart(f"{captured.case.name} has {len(leaves)} inputs, its graph {names}")
    args, kwargs = pytree.tree_unflatten(names, spec)
    graph = Graph()
    returned = graph.graph_copy(module.graph, {})
    graph.output(_as_tuple(returned))
    for node in graph.nodes:
        node.meta = {}
        if node.op == "placeholder":
            node.args = ()  # a default, such as None, would make another signature
    made = Candidate(
        graph=graph,
        held=held,
        leaves={
            name: Leaf(number, tuple(None for _ in getattr(leaf, "shape", ())))
            for number, (name, leaf) in enumerate(zip(names, leaves, strict=True))
        },
        args=args,
        kwargs=kwargs,
        out_spec=exported.call_spec.out_spec,
        case=captured.case,
        program=dataclasses.replace(
            captured.program,
            # By place, since a graph has names of its own.
            dynamic_shapes=one_by_one(captured.shapes_by_place, example),
        ),
        mode=mode,
    )
    if made.dynamic and made.positional:
        specs = specs_of(made)
        stated = {
            name: dataclasses.replace(each, spec=specs[name]) for name, each in made.leaves.items()
        }
        made = dataclasses.replace(made, leaves=stated)
    return made.watched()


def _as_tuple(returned: Any) -> tuple[Any, ...]:
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def specs_of(candidate: Candidate) -> dict[str, Any]:
    """The dynamic dimensions of every leaf, by its placeholder's name.

    Raises:
        NotTakenApart: they are stated in a form that this does not read.
    """
    shapes = candidate.program.dynamic_shapes
    given = [*candidate.args, *candidate.kwargs.values()]
    named = list(shapes.values()) if isinstance(shapes, Mapping) else list(shapes)
    if len(named) != len(given):
        raise NotTakenApart("dynamic shapes do not name every argument")
    found: dict[str, Any] = {}
    for item, spec in zip(given, named, strict=True):
        found |= dict(_specs(item, spec))
    return found


def _specs(item: Any, spec: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, str):
        yield item, spec
    elif spec is None:
        yield from ((name, None) for name in pytree.tree_leaves(item))
    elif isinstance(item, Mapping) and isinstance(spec, Mapping) and [*item] == [*spec]:
        for name, inside in item.items():
            yield from _specs(inside, spec[name])
    elif isinstance(item, tuple | list) and isinstance(spec, tuple | list):
        for inside, of in zip(item, spec, strict=True):
            yield from _specs(inside, of)
    else:
        raise NotTakenApart("dynamic shapes of a container that is no list, tuple or dictionary")


def _held(module: torch.nn.Module, name: str, constants: set[str]) -> Held:
    path, _, own = name.rpartition(".")
    owner = module.get_submodule(path)
    value = getattr(owner, own)
    if isinstance(value, torch.nn.Parameter):
        return Held(value, "parameter")
    if not isinstance(value, torch.Tensor):
        return Held(value, "module")
    if name in constants or own not in owner._buffers:
        return Held(value, "constant")
    return Held(value, "passing" if own in owner._non_persistent_buffers_set else "buffer")
