"""What each case is on this machine and torch: graph, split, inputs and eager outputs.

The controller holds it against the committed lock.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import Graph, GraphModule

from corpus.case import Case, find_case
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.cell.sharing import graph_lines
from harness.rig.oracles.observing import observe

#: Significant digits of a number in the lock: another processor sums in another order.
DIGITS = 6


def lock(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every case in every mode, as `describe` has it; one that this torch cannot capture, as that.

    Args:
        request: ``cases`` and ``captures``, names of both.
    """
    torch.set_num_threads(1)
    for case in map(find_case, request["cases"]):
        for mode in request["captures"]:
            try:
                yield describe(case, mode)
            except Exception as error:  # noqa: BLE001 - torch's own, whatever it is; told in the lock
                yield {
                    "case": case.name,
                    "capture": mode,
                    "graph": f"raises {type(error).__name__}",
                    "ops": {},
                    "split": "",
                    "children": {},
                    "inputs": [],
                    "outputs": [],
                }


def describe(case: Case, mode: str) -> dict[str, Any]:
    """One case as plain data.

    ``graph`` and ``split`` are digests of the canonical graphs, names and metadata included; what
    is beside them, ops and children, is there to tell how two differ.
    """
    captured = capture(case, mode)
    split = captured.split()
    children = {
        name: child for name, child in split.named_children() if isinstance(child, GraphModule)
    }
    graphs = [split.graph, *(child.graph for child in children.values())]
    return {
        "case": case.name,
        "capture": mode,
        "graph": _digest(_captured_graphs(captured) or graphs),
        "ops": _ops(_captured_graphs(captured) or graphs),
        "split": _digest(graphs),
        "children": {name: _ops([child.graph]) for name, child in children.items()},
        "inputs": [numbers((call.args, dict(call.kwargs))) for call in captured.calls],
        "outputs": [numbers(result) for result in observe(captured.eager, captured.calls).returned],
    }


def numbers(values: Any) -> list[Any]:
    """Each leaf of a value: a tensor as type, shape and a few numbers; anything else as text."""
    return [_leaf(leaf) for leaf in pytree.tree_leaves(values)]


def _leaf(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    described: list[Any] = [str(leaf.dtype), list(leaf.shape)]
    if leaf.numel():
        flat = torch.view_as_real(leaf) if leaf.dtype.is_complex else leaf
        exact = flat.detach().to(torch.float64).reshape(-1)
        described += [_rounded(exact.mean()), _rounded(exact.abs().mean()), _rounded(exact[-1])]
    return described


def _rounded(number: torch.Tensor) -> float:
    return float(f"{number.item():.{DIGITS}g}")


def _captured_graphs(captured: CapturedProgram) -> list[Graph]:
    return [captured.exported.graph] if captured.exported is not None else []


def _digest(graphs: Sequence[Graph]) -> str:
    digest = hashlib.sha256()
    for graph in graphs:
        for line in graph_lines(graph):
            digest.update(line.encode() + b"\0")
        digest.update(b"\1")
    return digest.hexdigest()


def _ops(graphs: Sequence[Graph]) -> dict[str, int]:
    """How often each op is called; a Python function by its name, for its text has an address."""
    calls = [node.target for graph in graphs for node in graph.nodes if node.op == "call_function"]
    names = [
        str(target) if isinstance(target, torch._ops.OperatorBase) else target.__name__
        for target in calls
    ]
    return dict(sorted(Counter(names).items()))
