"""In what two splits of one model differ, told in short."""

import pytest

from corpus.recorded.difference import difference
from corpus.recorded.recording import GraphData, NodeData, SplitData

RELU, SPLIT, CHUNK, ADD = (f"aten.{name}.default" for name in ("relu", "split", "chunk", "add"))


def split(*steps: tuple[str, ...], prefix: str = "n") -> SplitData:
    """A chain of engines ("a", OP...) and fallbacks ("g", OP...); a bare op is the parent's own."""
    parent, children = [NodeData("x", "placeholder", "x", [], {})], {}
    for number, (kind, *ops) in enumerate(steps):
        read = parent[-1].name
        if kind not in ("a", "g"):
            parent.append(NodeData(f"{prefix}{number}", "call_function", kind, [read], {}))
            continue
        name = f"_run_on_{'acc' if kind == 'a' else 'gpu'}_{number}"
        parent.append(NodeData(name, "call_module", name, [read], {}))
        called = enumerate(ops)
        nodes = (NodeData(f"{prefix}{at}", "call_function", op, [], {}) for at, op in called)
        children[name] = GraphData(tuple(nodes))
    return SplitData(GraphData(tuple(parent)), children)


OWN = split(("a", CHUNK, ADD), ("g", RELU))


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        (OWN, []),
        (split(("a", SPLIT, ADD), ("g", RELU)), [f"lowering makes 1 {SPLIT} of 1 {CHUNK}"]),
        (split(("a", ADD), ("g", RELU)), [f"lowering leaves out 1 {CHUNK}"]),
        (split(("a", CHUNK, ADD, ADD), ("g", RELU)), [f"lowering adds 1 {ADD}"]),
        (
            split(("a", CHUNK), ("g", RELU), ("a", ADD)),
            ["3 steps (2 engines, 1 fallback) in the place of 2 steps (1 engine, 1 fallback)"],
        ),
        (
            split(("a", CHUNK, ADD), (RELU,)),
            ["2 steps (1 engine, 1 loose op) in the place of 2 steps (1 engine, 1 fallback)"],
        ),
        (
            split(("a", ADD, CHUNK), ("g", RELU)),
            ["the same ops in other steps, or in another order"],
        ),
        (
            split(("a", CHUNK, ADD), ("g", RELU), prefix="m"),
            ["the same ops under other names, or wired otherwise"],
        ),
    ],
)
def test_a_difference_is_told_by_its_kind(recorded, told):
    assert list(difference(OWN, recorded)) == told
