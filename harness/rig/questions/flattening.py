"""A split module, and the one graph that each inliner makes of it, node by node, for drawings."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node

from corpus.case import find_case
from harness.rig.cell.prepare import NotPrepared, refusal
from harness.rig.clock import StageClock
from harness.rig.engines.module import is_engine_child
from harness.rig.inliners.protocol import Inlined, InliningAlone
from harness.rig.lanes import lane_of
from harness.rig.questions import CannotAnswer
from harness.wire.routes import Route

RETURNS = "returns"
"""The box that the model's outputs end in."""

EXECUTE_ENGINE = "execute_engine"


def flattened(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The split module, and then what each inliner made of it, as far as it got.

    Each is ``nodes``, in the order of the graph, and what was ``raised``. A node has a ``name``, a
    ``kind``, what it ``says``, and what it ``reads``: the names of nodes, which are in the graph
    unless they were erased.

    Args:
        request: the setup of a graph lane, ``case``, ``capture``, and ``by``: names of subjects.

    Raises:
        CannotAnswer: the case cannot be captured or split.
    """
    with lane_of(request) as lane:
        case = find_case(request["case"])
        try:
            prepared = lane.prepare(case, request["capture"], StageClock())
        except NotPrepared as reason:
            raise CannotAnswer(refusal(case, reason.stage, reason.cause)) from reason
        inputs = [node.name for node in prepared.split.graph.nodes if node.op == "placeholder"]
        yield {"nodes": _nodes(prepared.split, inputs), "raised": ""}
        for subject in request["by"]:
            inlining, raised = InliningAlone(), ""
            try:
                lane.export(prepared, subject, Route.EXPORT, inlining)
            except Inlined:
                pass
            except Exception as error:  # noqa: BLE001 - what an inliner raises is drawn
                raised = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
            nodes = _nodes(inlining.inlined, inputs) if inlining.inlined is not None else []
            yield {"nodes": nodes, "raised": raised}


def _nodes(module: GraphModule, inputs: list[str]) -> list[dict[str, Any]]:
    """Every node but the attributes that hold engines: these are told with their call."""
    engines = {
        node
        for node in module.graph.nodes
        if node.op == "get_attr" and any(_is_execute_engine(user) for user in node.users)
    }
    return [
        {
            "name": _name(node),
            **_described(module, node, inputs),
            "reads": [
                _name(item)
                for item in pytree.tree_leaves((node.args, node.kwargs))
                if isinstance(item, Node) and item not in engines
            ],
        }
        for node in module.graph.nodes
        if node not in engines
    ]


def _name(node: Node) -> str:
    if node.op == "output":
        return RETURNS
    return node.name.replace("execute_engine_default", EXECUTE_ENGINE)


def _is_execute_engine(node: Node) -> bool:
    return node.target is torch.ops.tensorrt.execute_engine.default


def _described(module: GraphModule, node: Node, inputs: list[str]) -> dict[str, str]:
    if node.op == "placeholder":
        there = node.name in inputs
        return {"kind": "input", "says": "model input"} if there else LEAKED
    if node.op == "output":
        return {"kind": "output", "says": "model output"}
    if node.op == "get_attr":
        return {"kind": "op", "says": f"reads self.{node.target}"}
    if node.op == "call_module":
        return _described_child(module.get_submodule(str(node.target)))
    if _is_execute_engine(node):
        return {"kind": "engine", "says": str(node.args[1]).removesuffix("_engine")}
    if node.target is operator.getitem:
        return {"kind": "op", "says": f"output {node.args[1]}"}
    return {"kind": "fallback", "says": _short(node)}


LEAKED = {"kind": "leaked", "says": "no input of the model"}


def _described_child(child: torch.nn.Module) -> dict[str, str]:
    """A fallback says what its body calls its inputs, and what it does."""
    if is_engine_child(child):
        count = len(child.output_binding_names)
        return {"kind": "engine", "says": "1 output" if count == 1 else f"{count} outputs"}
    assert isinstance(child, GraphModule)
    names = [item.name for item in child.graph.nodes if item.op == "placeholder"]
    ops = [_short(item) for item in child.graph.nodes if item.op == "call_function"]
    return {"kind": "fallback", "says": f"{', '.join(names)} → {', '.join(ops)}"}


def _short(node: Node) -> str:
    """`relu` for `aten.relu.default`."""
    target = node.target
    return str(target._opname) if isinstance(target, torch._ops.OpOverload) else str(target)
