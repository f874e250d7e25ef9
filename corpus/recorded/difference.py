"""In what a recorded split differs from the graph lane's own of the same model, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from corpus.recorded.recording import GraphData, SplitData

KINDS = ENGINE, FALLBACK, LOOSE = "engine", "fallback", "loose op"
_GETITEM = "_operator.getitem"
Step = tuple[str, tuple[str, ...]]  # its kind, and its ops


def difference(own: SplitData, recorded: SplitData) -> Iterator[str]:
    """Nothing where the two are the same graphs under the same names."""
    before, after = steps(own), steps(recorded)
    old, new = (Counter(op for _, ops in each for op in ops) for each in (before, after))
    if old != new:
        yield _exchanged(old - new, new - old)
    kinds, own_kinds = ([kind for kind, _ in each] for each in (after, before))
    if kinds != own_kinds:
        yield f"{_counted(kinds)} in the place of {_counted(own_kinds)}"
    elif old == new and before != after:
        yield "the same ops in other steps, or in another order"
    elif before == after and _wires(own) != _wires(recorded):
        yield "the same ops under other names, or wired otherwise"


def steps(split: SplitData) -> list[Step]:
    """Each step's kind and ops, in the order of the calls. An op of the parent's own is a step."""
    found: list[Step] = []
    for node in split.parent.nodes:
        if node.op == "call_module":
            kind = ENGINE if node.target.startswith("_run_on_acc_") else FALLBACK
            found.append((kind, _ops(split.children[node.target])))
        elif node.op == "call_function" and node.target != _GETITEM:
            found.append((LOOSE, (node.target,)))
    return found


def _ops(graph: GraphData) -> tuple[str, ...]:
    return tuple(node.target for node in graph.nodes if node.op == "call_function")


def _exchanged(gone: Counter[str], come: Counter[str]) -> str:
    if not come:
        return f"lowering leaves out {_listed(gone)}"
    if not gone:
        return f"lowering adds {_listed(come)}"
    return f"lowering makes {_listed(come)} of {_listed(gone)}"


def _listed(ops: Counter[str]) -> str:
    return ", ".join(f"{count} {op}" for op, count in sorted(ops.items()))


def _counted(kinds: Sequence[str]) -> str:
    counts = Counter(kinds)
    named = (
        f"{counts[kind]} {kind}{'s' if counts[kind] > 1 else ''}" for kind in KINDS if counts[kind]
    )
    return f"{len(kinds)} steps ({', '.join(named)})"


def _wires(split: SplitData) -> list[tuple[object, ...]]:
    return [
        (node.name, node.op, node.target, node.args, node.kwargs)
        for graph in (split.parent, *split.children.values())
        for node in graph.nodes
    ]
