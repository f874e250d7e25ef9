"""The `segment` builder: engine bytes that are the segment itself.

The payload is the segment's pickled code and constants (a third of the cost of an exported
program), on request ballast (incompressible bytes that give a file the size of a real engine's),
and the contract, which a real engine has in its bytes too:

    real engine bytes, if any | pickled segment | ballast | contract | footer

The footer has the three lengths and a mark, so that a segment can travel behind the bytes that
TensorRT built, and the two be told apart.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule

from harness.rig.engines.contract import (
    Binding,
    Contract,
    Profile,
    UnsupportedSegment,
    binding_of,
    fraction_binding,
)
from harness.rig.engines.writes import writes_of


@dataclass(frozen=True)
class BuiltEngine:
    """Bytes of an engine and what it promises. Binding names are those of the segment's graph."""

    name: str
    payload: bytes
    contract: Contract
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]

    @property
    def digest(self) -> str:
        return payload_digest(self.payload)


def payload_digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()[:16]


def segment_output_nodes(segment: GraphModule) -> list[torch.fx.Node]:
    """The nodes a segment returns, in order: tensors, and sizes."""
    output = segment.graph.output_node().args[0]
    returned = output if isinstance(output, tuple | list) else (output,)
    nodes = [item for item in returned if isinstance(item, torch.fx.Node)]
    if not nodes or len(nodes) != len(returned):
        raise UnsupportedSegment(f"a segment returns what its nodes make, this one {output!r}")
    return nodes


def build_segment_engine(
    name: str,
    segment: GraphModule,
    ballast_bytes: int = 0,
    *,
    doubles_as_floats: bool = False,
    profiles: Sequence[Profile] = (),
) -> BuiltEngine:
    """An engine for one segment. Needs `meta["val"]` on its placeholders and outputs.

    Args:
        profiles: for each placeholder the range of sizes that a release asks an engine for; where
            there are none, the ranges are those of the metadata.
        doubles_as_floats: take and return float32 where the segment has float64, which is what a
            release makes of it. The segment still computes in float64 in between.

    Raises:
        UnsupportedSegment: TensorRT could not take it: another type, neither a tensor nor a size,
            no output, a write to an input or to state.
    """
    for write in writes_of(segment):
        raise UnsupportedSegment(f"{name}: {write}: an engine writes to nothing that it is given")
    placeholders = [node for node in segment.graph.nodes if node.op == "placeholder"]
    outputs = segment_output_nodes(segment)

    def bound(node: torch.fx.Node, role: str) -> Binding:
        what = f"{name}: {role} {node.name}"
        if "val" not in node.meta:
            raise UnsupportedSegment(f"{what} has no metadata, so no engine can be built for it")
        value = node.meta["val"]
        if role == "input" and isinstance(value, torch.SymFloat):
            return fraction_binding(value)  # what a release takes, and no release gives back
        return binding_of(value, what, doubles_as_floats=doubles_as_floats)

    inputs = tuple(bound(node, "input") for node in placeholders)
    if profiles:
        pairs = zip(inputs, profiles, strict=True)
        inputs = tuple(each.within(profile) for each, profile in pairs)
    contract = Contract(
        inputs,
        tuple(bound(node, "output") for node in outputs),
    )
    buffer = io.BytesIO()
    with unset_fake_temporarily():  # where `torch.compile` builds, the data of a weight is fake
        torch.save(WrittenSegment(_bare(segment)), buffer)
    return BuiltEngine(
        name=name,
        payload=_assembled(buffer.getvalue(), _ballast(ballast_bytes, seed=name), contract),
        contract=contract,
        input_names=tuple(node.name for node in placeholders),
        output_names=tuple(f"output{index}" for index in range(len(outputs))),
    )


def load_segment(payload: bytes) -> torch.nn.Module:
    """The segment inside a payload, ready to be called.

    Raises:
        ValueError: there is none in these bytes.
    """
    footer = _footer(payload)
    start = footer.real_bytes
    module = torch.load(
        io.BytesIO(payload[start : start + footer.segment_bytes]), weights_only=False
    )
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"the payload holds a {type(module).__name__}, not a module")
    return module.eval()


def payload_contract(payload: bytes) -> Contract:
    """What the engine of a payload promises."""
    end = len(payload) - _FOOTER.size
    return Contract.decode(payload[end - _footer(payload).contract_bytes : end].decode("ascii"))


def real_engine_bytes(payload: bytes) -> bytes:
    """What TensorRT built, without the segment that travels behind it; empty if it built nothing.

    Bytes that no segment travels behind come back whole.
    """
    if not carries_segment(payload):
        return payload
    return payload[: _footer(payload).real_bytes]


def carries_segment(payload: bytes) -> bool:
    return payload[-len(_MARK) :] == _MARK


def behind(real_bytes: bytes, payload: bytes) -> bytes:
    """A payload of the segment builder, carried behind the bytes that TensorRT built."""
    footer = _footer(payload)
    fields = footer._replace(real_bytes=len(real_bytes))
    return real_bytes + payload[footer.real_bytes : -_FOOTER.size] + _FOOTER.pack(*fields, _MARK)


class WrittenSegment(torch.nn.Module):
    """A segment as the code that torch.fx wrote of it, with its constants.

    A pickled graph module traces its code again when it is read, and cannot where an op is given
    no tensor and a size behind a number: `full([1, n], 0)`.
    """

    imports: str
    _code: str

    def __init__(self, segment: GraphModule) -> None:
        super().__init__()
        _, (held, imports) = segment.__reduce__()
        children = {
            name: WrittenSegment(child) if isinstance(child, GraphModule) else child
            for name, child in segment.named_children()
        }
        self.__dict__.update(held, _modules=children, imports=imports)
        self._write()

    def _write(self) -> None:
        scope: dict[str, Any] = {}
        exec(self.imports + self._code, scope)
        self._run = scope["forward"]

    def forward(self, *given: Any) -> Any:
        return self._run(self, *given)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._write()


class _Footer(NamedTuple):
    real_bytes: int
    segment_bytes: int
    contract_bytes: int


_MARK = b"segment1"
_FOOTER = struct.Struct(">QQQ8s")


def _footer(payload: bytes) -> _Footer:
    if not carries_segment(payload) or len(payload) < _FOOTER.size:
        raise ValueError("no segment in these engine bytes: this engine cannot be emulated")
    *lengths, _ = _FOOTER.unpack(payload[-_FOOTER.size :])
    return _Footer(*lengths)


def _assembled(pickled: bytes, ballast: bytes, contract: Contract) -> bytes:
    promised = contract.encode().encode("ascii")
    footer = _FOOTER.pack(0, len(pickled), len(promised), _MARK)
    return pickled + ballast + promised + footer


def _ballast(size_bytes: int, seed: str) -> bytes:
    if not size_bytes:
        return b""
    generator = torch.Generator().manual_seed(int(payload_digest(seed.encode()), 16) % 2**63)
    drawn = torch.randint(0, 256, (size_bytes,), dtype=torch.uint8, generator=generator)
    return drawn.numpy().tobytes()


def _bare(segment: GraphModule) -> GraphModule:
    """A copy without node metadata: fake tensors do not pickle, and an engine needs none."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(segment.graph, {}))
    for node in graph.nodes:
        node.meta = {}
    bare = GraphModule(segment, graph)
    bare.meta = {}
    return bare
