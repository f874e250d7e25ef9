"""Ops by the names that people write, found in a graph: `aten.topk.default`, `topk`.

The ops of a graph are text, as `torch_executed_ops` holds them without its `torch.ops.`: namespace,
name and overload, or a function's module and name (`_operator.getitem`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from corpus.case import Mistake

GETITEM: Final = "_operator.getitem"

#: What each op of a lowered graph was made of: ops of the exported graph.
MadeOf = Mapping[str, Collection[str]]

_PREFIX: Final = "torch.ops."
_GETITEMS: Final = frozenset({"operator.getitem", "getitem", "<built-in function getitem>"})


class NoSuchOp(Mistake):
    """A name is none of a graph's ops, or of several: which, and what to write instead."""


def ops_meant(
    names: Iterable[str], graph: Collection[str], made_of: Callable[[], MadeOf]
) -> tuple[str, ...]:
    """The ops that are meant by names as a user writes them, each once.

    A name may leave out the overload (`aten.topk`, all of its overloads) and the namespace
    (`topk`). One of several overloads of an op is enough: which of them is traced depends on the
    torch. An op that only the lowered graph has is meant together with those that it is made of.

    Args:
        graph: the exported graph's ops.
        made_of: what lowering makes of them. It is called only if a name is not in the graph.

    Raises:
        NoSuchOp: a name is not in the graph, nor in what is made of it; or it is in several
            namespaces.
    """
    names = tuple(dict.fromkeys(map(plain, names)))
    ops_of = {name: found(name, graph) for name in names}
    lacking = [name for name in names if not ops_of[name]]
    if lacking:
        lowered = made_of()
        for name in lacking:
            made = found(name, lowered)
            sources = sorted({source for op in made for source in lowered[op]})
            ops_of[name] = tuple(dict.fromkeys([*sources, *made]))
        packets = {_packet(op) for ops in ops_of.values() for op in ops}
        lacking = [name for name in lacking if not ops_of[name] and _packet(name) not in packets]
        if lacking:
            raise NoSuchOp(_not_there(lacking, graph, lowered))
    return tuple(dict.fromkeys(op for ops in ops_of.values() for op in ops))


def plain(name: str) -> str:
    """A name without `torch.ops.`, and getitem by its one name."""
    name = name.strip()
    return GETITEM if name in _GETITEMS else name.removeprefix(_PREFIX)


def found(name: str, ops: Collection[str]) -> tuple[str, ...]:
    """The ops that a plain name means: the one of that name, or all of a packet's overloads.

    Raises:
        NoSuchOp: they are in several namespaces.
    """
    if name in ops:
        return (name,)
    of_packet = tuple(sorted(op for op in ops if _packet(op) == name))
    if of_packet:
        return of_packet
    without_namespace = sorted(
        op for op in ops if name in (op.partition(".")[2], _packet(op).partition(".")[2])
    )
    packets = sorted({_packet(op) for op in without_namespace})
    if len(packets) > 1:
        raise NoSuchOp(f"{name} may be {' or '.join(packets)}; write which of them is meant")
    return tuple(without_namespace)


def _packet(op: str) -> str:
    """An op without its overload. A function of Python has none."""
    return op if op.startswith("_operator.") else op.rpartition(".")[0]


def _not_there(names: Collection[str], graph: Collection[str], lowered: MadeOf) -> str:
    packets = sorted({*map(_packet, graph)})
    known = [*sorted(graph), *packets, *(each.partition(".")[2] for each in packets)]
    near = [
        f"{match} for {name}"
        for name in names
        for match in difflib.get_close_matches(name, known, n=1)
    ]
    hint = f"; perhaps {', '.join(near)}" if near else ""
    if any(re.search(r"[,\s]", name) for name in names):
        hint = "; name one op at a time, each by a --fallback of its own"
    made = sorted(set(lowered) - set(graph) - {GETITEM})
    becomes = f"; lowering makes {', '.join(made)} of them" if made else ""
    listed = ", ".join(sorted(graph)) or "no op"
    return (
        f"the graph has no op {', '.join(names)}; it has {listed}{becomes}{hint} (a tuple's "
        "getitems fall back with the op that makes it, and need no name)"
    )
