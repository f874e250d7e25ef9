"""Gives copies of a split module the code of their original, which torch would write again.

Every release's `transform` works on a deep copy of the split that it is given, and `GraphModule`
writes the Python text of each copied graph anew, of those below another even twice. That text
hangs on the graph alone, and the graph of a copy is that of its original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import PythonCode


def share_code_with_copies(split: GraphModule) -> None:
    """From now on a deep copy of a split, or of a graph module below it, takes its code over.

    A copy is a module like any other, and so are its own copies. Where the original's graph was
    changed meanwhile, or a copy's nodes have other names, torch writes the code as always.
    """
    below = {
        path: _Original(module)
        for path, module in split.named_modules()
        if isinstance(module, GraphModule)
    }
    for path, original in below.items():
        inside = f"{path}." if path else ""
        originals = {
            each.removeprefix(inside): below[each]
            for each in below
            if each != path and each.startswith(inside)
        }
        _hook(original, {"": original, **originals})


def _hook(original: _Original, originals: Mapping[str, _Original]) -> None:
    def make_copy(copied: GraphModule, root: Any, graph: Graph) -> None:
        modules = ((path, each) for path, each in root.named_modules() if path in originals)
        pairs = [
            (originals[path], each.graph if path else graph)
            for path, each in modules
            if not path or isinstance(each, GraphModule)
        ]
        with _known_code(pairs):
            GraphModule.__init__(copied, root, graph)

    def deepcopy_init(self: GraphModule) -> Callable[..., None]:
        return make_copy

    # The class is this module's own (`GraphModule.__new__`), and is no base of its copies' classes.
    type(original.module)._deepcopy_init = deepcopy_init  # type: ignore[method-assign]


@contextmanager
def _known_code(pairs: list[tuple[_Original, Graph]]) -> Iterator[None]:
    """Have these graphs answer with the code of their originals, wherever it is the same."""
    known = [(original, graph) for original, graph in pairs if original.is_that_of(graph)]
    for original, graph in known:
        graph.python_code = original.code  # type: ignore[method-assign]
    try:
        yield
    finally:
        for _, graph in known:
            del graph.python_code


class _Original:
    """A graph module as it was, and its code for each way in which it was asked for."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self._codegen = module.graph._codegen
        self._nodes = [(node, _of(node)) for node in module.graph.nodes]
        self._names = [node.name for node in module.graph.nodes]
        self._written: dict[str, PythonCode] = {}

    def is_that_of(self, copied: Graph) -> bool:
        """Whether a graph, of which nothing but a copy was made, has the original's code."""
        graph = self.module.graph
        return (
            [node.name for node in copied.nodes] == self._names
            and graph._codegen is self._codegen
            and len(graph.nodes) == len(self._nodes)
            and all(
                node is was
                and all(one is other for one, other in zip(_of(node), held, strict=True))
                for node, (was, held) in zip(graph.nodes, self._nodes, strict=True)
            )
        )

    def code(self, root_module: str, **asked: Any) -> PythonCode:
        """What `Graph.python_code` answers."""
        key = f"{root_module} {sorted(asked.items())}"
        if key not in self._written:
            self._written[key] = self.module.graph.python_code(root_module, **asked)
        return self._written[key]


def _of(node: Node) -> tuple[Any, ...]:
    """All of a node that its code hangs on. Arguments cannot be changed, only replaced."""
    return node.name, node.op, node.target, node.args, node.kwargs, node.type
