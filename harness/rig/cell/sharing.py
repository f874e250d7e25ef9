"""What is equal is done once: two inliners that make the same program get the same verdicts.

Most subjects inline most cases alike. Saving, loading, running and judging are functions of the
program alone, so a program that is equal in every respect to one that was judged already, in graph,
names, metadata, state and signature, is given that one's results; so is an inlined module, and one
that computes what another does is not exported again. `--no-share` does
everything for everyone, and a test holds that it changes no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import CustomObjArgument
from torch.fx import Graph, GraphModule

from harness.rig.engines.emulated import engine_slots
from harness.rig.oracles.finding import Answers
from harness.rig.oracles.values import content_digest
from harness.wire.records import Verdict
from harness.wire.vocabulary import Stage


@dataclass(frozen=True)
class Exported:
    """A program that `torch.export` made, and how long that took."""

    program: ExportedProgram
    seconds: float


@dataclass(frozen=True)
class Judged:
    """What became of a program, for the next one that is equal to it.

    ``ended`` is the verdict on completion, ``reached`` as of `RoundTrip`; ``seconds`` are those of
    save, load and run.
    """

    answers: Answers
    ended: Verdict
    reached: Stage
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    archive_bytes: int | None = None


@dataclass
class Shared:
    """What the cells of one case have made so far, by identity."""

    exports: dict[str, Exported] = field(default_factory=dict)
    inlined: dict[str, Answers] = field(default_factory=dict)
    transforms: dict[str, Answers] = field(default_factory=dict)  # by inliner, crossing or not
    programs: dict[str, Judged] = field(default_factory=dict)


def module_identity(module: GraphModule) -> str:
    """Equal for two modules exactly if they hold the same graph, metadata and attributes."""
    return identity_of(module_lines(module))


def module_lines(module: GraphModule) -> list[str]:
    """What identifies a module, for a person to see where two part."""
    return [*graph_lines(module.graph), *_held(module)]


def computation_identity(module: GraphModule) -> str:
    """Equal for two modules exactly if they compute alike by the same names.

    `torch.export` runs a module's code and works all metadata out again, so metadata is left out:
    up to 2.5 an inliner writes other metadata than later ones, and the same program comes of it.
    """
    lines = (
        f"{node.name} {node.op} {node.target} {node.args} {node.kwargs}"
        for node in module.graph.nodes
    )
    return identity_of([*lines, *_held(module)])


def program_identity(program: ExportedProgram) -> str:
    """Equal for two programs exactly if they would be saved and unflattened alike."""
    return identity_of(program_lines(program))


def program_lines(program: ExportedProgram) -> list[str]:
    """What identifies a program, for a person to see where two part."""
    return [
        *graph_lines(program.graph),
        *_held(program.graph_module),
        str(program.graph_signature),
        str(program.range_constraints),
        str(program.module_call_graph),
        str(_described(program.example_inputs)),
        *_values(program.state_dict),
        *_values(program.constants),
        *(str(node.meta.get("nn_module_stack")) for node in program.graph.nodes),
    ]


def _held(module: GraphModule) -> Iterator[str]:
    """Every attribute that the graph reads, which of them are persistent, how it is called."""
    paths = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    yield from _values({path: _attribute(module, path) for path in paths})
    yield str(sorted(module.state_dict().keys()))
    yield str(getattr(module.graph._codegen, "pytree_info", None))
    yield str(sorted(module.meta))


def graph_lines(graph: Graph) -> Iterator[str]:
    """A line a node: its wiring, its value's metadata, and which other metadata it has."""
    for node in graph.nodes:
        meta = _described(node.meta.get("val"))
        keys = sorted(str(key) for key in node.meta)
        target = _target(node.target)
        yield f"{node.name} {node.op} {target} {node.args} {node.kwargs} {meta} {keys}"


def _target(target: Any) -> str:
    """What a node calls or reads; a Python function by its name, for its text has an address."""
    if isinstance(target, FunctionType):
        return f"{target.__module__}.{target.__qualname__}"
    return str(target)


def _described(value: Any) -> Any:
    """A value's type, shape, strides and type of element; containers item by item."""
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__
        return f"{kind} {value.dtype} {tuple(value.shape)} {value.stride()} {value.device}"
    if isinstance(value, list | tuple):
        return type(value).__name__, [_described(item) for item in value]
    if isinstance(value, CustomObjArgument):  # its text has the address of a fake in it
        return f"{value.name} {value.class_fqn}"
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    return repr(value)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    """An attribute, or None: an inliner may leave a graph that reads what its module has not."""
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _values(held: Mapping[str, Any]) -> Iterator[str]:
    """A line a value, with the number of the memory that it shares with values before it."""
    memories: dict[int, int] = {}
    for name, value in sorted(held.items()):
        shared = isinstance(value, torch.Tensor)
        memory = value.untyped_storage()._cdata if shared else id(value)
        yield f"{name} {_value(value)} memory {memories.setdefault(memory, len(memories))}"


def _value(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__
        return f"{kind} {content_digest(value)} {value.stride()} {value.requires_grad}"
    if isinstance(value, GraphModule):  # a branch of a cond, the body of a loop
        return module_identity(value)
    return "absent" if value is None else identity_of(engine_slots(value))


def identity_of(lines: Iterable[str]) -> str:
    """Equal for equal lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
