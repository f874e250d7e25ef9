"""The `segment` builder: engine bytes that are the segment itself.

The payload is a pickled graph module (a third of the cost of an exported program) and, on request,
ballast: incompressible bytes that give a file the size of a real engine's.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass

import torch
from torch.fx import GraphModule

from harness.rig.engines.contract import (
    Binding,
    Contract,
    UnsupportedSegment,
    binding_of,
)


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
    """The nodes a segment returns, in order."""
    output = segment.graph.output_node().args[0]
    returned = output if isinstance(output, tuple | list) else (output,)
    nodes = [item for item in returned if isinstance(item, torch.fx.Node)]
    if not nodes or len(nodes) != len(returned):
        raise UnsupportedSegment(f"a segment returns tensors, this one {output!r}")
    return nodes


def build_segment_engine(name: str, segment: GraphModule, ballast_bytes: int = 0) -> BuiltEngine:
    """An engine for one segment. Needs `meta["val"]` on its placeholders and outputs.

    Raises:
        UnsupportedSegment: TensorRT could not take it: another type, a non-tensor, no output.
    """
    placeholders = [node for node in segment.graph.nodes if node.op == "placeholder"]
    outputs = segment_output_nodes(segment)
    contract = Contract(
        tuple(binding_of(node.meta["val"], f"{name}: input {node.name}") for node in placeholders),
        tuple(_output_binding(node, name) for node in outputs),
    )
    buffer = io.BytesIO()
    torch.save(_bare(segment), buffer)
    return BuiltEngine(
        name=name,
        payload=_with_ballast(buffer.getvalue(), ballast_bytes, seed=name),
        contract=contract,
        input_names=tuple(node.name for node in placeholders),
        output_names=tuple(f"output{index}" for index in range(len(outputs))),
    )


def _output_binding(node: torch.fx.Node, engine: str) -> Binding:
    what = f"{engine}: output {node.name}"
    if not isinstance(node.meta["val"], torch.Tensor):
        # A real engine would return a shape tensor; what reads it would no longer get a number.
        raise UnsupportedSegment(f"{what} is a {type(node.meta['val']).__name__}, not a tensor")
    return binding_of(node.meta["val"], what)


def load_segment(payload: bytes) -> torch.nn.Module:
    """The segment inside a payload, ready to be called."""
    length = int.from_bytes(payload[-_FOOTER_BYTES:], "big")
    module = torch.load(io.BytesIO(payload[:length]), weights_only=False)
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"the payload holds a {type(module).__name__}, not a module")
    return module.eval()


_FOOTER_BYTES = 8


def _with_ballast(pickled: bytes, ballast_bytes: int, seed: str) -> bytes:
    """pickle | ballast | length of the pickle, so that bytes behind the pickle are harmless."""
    ballast = b""
    if ballast_bytes:
        generator = torch.Generator().manual_seed(int(payload_digest(seed.encode()), 16) % 2**63)
        ballast = (
            torch.randint(0, 256, (ballast_bytes,), dtype=torch.uint8, generator=generator)
            .numpy()
            .tobytes()
        )
    return pickled + ballast + len(pickled).to_bytes(_FOOTER_BYTES, "big")


def _bare(segment: GraphModule) -> GraphModule:
    """A copy without node metadata: fake tensors do not pickle, and an engine needs none."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(segment.graph, {}))
    for node in graph.nodes:
        node.meta = {}
    bare = GraphModule(segment, graph)
    bare.meta = {}
    return bare
