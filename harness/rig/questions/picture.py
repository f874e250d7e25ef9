"""Split modules as boxes and wires, and the wires that an inliner got wrong, for pictures."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node

from corpus.case import find_case
from harness.rig.cell.prepare import NotPrepared, PreparedCase
from harness.rig.clock import StageClock
from harness.rig.engines.module import is_engine_child
from harness.rig.inliners.protocol import Inlining
from harness.rig.lanes import lane_of
from harness.rig.oracles.reading import GraphReader, Reading, Unreadable, cycle_note
from harness.rig.oracles.terms import Kind, Term, differing
from harness.rig.oracles.wiring import reference_reading
from harness.wire.routes import Route

RETURNS = "returns"
"""The box that the model's outputs end in."""

Source = tuple[str, int | None]
"""A box, and which of its outputs; None where it has but one."""


def pictures(request: Mapping[str, Any]) -> Iterator[dict[str, Any] | None]:
    """One picture for each of the wanted cells, and what was ``raised``.

    None for a cell that ends before there is a split to be drawn, as where `compile` raises.

    Args:
        request: the setup of a lane, and ``wanted``: a list of ``case``, ``capture``, ``route`` and
            ``subject`` (its name).
    """
    with lane_of(request) as lane:
        for wanted in request["wanted"]:
            case, route = find_case(wanted["case"]), Route(wanted["route"])
            try:
                prepared = lane.prepare(case, wanted["capture"], StageClock())
            except NotPrepared:  # the failure that the cause is about: its verdict tells it
                yield None
                continue
            inlining, raised = Inlining(), ""
            try:
                lane.export(prepared, wanted["subject"], route, inlining)
            except Exception as error:  # noqa: BLE001 - what the cell's verdict tells
                raised = f"{type(error).__name__}: {error}".splitlines()[0]
            yield {**picture(prepared, inlining.inlined, inlining.exported), "raised": raised}


def picture(
    prepared: PreparedCase, inlined: GraphModule | None, exported: Any = None
) -> dict[str, Any]:
    """Boxes, wires, and what is wrong in the inlined module, or else in the program.

    Returns:
        ``boxes`` (name, kind, says), ``wires`` (source, output, target) as they should be, and
        ``wrong``: what ``target`` reads (``source``, ``output``), what it should read (``right``,
        ``right_output``), and the same in words. A source that is no box is an empty string.
        ``lost`` are the boxes whose mutations or random draws are gone.
    """
    boxes, wires = split_graph(prepared.split)
    reader = BoxReader()
    expected, count = reference_reading(reader, prepared.split)
    wrong: list[dict[str, Any]] = []
    lost: list[str] = []
    try:
        if inlined is not None:
            got = reader.read_module(inlined, count)
            reader.know_engines(inlined)
            wrong, lost = list(reader.wrong(expected, got)), reader.lost(expected, got)
        if not wrong and not lost and exported is not None:
            got = reader.read_program(exported, count)
            wrong, lost = list(reader.wrong(expected, got)), reader.lost(expected, got)
        unreadable = ""
    except Unreadable as reason:
        unreadable = str(reason)
    return {
        "boxes": boxes,
        "wires": wires,
        "wrong": wrong,
        "lost": lost,
        "unreadable": unreadable,
    }


def split_graph(split: GraphModule) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parent graph: a getitem of a box is one of its outputs, all else is a box."""
    sources: dict[Node, Source] = {}
    boxes, wires = [], []
    for node in split.graph.nodes:
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            name, output = sources[node.args[0]]
            if output is None:
                sources[node] = (name, node.args[1])
                continue
        name = RETURNS if node.op == "output" else node.name
        sources[node] = (name, None)
        kind, says = _described(split, node)
        boxes.append({"name": name, "kind": kind, "says": says})
        for item in pytree.tree_leaves((node.args, node.kwargs)):
            if isinstance(item, Node):
                source, output = sources[item]
                wires.append({"source": source, "output": output, "target": name})
    return boxes, wires


def _described(split: GraphModule, node: Node) -> tuple[str, str]:
    if node.op == "placeholder":
        return "input", "model input"
    if node.op == "output":
        return "output", "model outputs"
    if node.op != "call_module":
        return "op", str(node.target)
    child = split.get_submodule(str(node.target))
    if is_engine_child(child):
        return "engine", f"engine, {len(child.output_binding_names)} output(s)"
    assert isinstance(child, GraphModule)
    ops = [str(item.target) for item in child.graph.nodes if item.op == "call_function"]
    return "fallback", ", ".join(ops)


@dataclass
class BoxReader(GraphReader):
    """Remembers in which child of a split module each term was made."""

    # By the id of a term, which the table keeps alive.
    boxes: dict[int, str] = field(default_factory=dict)
    engines: dict[Any, str] = field(default_factory=dict)  # by the label of an engine's term
    inputs: dict[Any, str] = field(default_factory=dict)
    ops: dict[Any, str] = field(default_factory=dict)  # the first child that has such an op
    calls: dict[str, str] = field(default_factory=dict)  # by the note of a cycle through an engine

    def _input(self, index: int, name: str, leaked: bool) -> Term:
        self.inputs.setdefault(index, name)
        return super()._input(index, name, leaked)

    def _child(self, node: Node, values: dict[Node, Any], attribute: Any, scope: Any) -> Any:
        given = {id(term) for item in node.args for term in _terms(self._argument(item, values))}
        effects = len(scope.effects)
        result = super()._child(node, values, attribute, scope)
        stack = [*_terms(result), *scope.effects[effects:]]
        while stack:
            term = stack.pop()
            if id(term) in given or id(term) in self.boxes:
                continue
            self.boxes[id(term)] = node.name
            if term.kind is Kind.ENGINE:
                self.engines.setdefault(term.label, node.name)
            elif term.kind in (Kind.OP, Kind.EFFECT):
                self.ops.setdefault(term.note, node.name)
            stack.extend(term.children)
        return result

    def know_engines(self, inlined: GraphModule) -> None:
        """Where a value that depends on itself comes from: its term names but a node."""
        for node in inlined.graph.nodes:
            if node.target is torch.ops.tensorrt.execute_engine.default:
                engine = getattr(inlined, str(node.args[1].target), None)
                if engine is not None:
                    label = self._value(engine, node.name).label
                    self.calls[cycle_note(node)] = self.engines.get(label, "")

    def wrong(self, expected: Reading, got: Reading) -> Iterator[dict[str, Any]]:
        """The nearest wires, outputs towards inputs, where two readings part."""
        pairs = [
            (RETURNS, index, one, other)
            for index, (one, other) in enumerate(
                zip(_terms(expected.outputs), _terms(got.outputs), strict=False)
            )
        ]
        if len(expected.effects) == len(got.effects):
            both = zip(expected.effects, got.effects, strict=True)
            pairs += [("effect", index, one, other) for index, (one, other) in enumerate(both)]
        seen: set[tuple[int, int]] = set()
        for reader, index, one, other in pairs:
            for found, owner in differing(one, other, reader, index, seen):
                source, output = self._source(found.got)
                right, right_output = self._source(found.expected)
                same_name = found.got.describe() == found.expected.describe()
                yield {
                    "target": self.boxes.get(id(owner), RETURNS) if owner else RETURNS,
                    "source": source,
                    "output": output,
                    "right": right,
                    "right_output": right_output,
                    "says": found.describe() + (" of that name" if same_name else ""),
                }

    def lost(self, expected: Reading, got: Reading) -> list[str]:
        """The boxes of effects that are not there any more, if there are fewer of them."""
        if len(got.effects) >= len(expected.effects):
            return []
        there = {id(effect) for effect in got.effects}
        gone = (effect for effect in expected.effects if id(effect) not in there)
        return list(dict.fromkeys(self.boxes.get(id(effect), RETURNS) for effect in gone))

    def _source(self, term: Term) -> tuple[str, int | None]:
        """The box that a term comes out of, and by which output; an empty name for none."""
        if term.kind in (Kind.INPUT, Kind.LEAKED):
            return self.inputs.get(term.label, ""), None
        if term.kind is Kind.ENGINE_OUTPUT:
            index = term.label if isinstance(term.label, int) else None
            return self.engines.get(term.children[0].label, ""), index
        if id(term) in self.boxes:
            return self.boxes[id(term)], None
        if term.kind is Kind.ITEM:
            name, _ = self._source(term.children[0])
            return name, term.label if isinstance(term.label, int) else None
        if term.kind is Kind.CYCLE:
            return self.calls.get(term.note, ""), None
        if term.kind is Kind.ENGINE:
            return self.engines.get(term.label, ""), None
        return self.ops.get(term.note, "") if term.kind in (Kind.OP, Kind.EFFECT) else "", None


def _terms(value: Any) -> Iterator[Term]:
    if isinstance(value, Term):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _terms(item)
