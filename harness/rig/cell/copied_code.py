"""Gives copies of a split module the code of their original, which torch would write again.

Every release's `transform` works on a deep copy of the split that it is given, and `GraphModule`
writes the Python text of each copied graph anew, of those below another even twice. That text
hangs on the graph alone, and the graph of a copy is that of its original.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from torch.fx import Graph, GraphModule


def share_code_with_copies(split: GraphModule) -> None:
    """From now on a deep copy of a split, or of a graph module below it, takes its code over.

    A copy is a module like any other, and so are its own copies. Where the original's graph was
    changed meanwhile, or a copy's nodes have other names, torch writes the code as always.
    """
    modules = [each for each in split.modules() if isinstance(each, GraphModule)]
    originals = {id(module): _Original(module) for module in modules}
    for module in modules:
        _hook(module, originals)


def _hook(module: GraphModule, originals: Mapping[int, _Original]) -> None:
    def make_copy(copied: GraphModule, root: Any, graph: Graph) -> None:
        copies = {
            path: each.graph for path, each in root.named_modules() if isinstance(each, GraphModule)
        }
        copies[""] = graph
        pairs = [
            (originals[id(each)], copies[path])
            for path, each in module.named_modules()
            if id(each) in originals and path in copies
        ]
        with _known_code(pairs):
            GraphModule.__init__(copied, root, graph)

    def deepcopy_init(self: GraphModule) -> Callable[..., None]:
        return make_copy

    # The class is this module's own (`GraphModule.__new__`), and is no base of its copies' classes.
    type(module)._deepcopy_init = deepcopy_init  # type: ignore[method-assign]


@contextmanager
def _known_code(pairs: Sequence[tuple[_Original, Graph]]) -> Iterator[None]:
    """Have these graphs answer with the code of their originals, wherever it is the same."""
    known = [(original, graph) for original, graph in pairs if original.is_that_of(graph)]
    for original, graph in known:
        graph.python_code = original.code  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        for _, graph in known:
            del graph.python_code


class _Original:
    """A graph module as it was. ``code`` answers as its `Graph.python_code`, and keeps that."""

    def __init__(self, module: GraphModule) -> None:
        self._module = module
        self._was = _read(module.graph)
        self.code = cache(module.graph.python_code)

    def is_that_of(self, copied: Graph) -> bool:
        """Whether a graph, of which nothing but a copy was made, has the original's code."""
        graph = self._module.graph
        now = _read(graph)
        return (
            len(now) == len(self._was)
            and all(map(operator.is_, now, self._was))
            and [node.name for node in copied.nodes] == [node.name for node in graph.nodes]
        )


def _read(graph: Graph) -> list[Any]:
    """All that a graph's code hangs on. A node's arguments cannot be changed, only replaced."""
    parts: list[Any] = [graph._codegen]
    for node in graph.nodes:
        parts += [node, node.name, node.op, node.target, node.args, node.kwargs, node.type]
    return parts
