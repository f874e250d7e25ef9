"""How a release splits models: engines and fallbacks, and why each op stays in PyTorch.

It is asked before anything else of a user's model, so what is wrong with the model or with what is
asked of `compile` is told here.
"""

from __future__ import annotations

import hashlib
import inspect
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node

from corpus.case import Case, find_case
from corpus.op_names import NoSuchOp
from corpus.user_model import WrongModel
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.capture.fallbacks import ops_of
from harness.rig.cell.prepare import NotPrepared, PreparedCase, refusal
from harness.rig.clock import StageClock
from harness.rig.engines.module import is_engine_child
from harness.rig.lanes import PackageLane, lane_of
from harness.rig.package.compile_hooks import NothingFallsBack
from harness.rig.package.compiling import named_by_a_user
from harness.rig.questions import CannotAnswer
from harness.rig.questions.picture import split_graph
from harness.wire.vocabulary import Stage

NAMED = "as asked"
NO_CONVERTER = "no converter"
SMALL = "its segment is smaller than min_block_size"


def model_splits(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For each wanted case ``boxes``, ``wires``, ``engines``, ``fallbacks``, ``crossing`` and more.

    ``fallbacks`` is a list of ``op``, ``count`` and ``why``. ``crossing`` are the sizes that go
    from one piece into another as numbers, ``structure`` is a digest of the exported graph,
    and ``lacks`` what the model has not, as `harness.register.defects.MODELS` names it. A case that
    does not compile has ``refused`` and ``lacks`` alone.

    Args:
        request: the setup of the package lane, and ``cases``, their names.

    Raises:
        CannotAnswer: a model cannot be exported, names an op that it has not, or a setting that
            `compile` does not have.
    """
    with lane_of(request) as lane:
        assert isinstance(lane, PackageLane)
        wrong = []
        for case in map(find_case, request["cases"]):
            name = case.name
            wrong += list(_unknown_settings(lane.package, case))
            try:
                prepared = lane.prepare(case, "nonstrict", StageClock())
            except NotPrepared as error:
                if isinstance(error.cause, NoSuchOp | NothingFallsBack | WrongModel):
                    wrong.append(str(error.cause))
                    continue
                if error.stage is Stage.CAPTURE:
                    wrong.append(refusal(case, error.stage, error.cause))
                    continue
                said = next(iter(str(error.cause).strip().splitlines()), "")
                refused = f"{type(error.cause).__name__}: {said}"
                lacks = list(_lacking(capture(case, "nonstrict")))
                yield {"case": name, "refused": refused, "lacks": lacks}
                continue
            boxes, wires = split_graph(prepared.split)
            yield {
                "case": name,
                "boxes": boxes,
                "wires": wires,
                "engines": sum(is_engine_child(child) for child in prepared.split.children()),
                "fallbacks": list(_fallbacks(lane.package, prepared)),
                "crossing": list(_sizes_that_cross(prepared.split)),
                "structure": structure_of(prepared),
                "lacks": list(_lacking(prepared.captured)),
            }
        if wrong:
            raise CannotAnswer("; ".join(wrong))


def _unknown_settings(package: types.ModuleType, case: Case) -> Iterator[str]:
    """`compile` takes any keyword, and ignores what it does not know."""
    known = inspect.signature(package.dynamo.compile).parameters
    unknown = sorted(name for name, _ in case.settings if name not in known)
    if unknown:
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        has = ", ".join(sorted(name for name, each in known.items() if each.kind in kinds))
        yield (
            f"{case.name}: torch_tensorrt.dynamo.compile of {package.__version__} has no setting "
            f"{', '.join(unknown)}; it has {has}"
        )


def _lacking(captured: CapturedProgram) -> Iterator[str]:
    """What the model surely has not, of what makes a model meet a known defect."""
    example, settings = captured.example, dict(captured.case.settings)
    forward = inspect.signature(captured.eager.forward).parameters.values()
    has = {
        "keywords": bool(example.kwargs)
        or any(each.kind is each.VAR_POSITIONAL for each in forward),
        "sizes": captured.program.dynamic_shapes is not None,
        "no-inputs": not pytree.tree_leaves((example.args, dict(example.kwargs))),
        "global-partitioner": settings.get("use_fast_partitioner") is False,
        "recompiled": captured.program.after_compile is not None,
    }
    yield from (name for name, present in has.items() if not present)


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
    named = set(named_by_a_user(prepared.case))
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
    """The names of values that are sizes, and go from one piece into another."""
    for node in split.graph.nodes:
        if node.op == "placeholder" or not isinstance(node.meta.get("val"), torch.SymInt):
            continue
        if any(user.op == "call_module" for user in node.users):
            yield node.name
