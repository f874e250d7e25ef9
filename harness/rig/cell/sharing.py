"""Two inliners that make equal programs share one result.

Most subjects inline most cases alike. Saving, loading, running and judging are functions of the
program alone. So a program whose graph, names, metadata, state and signature are equal to those of
a program that was judged already gets the same results. The same holds for inlined modules; and a
module that computes the same as another one is not exported again. Programs that differ, and whose
archives are equal byte for byte, differ in what is not saved: one is loaded. `--no-share` shares
nothing, and a test holds that it changes no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import CustomObjArgument
from torch.fx import Graph, GraphModule

from harness.rig.cell.warned import MOST
from harness.rig.engines.emulated import engine_slots
from harness.rig.inliners.protocol import Inlining, Transformed
from harness.rig.oracles.finding import Answers
from harness.rig.oracles.observing import content_digest
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage


@dataclass(frozen=True)
class Exported:
    """A program that `torch.export` made, and how long that took."""

    program: ExportedProgram
    seconds: float


@dataclass(frozen=True)
class Judged:
    """The results of a program or of an archive, to be reused for the next one that is equal.

    Those of an archive are about what came back from disk alone. ``ended`` is the verdict on
    completion; for ``reached`` see `RoundTrip`; ``seconds`` has the times of save, load and run.
    """

    answers: Sequence[Answers]
    ended: Verdict
    reached: Stage
    seconds: Mapping[Stage, float] = field(default_factory=dict)
    archive_bytes: int | None = None


@dataclass
class Shared:
    """What the cells of one case have made so far, keyed by identity."""

    exports: dict[str, Exported] = field(default_factory=dict)
    inlined: dict[str, Answers] = field(default_factory=dict)
    transforms: dict[str, Answers] = field(default_factory=dict)  # keyed by inliner and crossing
    made: dict[str, Transformed] = field(default_factory=dict)  # keyed by inliner
    programs: dict[str, Judged] = field(default_factory=dict)
    archives: dict[str, Judged] = field(default_factory=dict)
    saved_twice: bool = False  # whether a program of an inliner was

    def takes_second_save(self, route: Route) -> bool:
        """Whether the program that is being judged is the one of its case that is saved twice.

        Torch saves, and the programs of a case hold the same engines, ops and state; so the first
        one that an inliner made shows for all whether two saves reload equal.
        """
        first = not self.saved_twice and route not in (Route.PLAIN, Route.DIRECT)
        self.saved_twice |= first
        return first


def take_made(
    made: dict[str, Transformed], inliner: str, inlining: Inlining, told: list[str]
) -> None:
    """If a cell took what was made for it, tell the warnings of that, and leave it to no other."""
    if taken := inlining.taken:
        told[:] = list(dict.fromkeys([*taken.told, *told]))[:MOST]
        del made[inliner]


def module_identity(module: GraphModule) -> str:
    """Equal for two modules exactly if they hold the same graph, metadata and attributes."""
    return identity_of(module_lines(module))


def module_lines(module: GraphModule) -> list[str]:
    """The lines that identify a module; a person can see in them where two modules differ."""
    return [*graph_lines(module.graph), *_held(module)]


def computation_identity(module: GraphModule) -> str:
    """Equal for two modules exactly if they compute the same with the same names.

    Metadata are left out, because `torch.export` runs a module's code and computes all metadata
    again: inliners up to 2.5 write other metadata than later ones, and the programs are the same.
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
    """The lines that identify a program; a person can see in them where two programs differ."""
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
    """The attributes that the graph reads, which of them are persistent, and its calling form."""
    paths = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    yield from _values({path: _attribute(module, path) for path in paths})
    yield str(sorted(module.state_dict().keys()))
    yield str(getattr(module.graph._codegen, "pytree_info", None))
    yield str(sorted(module.meta))


def graph_lines(graph: Graph) -> Iterator[str]:
    """One line per node: its wiring, its value's metadata, and the keys of its other metadata."""
    for node in graph.nodes:
        meta = _described(node.meta.get("val"))
        keys = sorted(str(key) for key in node.meta)
        target = _target(node.target)
        yield f"{node.name} {node.op} {target} {node.args} {node.kwargs} {meta} {keys}"


def _target(target: Any) -> str:
    """What a node calls or reads. A Python function is named, since its text has an address."""
    if isinstance(target, FunctionType):
        return f"{target.__module__}.{target.__qualname__}"
    return str(target)


def _described(value: Any) -> Any:
    """A value's type, dtype, shape, strides and device; of a container, those of its items."""
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
    """An attribute, or None: an inliner may leave a graph that reads a missing attribute."""
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _values(held: Mapping[str, Any]) -> Iterator[str]:
    """One line per value. It numbers the value's memory, so that shared memory shows."""
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
    """The digest of lines."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
