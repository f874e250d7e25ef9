"""Fallback names that a release's lowering leaves nothing of.

A release compares names of ops with the graph that it partitions, which is the lowered one: an op
that lowering took apart or renamed falls back by the name that lowering gave it, and the exported
one says nothing, without a word. A packet, such as `aten.relu`, is no op of any graph.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from torch.fx import Graph
from torch.fx.node import _get_qualified_name

from harness.rig.capture.functional_export import CannotAsk
from harness.rig.package.compile_parts import COMPILER

_PREFIX = "torch.ops."


class NothingFallsBack(CannotAsk):
    """An op that a case sends to PyTorch is in its program, and not in what is partitioned."""


@contextmanager
def fallbacks_required(case: str, fallback: Collection[str], exported: Graph) -> Iterator[None]:
    """See, in the one `compile` inside, that every fallback is one of what is partitioned.

    `compile_module` is what a release calls with the lowered graph (dynamo/_compiler.py of 2.6.0 to
    2.14.0).

    Raises:
        NothingFallsBack: out of `compile`, before anything is partitioned.
    """
    compiler: Any = importlib.import_module(COMPILER)
    partition_and_convert = compiler.compile_module
    before = ops_of(exported)

    def checked(lowered: Any, *args: Any, **kwargs: Any) -> Any:
        reason = lost(fallback, before, ops_of(lowered.graph))
        if reason:
            raise NothingFallsBack(f"{case}: {reason}")
        return partition_and_convert(lowered, *args, **kwargs)

    compiler.compile_module = checked
    try:
        yield
    finally:
        compiler.compile_module = partition_and_convert


def ops_of(graph: Graph) -> frozenset[str]:
    """The ops of a graph as a case names them: `aten.relu.default`, `_operator.getitem`."""
    return frozenset(
        _get_qualified_name(node.target).removeprefix(_PREFIX)  # type: ignore[arg-type]
        for node in graph.nodes
        if node.op == "call_function"
    )


def lost(fallback: Collection[str], exported: Collection[str], lowered: Collection[str]) -> str:
    """Which fallbacks lowering has made something else of, and what; empty if none.

    A case may name an op twice, as it is exported and as it is lowered: then none is lost. What
    lowering folds into a constant or deletes is what the release makes of the model, and is asked.
    """
    gone = [name for name in fallback if _has(exported, name) and name not in lowered]
    instead = [name for name in fallback if not _has(exported, name) and name in lowered]
    if not gone or instead:
        return ""
    made = sorted(each for each in lowered if _is_one_of(each, gone)) or sorted(
        set(lowered) - set(exported)
    )
    if not made:
        return ""
    return (
        f"falls back to nothing: no op of the lowered graph is {', '.join(gone)}; lowering made "
        f"{', '.join(made)} of the program: name what of it falls back instead "
        f"(it has {', '.join(sorted(lowered))})"
    )


def _has(ops: Collection[str], name: str) -> bool:
    """Whether a graph has an op of that name, or of that packet."""
    return name in ops or any(_is_one_of(op, [name]) for op in ops)


def _is_one_of(op: str, packets: Collection[str]) -> bool:
    return op.rpartition(".")[0] in packets
