"""The state oracle: what a program holds beside its graph.

Parameters and buffers keep their value, type, strides and `requires_grad`, they stay in or outside
of the state dict, and they go on sharing memory with the same tensors. This holds from the split
module to the exported program, the reloaded program and the module that a user gets from it.
Engines keep every slot. Calls on state that an earlier call has written to belong to the values
oracle.

Two correct programs may differ in the following, so it is not compared:
    names        inlining flattens them, so a tensor is found by its content
    unread state the splitter and export drop what no output needs; what is read is read off the
                 split module's terms
    constants    a plain tensor and a buffer that is not persistent are one: outside the state dict
    the split    is what persistence is held against. The splitter of torch.fx makes a persistent
                 buffer of every tensor that is no parameter (`torch.fx.graph_module._copy_attr`),
                 on every route alike, so that is no inliner's loss
    literals     of a model that is exported whole, torch lifts the tensors that its code makes
"""

from __future__ import annotations

import enum
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule

from harness.rig.engines.emulated import NAME_SLOT, engine_digest, engine_slots
from harness.rig.engines.module import is_engine_child
from harness.rig.oracles.finding import Finding
from harness.rig.oracles.reading import Reading
from harness.rig.oracles.terms import Kind, labels
from harness.wire.vocabulary import Stage

Digest = Callable[[torch.Tensor], str]
Slots = tuple[str, ...]


class Role(enum.StrEnum):
    """What a tensor is for those who train a model, or save or load a state dict."""

    PARAMETER = "parameter"
    BUFFER = "buffer"  # in the state dict
    CONSTANT = "constant"  # outside: a buffer that is not persistent, or no buffer at all


@dataclass(frozen=True)
class Held:
    """One tensor under one name.

    Tensors of one program with equal ``storage`` share memory; it is None where there is none, of a
    tensor without elements, since all of these may be saved as one.
    """

    name: str
    content: str  # type, shape and bits
    role: Role
    requires_grad: bool
    strides: tuple[int, ...]
    storage: int | None


@dataclass(frozen=True)
class State:
    """What a program holds: its tensors, and the slots of its engines."""

    tensors: tuple[Held, ...]
    engines: tuple[Slots, ...] = ()


@dataclass(frozen=True)
class ExpectedState:
    """The state that a program should have.

    ``read`` is what graphs read. Of that, a program needs the tensors with ``contents`` and the
    engines with the digests ``engines``; it may hold tensors with ``all_contents``.
    """

    read: State
    contents: frozenset[str]
    engines: frozenset[str]
    all_contents: frozenset[str]
    literals: bool = False  # whether constants that are nobody's attribute may appear


def of_split(split: GraphModule, reading: Reading, digest: Digest) -> ExpectedState:
    """The state of a split module, and the part that its outputs and effects need."""
    everything = of_module(split, digest)
    read = {name for prefix, module in _graphs(split) for name in _read_names(prefix, module)}
    engines = [m.engine for m in split.modules() if is_engine_child(m)]
    engines += list(_engines_read(split))
    tensors = tuple(item for item in everything.tensors if item.name in read)
    terms = [*reading.outputs, *reading.effects]
    return ExpectedState(
        State(tensors, tuple(engine_slots(engine) for engine in engines)),
        contents=frozenset(map(str, labels(terms, Kind.STATE))),
        engines=frozenset(map(str, labels(terms, Kind.ENGINE))),
        all_contents=frozenset(item.content for item in everything.tensors),
    )


def of_model(
    model: torch.nn.Module, exported: ExportedProgram | None, digest: Digest
) -> ExpectedState:
    """The state of a model that is exported whole. It needs what its captured program reads."""
    held = of_module(model, digest)
    captured = of_program(exported, digest).tensors if exported is not None else ()
    own = frozenset(item.content for item in held.tensors)
    read = _placeholders_read(exported) if exported is not None else frozenset()
    return ExpectedState(
        held,
        contents=own & {item.content for item in captured if item.name in read},
        engines=frozenset(),
        all_contents=own,
        literals=True,
    )


def of_module(module: torch.nn.Module, digest: Digest) -> State:
    """Every tensor that a module or one of its children holds, under each of its names."""
    tensors = []
    for path, owner in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        outside = owner._non_persistent_buffers_set
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                tensors.append(_held(prefix + name, parameter, Role.PARAMETER, digest))
        for name, buffer in owner._buffers.items():
            if buffer is not None:
                role = Role.CONSTANT if name in outside else Role.BUFFER
                tensors.append(_held(prefix + name, buffer, role, digest))
        for name, value in vars(owner).items():
            if isinstance(value, torch.Tensor):
                tensors.append(_held(prefix + name, value, Role.CONSTANT, digest))
    return State(tuple(tensors))


def of_program(program: ExportedProgram, digest: Digest) -> State:
    """What an exported program lifts according to its signature, and what else it holds."""
    tensors = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:  # which may have the name of a tensor for its target
            continue
        value = _lifted(program, str(spec.target))
        if isinstance(value, torch.Tensor):
            role = {
                InputKind.PARAMETER: Role.PARAMETER,
                InputKind.BUFFER: Role.BUFFER if spec.persistent else Role.CONSTANT,
            }.get(spec.kind, Role.CONSTANT)
            tensors[str(spec.target)] = _held(str(spec.target), value, role, digest)
    for name, value in [*program.state_dict.items(), *program.constants.items()]:
        if isinstance(value, torch.Tensor) and name not in tensors:
            tensors[name] = _held(name, value, _kept_as(program, name), digest)
    objects = [
        value for value in program.constants.values() if isinstance(value, torch.ScriptObject)
    ]
    return State(tuple(tensors.values()), tuple(engine_slots(engine) for engine in objects))


def check_program(
    expected: ExpectedState, program: ExportedProgram, digest: Digest, stage: Stage
) -> Iterator[Finding]:
    """Findings in the state of a program, before it is saved or after it is loaded."""
    for spec in program.graph_signature.input_specs:
        name = str(spec.target)
        if spec.kind is not InputKind.USER_INPUT and _lifted(program, name) is None:
            yield Finding(stage, "the signature names what the program does not hold", name)
    state = of_program(program, digest)
    for item in state.tensors:
        kept = _kept_as(program, item.name)
        if kept is not item.role:
            kind = f"a {item.role} by the signature, kept as a {kept}"
            yield Finding(stage, kind, item.name)
    yield from compare(expected, state, stage)


def check_module(
    expected: ExpectedState, module: torch.nn.Module, digest: Digest
) -> Iterator[Finding]:
    """Findings in the state of the module that a reloaded program gives its user."""
    found = compare_tensors(expected, of_module(module, digest).tensors, Stage.RUN)
    yield from (Finding(item.stage, f"its module: {item.kind}", item.detail) for item in found)


def compare(expected: ExpectedState, got: State, stage: Stage) -> Iterator[Finding]:
    """Findings between what a program should hold and what it holds."""
    yield from compare_tensors(expected, got.tensors, stage)
    yield from _compare_engines(expected, got.engines, stage)


def compare_tensors(
    expected: ExpectedState, got: Iterable[Held], stage: Stage
) -> Iterator[Finding]:
    """Findings among tensors, which are matched by content."""
    wanted = _by_content(expected.read.tensors)
    present = _by_content(got)
    for content in sorted(expected.contents & wanted.keys()):
        before, after = wanted[content], present.get(content, [])
        if not after:
            yield Finding(stage, f"a {before[0].role} is lost", before[0].name)
            continue
        for what in ("role", "requires_grad", "strides"):
            yield from _compare_attribute(what, before, after, stage)
        before_count, after_count = _storages(before), _storages(after)
        if after_count != before_count:
            kind = "shared memory became several copies"
            if after_count < before_count:
                kind = "several tensors became one"
            names = ", ".join(item.name for item in after)
            yield Finding(stage, kind, f"{names}: {after_count}, should be {before_count}")
    yield from _compare_views(expected, got, stage)
    for content in sorted(present.keys() - expected.all_contents):
        item = present[content][0]
        if not (expected.literals and item.role is Role.CONSTANT):
            yield Finding(stage, f"holds a {item.role} that was not there", item.name)


def _compare_attribute(
    what: str, before: list[Held], after: list[Held], stage: Stage
) -> Iterator[Finding]:
    """A finding if the values of an attribute among tensors of one content have changed."""
    old = sorted({getattr(item, what) for item in before})
    new = sorted({getattr(item, what) for item in after})
    if old == new:
        return
    role = before[0].role
    detail = f"{after[0].name}: {_listed(new)}, should be {_listed(old)}"
    if what == "role":
        yield Finding(stage, f"a {_listed(old)} became a {_listed(new)}", detail)
    elif what == "requires_grad":
        yield Finding(stage, f"a {role} has another requires_grad", detail)
    else:
        yield Finding(stage, f"a {role} has other strides", detail)


def _compare_views(expected: ExpectedState, got: Iterable[Held], stage: Stage) -> Iterator[Finding]:
    """Findings among tensors of different content that share memory, such as views."""
    known = expected.contents
    before = _views(item for item in expected.read.tensors if item.content in known)
    after = _views(item for item in got if item.content in known)
    for pair in sorted(before - after):
        yield Finding(stage, "shared memory became several copies", " and ".join(pair))
    for pair in sorted(after - before):
        yield Finding(stage, "memory is shared that was not", " and ".join(pair))


def _views(tensors: Iterable[Held]) -> set[tuple[str, str]]:
    shared = defaultdict(set)
    for item in tensors:
        if item.storage is not None:
            shared[item.storage].add(item.content)
    return {(one, two) for group in shared.values() for one in group for two in group if one < two}


def _compare_engines(
    expected: ExpectedState, got: tuple[Slots, ...], stage: Stage
) -> Iterator[Finding]:
    for slots in expected.read.engines:
        if engine_digest(slots) not in expected.engines or slots in got:
            continue
        namesakes = [other for other in got if other[NAME_SLOT] == slots[NAME_SLOT]]
        if not namesakes:
            yield Finding(stage, "an engine is lost", slots[NAME_SLOT])
            continue
        differing = [
            str(index)
            for index, (one, two) in enumerate(zip(slots, namesakes[0], strict=True))
            if one != two
        ]
        detail = f"{slots[NAME_SLOT]}: slot {', '.join(differing)}"
        yield Finding(stage, "a slot of an engine differs", detail)
    held = {slots: expected.read.engines.count(slots) for slots in got}
    for slots in dict.fromkeys(got):
        if got.count(slots) > held[slots] > 0:
            yield Finding(stage, "an engine is held several times", slots[NAME_SLOT])
    names = {slots[NAME_SLOT] for slots in expected.read.engines}
    for slots in got:
        if slots[NAME_SLOT] not in names:
            yield Finding(stage, "holds an engine that was not there", slots[NAME_SLOT])


def _held(name: str, tensor: torch.Tensor, role: Role, digest: Digest) -> Held:
    return Held(
        name,
        digest(tensor),
        role,
        tensor.requires_grad,
        tuple(tensor.stride()),
        tensor.untyped_storage()._cdata if tensor.numel() else None,
    )


def _lifted(program: ExportedProgram, name: str) -> object:
    return program.state_dict.get(name, program.constants.get(name))


def _kept_as(program: ExportedProgram, name: str) -> Role:
    """The role of a tensor by the place where a program keeps it, not by the signature."""
    if name not in program.state_dict:
        return Role.CONSTANT
    is_parameter = isinstance(program.state_dict[name], torch.nn.Parameter)
    return Role.PARAMETER if is_parameter else Role.BUFFER


def _placeholders_read(program: ExportedProgram) -> frozenset[str]:
    """Names of the lifted inputs that some node reads."""
    read = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    specs = program.graph_signature.input_specs
    return frozenset(str(spec.target) for spec in specs if spec.arg.name in read)


def _graphs(split: GraphModule) -> Iterator[tuple[str, GraphModule]]:
    for path, module in split.named_modules(remove_duplicate=False):
        if isinstance(module, GraphModule):
            yield f"{path}." if path else "", module


def _read_names(prefix: str, module: GraphModule) -> Iterator[str]:
    for node in module.graph.nodes:
        if node.op == "get_attr" and node.users:
            yield f"{prefix}{node.target}"


def _engines_read(split: GraphModule) -> Iterator[torch.ScriptObject]:
    """Engines that graphs call without a module, as in a program that is compiled again."""
    for _, module in _graphs(split):
        for node in module.graph.nodes:
            if node.op == "get_attr":
                held = operator.attrgetter(str(node.target))(module)
                if isinstance(held, torch.ScriptObject):
                    yield held


def _by_content(tensors: Iterable[Held]) -> dict[str, list[Held]]:
    grouped: dict[str, list[Held]] = defaultdict(list)
    for item in tensors:
        grouped[item.content].append(item)
    return grouped


def _storages(items: Iterable[Held]) -> int:
    return len({item.storage for item in items if item.storage is not None})


def _listed(values: Iterable[object]) -> str:
    return " and ".join(map(str, values))
