"""One cell's story, for a person.

The split with what feeds what, then each oracle's verdict with its evidence: what was wired, what
should have been, the first wrong value.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

from torch.fx import GraphModule, Node

from corpus.case import find_case
from harness.rig.cell.prepare import NotPrepared, PreparedCase, refusal
from harness.rig.clock import StageClock
from harness.rig.engines.module import is_engine_child
from harness.rig.lanes import lane_of
from harness.rig.questions import CannotAnswer
from harness.wire.records import CellRecord
from harness.wire.routes import Route
from harness.wire.vocabulary import Outcome, Stage


def explain(request: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a cell's story.

    Args:
        request: the setup of a lane, ``subject`` (its name), ``case``, ``capture``, ``routes``.

    Raises:
        CannotAnswer: the case ends before its subject has a part in it.
    """
    with lane_of(request) as lane:
        case, capture = find_case(request["case"]), request["capture"]
        keys = [
            lane.key(case.name, capture, request["subject"], route)
            for route in map(Route, request["routes"])
        ]
        try:
            prepared = lane.prepare(case, capture, StageClock())
        except NotPrepared as reason:
            if reason.stage is Stage.CAPTURE or not lane.compiles:
                raise CannotAnswer(refusal(case, reason.stage, reason.cause)) from reason
            for key in keys:
                ended = lane.run_unprepared(case, capture, key, reason, StageClock())
                yield from _record_lines(ended)
            return
        yield f"{case.name}  ({case.family}, {case.origin})"
        yield f"  catches: {case.catches}"
        yield ""
        yield from _split_lines(prepared)
        for key in keys:
            yield ""
            yield from _record_lines(lane.run_cell(prepared, key, StageClock()))


def _split_lines(prepared: PreparedCase) -> Iterator[str]:
    """The parent graph, one line a node, with what each child computes."""
    split = prepared.split
    yield "split module (what should be wired):"
    for node in split.graph.nodes:
        if node.op == "placeholder":
            yield f"  {node.name}  model input"
        elif node.op == "call_module":
            yield f"  {node.name}({', '.join(map(str, node.args))})  {_child(split, node)}"
        elif node.op == "output":
            yield f"  returns {', '.join(map(str, node.all_input_nodes))}"
        elif node.target is operator.getitem:
            yield f"  {node.name} = {node.args[0]}[{node.args[1]}]"
        else:
            yield f"  {node.format_node()}"


def _child(split: GraphModule, node: Node) -> str:
    child = split.get_submodule(str(node.target))
    if is_engine_child(child):
        return f"engine with {len(child.output_binding_names)} output(s)"
    assert isinstance(child, GraphModule)
    inputs = [item.name for item in child.graph.nodes if item.op == "placeholder"]
    ops = [str(item.target) for item in child.graph.nodes if item.op == "call_function"]
    return f"fallback: placeholders {', '.join(inputs)}; {', '.join(ops)}"


def _record_lines(record: CellRecord) -> Iterator[str]:
    """Every oracle's verdict, with its evidence."""
    yield f"{record.key.subject}, route {record.key.route}: {record.label}"
    if record.reason:
        yield f"  {record.reason}"
    for verdict in record.verdicts:
        yield f"  {verdict.oracle:11} {verdict.label}"
        if verdict.outcome is not Outcome.OK:
            yield f"      {verdict.message}"
        for line in verdict.evidence.splitlines():
            yield f"      {line}"
