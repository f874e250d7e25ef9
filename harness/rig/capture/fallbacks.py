"""The ops of a program by name, and those of them that a user's case sends to PyTorch."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Graph, Node
from torch.fx.node import _get_qualified_name

from corpus.case import Case
from corpus.op_names import GETITEM, MadeOf, NoSuchOp, found, ops_meant, plain


def fallbacks_meant(
    case: Case, exported: ExportedProgram
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The ops of a program that a case sends to PyTorch, by the names that both lanes take.

    Returns:
        All of them, and those that no user named: lowering makes of them what he did name.

    Raises:
        NoSuchOp: with the case's name.
    """
    graph = ops_of(exported.graph)
    try:
        meant = ops_meant(case.fallback, graph, lambda: made_in_lowering(exported))
    except NoSuchOp as error:
        raise NoSuchOp(f"{case.name}: {error}") from error
    named = {op for name in case.fallback for op in found(plain(name), graph)}
    return meant, frozenset(meant) & graph - named


def ops_of(graph: Graph) -> frozenset[str]:
    """The ops of a graph as a case names them: `aten.relu.default`, `_operator.getitem`."""
    return frozenset(_op(node) for node in graph.nodes if node.op == "call_function")


def made_in_lowering(exported: ExportedProgram) -> MadeOf:
    """What each op of the lowered program is made of, by torch's own decompositions.

    Every release lowers by these, and changes some. A getitem is left out: it is made with an op.
    """
    made: dict[str, set[str]] = {}
    for node in exported.run_decompositions().graph.nodes:
        if node.op == "call_function" and _op(node) != GETITEM:
            made.setdefault(_op(node), set()).update(_origins(node))
    return made


def _origins(node: Node) -> list[str]:
    """The exported ops that torch says a node comes from."""
    found = []
    for source in node.meta.get("from_node", ()):
        while source.from_node:
            source = source.from_node[0]
        found.append(source.target)
    return found


def _op(node: Node) -> str:
    return _get_qualified_name(node.target).removeprefix("torch.ops.")  # type: ignore[arg-type]
