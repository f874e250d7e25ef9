"""One cell's story, for a person; a request as JSON is on stdin.

The split with what feeds what, then each oracle's verdict with its evidence: what was wired, what
should have been, the first wrong value.
"""

from __future__ import annotations

import json
import operator
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule, Node

from corpus import elsewhere
from corpus.case import find_case
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import NotPrepared, PreparedCase, prepare
from harness.rig.cell.refusal import refusal
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.engines.module import is_engine_child
from harness.rig.inliners.loader import load_inliner
from harness.wire.record_json import subject_from_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import Outcome, Route


def story(request: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a cell's story.

    Args:
        request: ``library``, ``corpus`` (places of cases from elsewhere), ``subject`` (a
            SubjectSpec), ``case``, ``capture``, ``routes``, ``seed``.

    Raises:
        NotPrepared: the case cannot be captured, split or compiled.
    """
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    load_runtime(Path(request["library"]))
    elsewhere.load(request["corpus"])
    spec = subject_from_json(request["subject"])
    case = find_case(request["case"])
    prepared = prepare(case, request["capture"], int(request["seed"]), StageClock())
    yield from told_case(prepared)
    inliner = load_inliner(spec)
    for route in request["routes"]:
        key = CellKey(case.name, request["capture"], spec.subject, Route(route))
        yield ""
        yield from told_record(run_cell(prepared, inliner, key, StageClock()))


def told_case(prepared: PreparedCase) -> Iterator[str]:
    """What a case is for, and its split."""
    case = prepared.case
    yield f"{case.name}  ({case.family}, {case.origin})"
    yield f"  catches: {case.catches}"
    yield ""
    yield from _split_lines(prepared)


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


def told_record(record: CellRecord) -> Iterator[str]:
    """Every oracle's verdict, with its evidence."""
    yield f"{record.key.subject}, route {record.key.route}: {record.label}"
    if record.reason:
        yield f"  {record.reason}"
    for verdict in record.verdicts:
        yield f"  {verdict.oracle.value:11} {verdict.label}"
        if verdict.outcome is not Outcome.OK:
            yield f"      {verdict.message}"
        for line in verdict.evidence.splitlines():
            yield f"      {line}"


def main() -> int:
    """Tell it on stdout; 2 for a case that ends before any inliner, which is told on stderr."""
    request = json.loads(sys.stdin.read())
    try:
        for line in story(request):
            print(line)
    except NotPrepared as reason:
        print(refusal(find_case(request["case"]), reason.stage, reason.cause), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
