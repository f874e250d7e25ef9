"""A release's splits written down as plain data, which `corpus.recorded.build` builds again.

The release's own partitioners are wrapped, so that what goes in and what comes out is seen as it
is, before any engine is built. One process, one release.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.fx import GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen

from corpus.case import Case, find_case
from corpus.children import NON_PERSISTENT, PLAIN
from corpus.recorded.difference import ENGINE, difference, steps
from corpus.recorded.recording import (
    AttributeData,
    GraphData,
    NodeData,
    Recording,
    SplitData,
    to_text,
)
from corpus.recorded.to_record import TO_RECORD, ToRecord
from corpus.recorded.values import (
    BUFFER,
    PARAMETER,
    UNTOLD,
    CannotRecord,
    argument_data,
    target_text,
    tensor_data,
    value_data,
)
from harness.rig.capture.capture import capture
from harness.rig.package.compiling import compile_like_a_user
from harness.rig.package.opening import open_package
from harness.rig.questions import CannotAnswer


class GraphRecorder:
    """Writes graphs down. A tensor that several hold is one tensor for all of them."""

    def __init__(self) -> None:
        self._held: list[torch.Tensor] = []
        self._symbols: dict[str, str] = {}

    @property
    def tensors(self) -> tuple[dict[str, Any], ...]:
        """The tensors of all graphs so far, by number.

        Raises:
            CannotRecord: one is too large, or of a type without words.
        """
        return tuple(tensor_data(tensor) for tensor in self._held)

    def graph(self, module: GraphModule) -> GraphData:
        """A module without its children.

        Raises:
            CannotRecord: there is something in it that a recording has no words for.
        """
        nodes = module.graph.nodes
        paths = dict.fromkeys(str(node.target) for node in nodes if node.op == "get_attr")
        return GraphData(
            tuple(map(self._node, nodes)),
            tuple(self._attribute(module, path) for path in paths),
        )

    def split(self, module: GraphModule) -> SplitData:
        """A split module with its children. Raises as `graph`."""
        children = {
            name: self.graph(child)
            for name, child in module.named_children()
            if isinstance(child, GraphModule)
        }
        return SplitData(self.graph(module), children)

    def _node(self, node: Node) -> NodeData:
        value = value_data(node.meta["val"], self._symbols) if "val" in node.meta else None
        if value is not None and "tensor" in value and "tensor_meta" not in node.meta:
            value[UNTOLD] = True
        return NodeData(
            node.name,
            node.op,
            target_text(node.target),
            [argument_data(item) for item in node.args],
            {key: argument_data(item) for key, item in node.kwargs.items()},
            value,
        )

    def _attribute(self, module: GraphModule, path: str) -> AttributeData:
        prefix, _, name = path.rpartition(".")
        owner = module.get_submodule(prefix)
        tensor = getattr(owner, name)
        if not isinstance(tensor, torch.Tensor):
            raise CannotRecord(f"{path}, a {type(tensor).__name__}")
        if name in owner._parameters:
            kind = PARAMETER
        elif name in owner._buffers:
            kind = NON_PERSISTENT if name in owner._non_persistent_buffers_set else BUFFER
        else:
            kind = PLAIN
        return AttributeData(path, kind, self._number(tensor))

    def _number(self, tensor: torch.Tensor) -> int:
        for number, held in enumerate(self._held):
            if held is tensor:
                return number
        self._held.append(tensor)
        return len(self._held) - 1


def calling_convention(module: GraphModule) -> tuple[tuple[str, ...], str, str]:
    """Its arguments' names, and how they and what it returns are nested, as text.

    Raises:
        CannotRecord: it is called otherwise than an exported module is.
    """
    codegen = module.graph._codegen
    if not isinstance(codegen, _PyTreeCodeGen):
        raise CannotRecord(f"a module called by way of {type(codegen).__name__}")
    info = codegen.pytree_info
    assert info.out_spec is not None
    specs = pytree.treespec_dumps(info.in_spec), pytree.treespec_dumps(info.out_spec)
    return (tuple(info.orig_args), *specs)


def own_split(case: Case, min_block_size: int) -> SplitData:
    """The graph lane's own split of a model, without anybody's lowering."""
    case = dataclasses.replace(case, min_block_size=min_block_size)
    return GraphRecorder().split(capture(case, "nonstrict").split())


PARTITIONERS = ("fast_partition", "global_partition")


@dataclass
class Seen:
    """What the partitioner was given, what it made, and how that is called."""

    recorder: GraphRecorder = field(default_factory=GraphRecorder)
    handed: GraphData | None = None
    split: SplitData | None = None
    convention: tuple[tuple[str, ...], str, str] | None = None


@contextmanager
def partitioners_wrapped(
    package: types.ModuleType, wrapped: Callable[[Any], Any]
) -> Iterator[None]:
    """Put what ``wrapped`` makes of each partitioner of the package in its place, for a while."""
    partitioning = package.dynamo.partitioning
    real = {name: getattr(partitioning, name) for name in PARTITIONERS}
    for name, partition in real.items():
        setattr(partitioning, name, wrapped(partition))
    try:
        yield
    finally:
        for name, partition in real.items():
            setattr(partitioning, name, partition)


@contextmanager
def partitioning_seen(package: types.ModuleType) -> Iterator[Seen]:
    """Record what the package splits, and its split."""
    seen = Seen()

    def watched(partition: Any) -> Any:
        def partition_and_record(module: GraphModule, *args: Any, **kwargs: Any) -> Any:
            seen.handed = seen.recorder.graph(module)
            split, support = partition(module, *args, **kwargs)
            seen.split = seen.recorder.split(split)
            seen.convention = calling_convention(split)
            return split, support

        return partition_and_record

    with partitioners_wrapped(package, watched):
        yield seen


def record(package: types.ModuleType, release: str, wanted: ToRecord) -> Recording:
    """One model as the package lowers and splits it.

    Raises:
        CannotRecord: it is not split into engines and fallbacks, or there are no words for it.
        Exception: it cannot be captured, or the package does not compile it.
    """
    case = wanted.case
    captured = capture(case, "nonstrict")
    with partitioning_seen(package) as seen:
        compile_like_a_user(package, captured)
    if seen.handed is None or seen.split is None or seen.convention is None:
        raise CannotRecord("the package compiles it without splitting it")
    kinds = {kind for kind, _ in steps(seen.split)}
    if ENGINE not in kinds or len(kinds) < 2:
        raise CannotRecord(f"the package makes {' and '.join(kinds) or 'nothing'} of it alone")
    argument_names, in_spec, out_spec = seen.convention
    settings = {
        "torch_executed_ops": list(case.fallback),
        "min_block_size": case.min_block_size,
        **dict(case.settings),
    }
    own = own_split(find_case(wanted.model), settings["min_block_size"])
    return Recording(
        name=wanted.name,
        model=wanted.model,
        product=case.name,
        catches=case.catches,
        wiring=case.wiring,
        release=release,
        torch=torch.__version__.partition("+")[0],
        settings=settings,
        difference=tuple(difference(own, seen.split)),
        tensors=seen.recorder.tensors,
        handed=seen.handed,
        split=seen.split,
        argument_names=argument_names,
        in_spec=in_spec,
        out_spec=out_spec,
    )


def recordings(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Each wanted recording's ``name`` with its ``text``, or with ``refused``, the reason.

    Args:
        request: ``site``, ``release``, ``builder``, and ``names``: those wanted, none for all.

    Raises:
        CannotAnswer: a name is in no list.
    """
    release, known = request["release"], {wanted.name: wanted for wanted in TO_RECORD}
    unknown = sorted(set(request["names"]) - set(known))
    if unknown:
        raise CannotAnswer(
            f"no recording is named {', '.join(unknown)}; corpus/recorded/to_record.py has: "
            f"{', '.join(known)}"
        )
    package = open_package(request)
    for wanted in [known[name] for name in request["names"]] or TO_RECORD:
        try:
            yield {"name": wanted.name, "text": to_text(record(package, release, wanted))}
        except Exception as error:  # noqa: BLE001 - whatever the package raises is the reason
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            yield {"name": wanted.name, "refused": reason}
