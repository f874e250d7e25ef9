"""Whether a release splits models as the graph lane does. One process, one release.

What a package lowers and partitions is seen as it is. Compilation stops at the first split that
differs. If all agree, it must finish.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from corpus.case import Case, find_case
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.package.compiling import compile_like_a_user
from harness.rig.package.opening import open_package
from harness.rig.questions.recording import partitioners_wrapped
from harness.wire.vocabulary import SplitSeen

Shape = tuple[str, ...]


def shape_of(split: GraphModule) -> Shape:
    """A line for each step and each loose op, in the order of the calls, and one for what returns.

    A line tells what is computed and from which inputs, through all that comes before it. Reading
    a parameter is not an edge. A node without inputs is described by its kind.
    """
    known: dict[Node, str] = {}
    lines = []
    for node in split.graph.nodes:
        known[node] = _line(split, node, known)
        if node.op not in ("placeholder", "get_attr"):
            lines.append(known[node])
    return tuple(lines)


def _line(module: GraphModule, node: Node, known: Mapping[Node, str]) -> str:
    """A digest of a node and of its inputs' digests."""
    if node.op == "placeholder":
        inputs = [other for other in module.graph.nodes if other.op == "placeholder"]
        return _digest("input", inputs.index(node))
    if node.op == "get_attr":
        held = functools.reduce(getattr, str(node.target).split("."), module)
        is_tensor = isinstance(held, torch.Tensor)
        return _digest("held", (held.shape, held.dtype) if is_tensor else type(held).__name__)
    read = map_arg((node.args, dict(sorted(node.kwargs.items()))), lambda arg: _Read(known[arg]))
    return _digest(node.op, _target(module, node), read)


class _Read(str):
    """The digest of what is read, in the place of the node; it is printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _target(module: GraphModule, node: Node) -> object:
    if node.op == "call_module":
        child = module.get_submodule(str(node.target))
        kind = "engine" if str(node.target).startswith("_run_on_acc") else "fallback"
        return kind, shape_of(child) if isinstance(child, GraphModule) else type(child).__name__
    if isinstance(node.target, torch._ops.OperatorBase):
        return str(node.target)
    return getattr(node.target, "__name__", str(node.target))


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class _AnotherSplit(BaseException):
    """Ends a compilation of which everything is known; no `except Exception` takes it."""


def seen_of(package: types.ModuleType, case: Case) -> tuple[SplitSeen, str]:
    """Whether the package splits a case's model as the graph lane does, and why not.

    Raises:
        Exception: the case cannot be captured.
    """
    captured = capture(case, "nonstrict")
    own = _own_shape(captured)
    if own is None:
        return SplitSeen.DIFFERENT, "the graph lane does not split it"
    try:
        with _held_against(package, own) as same:
            compile_like_a_user(package, captured)
    except _AnotherSplit:
        return SplitSeen.DIFFERENT, ""
    except Exception as error:  # noqa: BLE001 - whatever the package raises is the answer
        return SplitSeen.REFUSED, type(error).__name__
    return (SplitSeen.SAME, "") if same else (SplitSeen.DIFFERENT, "it is not split at all")


def _own_shape(captured: CapturedProgram) -> Shape | None:
    try:
        return shape_of(captured.split())
    except Exception:  # noqa: BLE001 - torch's splitter, whatever it raises: there is no split
        return None


@contextmanager
def _held_against(package: types.ModuleType, own: Shape) -> Iterator[list[Shape]]:
    """Compare each split that the package makes with ``own``; yields the list of equal ones."""
    same: list[Shape] = []

    def watched(partition: Any) -> Any:
        def partition_and_compare(module: Any, *args: Any, **kwargs: Any) -> Any:
            split, support = partition(module, *args, **kwargs)
            if shape_of(split) != own:
                raise _AnotherSplit
            same.append(own)
            return split, support

        return partition_and_compare

    with partitioners_wrapped(package, watched):
        yield same


def splits(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Each wanted ``case`` with what was ``seen``, and ``why``.

    Args:
        request: ``site``, ``release``, ``builder``, and ``cases``, their names.
    """
    package = open_package(request)
    for name in request["cases"]:
        try:
            seen, why = seen_of(package, find_case(name))
        except Exception as error:  # noqa: BLE001 - capture failed, so no package was asked
            seen, why = SplitSeen.REFUSED, f"capture: {type(error).__name__}"
        yield {"case": name, "seen": seen, "why": why}
