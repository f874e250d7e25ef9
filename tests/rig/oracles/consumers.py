"""Finds who reads metadata, by comparing a program with wrong metadata to a twin with right ones.

A kind of difference that no consumer notices exists in memory only, and harms nobody (see `harm`).
`test_consumers` asks this once for each kind; no cell asks it.

The consumers are what a person does with a program before saving it: run it, decompose it, export
it again, unflatten it, validate it, and compile it ahead of time. For the last one the C++ sources
are compared, and not numbers: that takes a second, where building them takes half a minute, and two
programs with the same sources, weights and engines compute the same.
"""

from __future__ import annotations

import copy
import hashlib
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch._inductor import aoti_compile_and_package
from torch._library.fake_class_registry import maybe_to_fake_obj
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec
from torch.fx import Node
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from corpus.case import Inputs
from harness.rig.copying import copy_of
from harness.rig.oracles.completion import normalise
from harness.rig.oracles.metadata import differences
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed

#: Files in an archive of sources that say when and how it was made, not what it computes.
_ABOUT_MAKING: Final = re.compile(
    r"\.data/|archive_|byteorder|_flags\.json$|CMakeLists\.txt$|script\.ld$"
)


class NoRightTwin(ValueError):
    """The right metadata of a program could not be computed."""


@dataclass(frozen=True)
class Asked:
    """How a program is called.

    Attributes:
        calls: the first one is the program's example.
        dynamic_shapes: what `torch.export.export` is given.
    """

    calls: Sequence[Inputs]
    dynamic_shapes: Any = None

    @property
    def example(self) -> Inputs:
        return copy.deepcopy(self.calls[0])


@dataclass(frozen=True)
class Heard:
    """What a consumer makes of two programs that differ in metadata only.

    Attributes:
        told: how its results differ; empty if they do not.
        both_end: the error in which both end, which proves nothing; empty if there is none.
    """

    told: str = ""
    both_end: str = ""


def ask_consumers(
    program: ExportedProgram, asked: Asked, names: Iterable[str] | None = None
) -> dict[str, Heard]:
    """Give a program and its twin to each consumer, or to those named; each gets copies."""
    twin = right_twin(program, asked.calls)
    return {
        name: _compare(*(_Ended.of(CONSUMERS[name], each, asked) for each in (program, twin)))
        for name in names or CONSUMERS
    }


def right_twin(program: ExportedProgram, calls: Sequence[Inputs]) -> ExportedProgram:
    """A copy of a program in which every node's `meta["val"]` is right for all calls.

    Nodes whose value is right keep it. The others get what they hold or compute as fake tensors, in
    the order of the graph, so that symbolic sizes stay symbolic.

    Raises:
        NoRightTwin: nothing is wrong with the program, or something is still wrong with the copy.
        RuntimeError: torch rejects a call of the copy: an input whose metadata were wrong gets the
            sizes of the first call, which other calls may not have.
    """
    twin = copy_of(program)
    wrong = {node for call in calls for node, _, _ in differences(twin, call)}
    if not wrong:
        raise NoRightTwin("nothing differs: the program is its own twin")
    mode = _fake_mode(twin)
    specs = {spec.arg.name: spec for spec in twin.graph_signature.input_specs}
    given = _leaves(twin, calls[0])
    for node in twin.graph.nodes:
        if node not in wrong:
            continue
        if node.op == "placeholder":
            node.meta["val"] = _as_fake(_held(twin, specs[node.name], given), mode)
        else:
            node.meta["val"] = _computed(twin, node, mode)
    for call in calls:
        for node, kind, detail in differences(twin, call):
            raise NoRightTwin(f"{node.name} still is: {kind}: {detail}")
    return twin


def _fake_mode(program: ExportedProgram) -> FakeTensorMode:
    """The fake mode of the program's own metadata, so that right values share its symbols."""
    for node in program.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, FakeTensor):
                return value.fake_mode
    return FakeTensorMode()


def _leaves(program: ExportedProgram, call: Inputs) -> dict[str, Any]:
    """The value of each user input in a call."""
    leaves, _ = program._get_flat_args_with_check(call.args, dict(call.kwargs))
    names = [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT
    ]
    return dict(zip(names, leaves, strict=True))


def _held(program: ExportedProgram, spec: InputSpec, given: Mapping[str, Any]) -> Any:
    if spec.kind is InputKind.USER_INPUT:
        return given[spec.arg.name]
    state: Mapping[str, Any] = {**program.constants, **program.state_dict}
    return state[str(spec.target)]


def _as_fake(value: Any, mode: FakeTensorMode) -> Any:
    def fake(tensor: torch.Tensor) -> FakeTensor:
        return mode.from_tensor(tensor, static_shapes=True)

    return pytree.tree_map_only(torch.Tensor, fake, value)


def _computed(program: ExportedProgram, node: Node, mode: FakeTensorMode) -> Any:
    """What a node computes from the values of its arguments, which are right already."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}

    def value(argument: Node) -> Any:
        spec = specs.get(argument.name)
        if spec is not None and spec.kind is InputKind.CUSTOM_OBJ:
            return maybe_to_fake_obj(mode, program.constants[str(spec.target)])
        return argument.meta["val"]

    if not callable(node.target):
        raise NoRightTwin(f"{node.name}: a {node.op} computes nothing")
    with mode:
        return node.target(*map_arg(node.args, value), **map_arg(node.kwargs, value))


# ------------------------------------------------------------------------------ consumers


def _run(program: ExportedProgram, asked: Asked) -> Observed:
    return observe(program.module(), asked.calls)


def _decompose(program: ExportedProgram, asked: Asked) -> Observed:
    return _run(program.run_decompositions(), asked)


def _export_again(program: ExportedProgram, asked: Asked) -> Observed:
    example = asked.example
    again = torch.export.export(
        program.module(),
        example.args,
        dict(example.kwargs),
        dynamic_shapes=asked.dynamic_shapes,
    )
    return _run(again, asked)


def _unflatten(program: ExportedProgram, asked: Asked) -> Observed:
    """Unflatten a program after every node was given a module.

    Without one, such as that of an inlined engine, unflattening fails whatever the metadata are.
    """
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.meta.setdefault("nn_module_stack", {"": ("", "torch.nn.Module")})
    return observe(torch.export.unflatten(program), asked.calls)


def _validate(program: ExportedProgram, asked: Asked) -> None:
    program.validate()


def _compile_ahead(program: ExportedProgram, asked: Asked) -> frozenset[tuple[str, str]]:
    """The sources that AOTInductor makes of a program, with its weights and engines.

    It needs example inputs, which programs of a release lack and those of torch have.
    """
    example = asked.example
    program.example_inputs = (example.args, dict(example.kwargs))
    with tempfile.TemporaryDirectory(prefix="sources-") as folder:
        archive = aoti_compile_and_package(
            program,
            package_path=str(Path(folder) / "sources.pt2"),
            inductor_configs={"aot_inductor.package_cpp_only": True},
        )
        with zipfile.ZipFile(archive) as opened:
            names = [name for name in opened.namelist() if not _ABOUT_MAKING.search(name)]
            return frozenset((name, _content(name, opened.read(name))) for name in names)


def _content(name: str, content: bytes) -> str:
    """A file's digest, but for C++ sources, whose name has it and whose text may gain a line."""
    return "" if name.endswith(".cpp") else hashlib.sha256(content).hexdigest()


Consume = Callable[[ExportedProgram, Asked], Any]

CONSUMERS: Final[Mapping[str, Consume]] = {
    "module": _run,
    "run_decompositions": _decompose,
    "export": _export_again,
    "unflatten": _unflatten,
    "validate": _validate,
    "AOTInductor": _compile_ahead,
}


@dataclass(frozen=True)
class _Ended:
    """What a consumer made of a program, or the error that it raised."""

    made: Any = None
    error: str = ""

    @staticmethod
    def of(consume: Consume, program: ExportedProgram, asked: Asked) -> _Ended:
        try:
            return _Ended(made=consume(copy_of(program), asked))
        except Exception as error:  # noqa: BLE001 - the consumer's own, and its answer
            return _Ended(error=normalise(error))


def _compare(wrong: _Ended, right: _Ended) -> Heard:
    if wrong.error and right.error:
        return Heard(both_end=right.error)
    if wrong.error or right.error:
        return Heard(told=f"raises: {wrong.error or f'with right metadata: {right.error}'}")
    if isinstance(right.made, Observed):
        found = right.made.difference(wrong.made)
        return Heard(told=f"{found.kind}: {found.detail}" if found else "")
    return Heard(told="" if wrong.made == right.made else "makes another program")
