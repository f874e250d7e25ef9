"""How a release splits a model: engines and fallbacks, and why each op stays in PyTorch.

A worker tells it before it runs the model's cells, so what is wrong with the model or with what is
asked of `compile` is told here.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node

from corpus.case import Case, Mistake, find_case
from corpus.models_file import has_module
from harness.rig.capture.capture import capture
from harness.rig.capture.fallbacks import ops_of
from harness.rig.capture.lacking import lacking
from harness.rig.cell.prepare import NotPrepared, PreparedCase, raised_by
from harness.rig.engines.module import is_engine_child
from harness.rig.lanes import Lane, PackageLane
from harness.rig.oracles.completion import first_line
from harness.rig.package.compile_hooks import ExportedOtherwise, NothingFallsBack
from harness.rig.package.compiling import named_by_a_user
from harness.rig.package.module_given import traces_the_same
from harness.rig.questions.picture import split_graph
from harness.wire.vocabulary import SIZES_VIOLATED, Stage

NAMED = "as asked"
NO_CONVERTER = "no converter"
_NOT_EXPORTED = "change it so that torch.export.export takes it, which says"
_NOT_SO_SIZED = (
    "the sizes that are stated to vary are not those that the model takes; leave out what it "
    "fixes, state what has to be equal as one size (x:0,y:0=2:64), narrow the range, or change "
    "the model; torch.export.export says"
)
_GIVEN = {
    "torch_executed_ops": "--fallback OP for each op, or fallback in a models file",
    **dict.fromkeys(
        ("inputs", "arg_inputs", "kwarg_inputs", "exported_program"),
        "--inputs FILE.py:FUNCTION, which returns what the model is given",
    ),
}
_WRITTEN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
SMALL = "its segment is smaller than min_block_size"


def told_of(lane: Lane, case: Case, prepared: PreparedCase | NotPrepared) -> dict[str, Any]:
    """What a lane knows of a case: as `split_of`; of an inliner alone ``case`` and ``lacks``."""
    if isinstance(lane, PackageLane):
        return split_of(lane, case, prepared)
    known = list(lacking(prepared.captured)) if isinstance(prepared, PreparedCase) else []
    return {"case": case.name, "lacks": known}


def told_of_module(lane: Lane, name: str) -> dict[str, Any]:
    """``case`` and ``module_traced_alike``, or nothing where `compile` is given no module.

    The latter is whether `torch_tensorrt.compile` of the module compiles the captured program.
    """
    case = find_case(name)
    if not (isinstance(lane, PackageLane) and has_module(case)) or lane.unusable:
        return {}
    try:
        captured = capture(case, "nonstrict", lane.seed)
    except Exception:  # noqa: BLE001 - what is wrong with it was told before
        return {}
    alike = traces_the_same(lane.package, captured, lane.executor)
    return {"case": name, "module_traced_alike": alike}


def split_of(lane: PackageLane, case: Case, prepared: PreparedCase | NotPrepared) -> dict[str, Any]:
    """``case``, ``boxes``, ``wires``, ``engines``, ``fallbacks``, ``crossing`` and more.

    ``fallbacks`` is a list of ``op``, ``count`` and ``why``. ``crossing`` tells the sizes that go
    from one piece into others as numbers, ``structure`` is a digest of the exported graph,
    and ``lacks`` what the model has not, as `harness.rig.capture.lacking` tells it. A case that
    does not compile has ``refused`` and ``lacks`` alone. One that cannot be exported, or that names
    an op that it has not or a setting that `compile` does not have, has ``wrong`` alone: why.
    """
    name = case.name
    if wrong := _wrong_settings(lane.package, case):
        return {"case": name, "wrong": wrong}
    if isinstance(prepared, PreparedCase):
        return {
            "case": name,
            "boxes": (drawn := split_graph(prepared.split))[0],
            "wires": drawn[1],
            "engines": sum(is_engine_child(child) for child in prepared.split.children()),
            "fallbacks": list(_fallbacks(lane.package, prepared)),
            "crossing": list(_sizes_that_cross(prepared.split)),
            "structure": structure_of(prepared),
            "lacks": list(lacking(prepared.captured)),
        }
    if isinstance(prepared.cause, NothingFallsBack | ExportedOtherwise | Mistake):
        return {"case": name, "wrong": str(prepared.cause)}
    if prepared.stage is Stage.CAPTURE:
        instead = _NOT_SO_SIZED if SIZES_VIOLATED in str(prepared.cause) else _NOT_EXPORTED
        told = raised_by(case, prepared.cause)
        return {"case": name, "wrong": f"{name}: {instead}: {told}"}
    refused = f"{type(prepared.cause).__name__}: {first_line(prepared.cause)}"
    return {"case": name, "refused": refused, "lacks": list(lacking(capture(case, "nonstrict")))}


def _wrong_settings(package: types.ModuleType, case: Case) -> str:
    """What is wrong with the settings: `compile` takes any keyword, and ignores the unknown."""
    known = inspect.signature(package.dynamo.compile).parameters
    whose = f"{case.name}: torch_tensorrt.dynamo.compile of {package.__version__}"
    unknown = sorted(name for name, _ in case.settings if name not in known)
    if unknown:
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        has = ", ".join(sorted(name for name, each in known.items() if each.kind in kinds))
        near = [each for name in unknown for each in get_close_matches(name, known, 1)]
        has = f"{has}; perhaps {', '.join(near)}" if near else has
        return f"{whose} has no setting {', '.join(unknown)}; it has {has}"
    for name, value in case.settings:
        if name in _GIVEN:
            return f"{case.name}: {name} is no setting here; write {_GIVEN[name]}"
        kind = type(known[name].default)
        fits = type(value) is kind or (kind is float and type(value) is int)
        if kind in _WRITTEN and not fits:
            return f"{whose} takes {_WRITTEN[kind]} as {name}, and not {value!r}"
    return ""


def structure_of(prepared: PreparedCase) -> str:
    """A digest of the exported graph's ops and of what reads what: no name, size or number."""
    exported = prepared.captured.exported
    assert exported is not None
    place = {node: number for number, node in enumerate(exported.graph.nodes)}
    lines = [
        f"{node.op} {'' if node.op == 'placeholder' else node.target} "
        f"{[place[read] for read in node.all_input_nodes]}"
        for node in exported.graph.nodes
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _fallbacks(package: types.ModuleType, prepared: PreparedCase) -> Iterator[dict[str, Any]]:
    """Each op that stays in PyTorch, how often, and why."""
    named = set(named_by_a_user(prepared.captured))
    counts: Counter[tuple[str, str]] = Counter()
    for module in (prepared.split, *prepared.split.children()):
        if not isinstance(module, GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op == "call_function" and not _is_getitem(node):
                op = next(iter(_name_of(module, node)))
                why = NAMED if op in named else SMALL if _converts(package, node) else NO_CONVERTER
                counts[op, why] += 1
    for (op, why), count in counts.items():
        yield {"op": op, "count": count, "why": why}


def _name_of(module: GraphModule, node: Node) -> frozenset[str]:
    alone = torch.fx.Graph()
    alone.call_function(node.target)  # type: ignore[arg-type]
    return ops_of(alone)


def _is_getitem(node: Node) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def _converts(package: types.ModuleType, node: Node) -> bool:
    """Whether the release has a converter that takes the node."""
    return node in package.dynamo.conversion.DYNAMO_CONVERTERS


def _sizes_that_cross(split: GraphModule) -> Iterator[str]:
    """Each size that one piece gives to others: what it is, from where, and into which pieces.

    A size is told by the input's dimension that it is, as a user writes it; else as torch has it.
    """
    dimensions = {
        str(size): f"{node.name}:{axis}"
        for node in split.graph.nodes
        if node.op == "placeholder"
        for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ()))
        if isinstance(size, torch.SymInt)
    }
    for node in split.graph.nodes:
        into = [user.name for user in node.users if user.op == "call_module"]
        size = _value(split, node)
        if into and isinstance(size, torch.SymInt):
            source = node.args[0] if _is_getitem(node) else node
            told = dimensions.get(str(size), str(size))
            yield f"{told} from {source} into {', '.join(into)}"


def _value(split: GraphModule, node: Node) -> Any:
    """What a node stands for where torch traced it: a tensor without numbers, a size, or several.

    A piece that stays in PyTorch has it in its own graph.
    """
    if _is_getitem(node):
        whole, number = node.args
        assert isinstance(whole, Node)
        assert isinstance(number, int)
        several = _value(split, whole)
        return several[number] if isinstance(several, list | tuple) else None
    child = split.get_submodule(str(node.target)) if node.op == "call_module" else None
    if node.meta.get("val") is None and isinstance(child, GraphModule):
        return pytree.tree_map(lambda each: each.meta.get("val"), child.graph.output_node().args[0])
    return node.meta.get("val")
