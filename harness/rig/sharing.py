"""What is equal is done once: two inliners that make the same program get the same verdicts.

Most subjects inline most cases alike. Exporting, saving, loading, running and judging are functions
of the program alone, so a program that is equal in every respect to one that was judged already,
in graph, names, metadata, state and signature, is given that one's results. `--no-share` does
everything for everyone, and a test holds that it changes no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule

from harness.rig.engines.emulated import engine_slots
from harness.rig.oracles.values import content_digest
from harness.rig.records import Stage, Verdict


@dataclass(frozen=True)
class Judged:
    """What became of a program, for the next one that is equal to it."""

    verdicts: tuple[Verdict, ...]
    seconds: Mapping[Stage, float]
    archive_bytes: int | None


@dataclass
class Shared:
    """What the cells of one case have made so far."""

    exports: dict[str, tuple[ExportedProgram, float]] = field(default_factory=dict)
    judged: dict[str, Judged] = field(default_factory=dict)


def module_identity(module: GraphModule) -> str:
    """Equal for two modules exactly if they hold the same graph, metadata and attributes."""
    attributes = {
        str(node.target): _attribute(module, str(node.target))
        for node in module.graph.nodes
        if node.op == "get_attr"
    }
    persistent = sorted(module.state_dict().keys())
    info = getattr(module.graph._codegen, "pytree_info", None)
    held = [f"{name} {_value(value)}" for name, value in sorted(attributes.items())]
    return _digest([*_graph_lines(module.graph), *held, str(persistent), str(info)])


def program_identity(program: ExportedProgram) -> str:
    """Equal for two programs exactly if they would be saved alike."""
    state = [f"{name} {_value(value)}" for name, value in sorted(program.state_dict.items())]
    constants = [f"{name} {_value(value)}" for name, value in sorted(program.constants.items())]
    return _digest(
        [
            *_graph_lines(program.graph),
            str(program.graph_signature),
            str(program.range_constraints),
            str(program.module_call_graph),
            str(_described(program.example_inputs)),
            *state,
            *constants,
        ]
    )


def _graph_lines(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        meta = _described(node.meta.get("val"))
        keys = sorted(str(key) for key in node.meta)
        yield f"{node.name} {node.op} {node.target} {node.args} {node.kwargs} {meta} {keys}"


def _described(value: Any) -> Any:
    """A value's type, shape, strides and type of element; containers item by item."""
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__
        return f"{kind} {value.dtype} {tuple(value.shape)} {value.stride()} {value.device}"
    if isinstance(value, list | tuple):
        return type(value)(_described(item) for item in value)
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    return repr(value)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _value(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        kind = type(value).__name__
        return f"{kind} {content_digest(value)} {value.stride()} {value.requires_grad}"
    return _digest(engine_slots(value))


def _digest(lines: Any) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
