"""Engines that write to their inputs: what 2.14 makes of a write to a cache.

There a converter turns a write to a cache that is an engine's input into TensorRT's own layer for
it, whose output lies where the input lies: the engine writes to the caller's buffer. That output is
bound behind those that the split module knows (`TRTInterpreter.output`).
"""

from __future__ import annotations

import importlib

import torch
from torch.fx import Graph, GraphModule, Node

KIND = "kv_cache_update"


def with_aliased_outputs(module: GraphModule) -> tuple[GraphModule, dict[str, tuple[str, str]]]:
    """A segment that returns what its engine writes to inputs, too, and `aliased_io` of it.

    That is the name of each such output, with the name of its input and the kind of its alias, in
    the release's own form. A segment without any comes back as it is.
    """
    writes = [node for node in module.graph.nodes if _is_aliased(node)]
    if not writes:
        return module, {}
    graph, copies = Graph(), dict[Node, Node]()
    returned = graph.graph_copy(module.graph, copies)
    outputs = list(returned) if isinstance(returned, tuple | list) else [returned]
    outputs += [copies[write] for write in writes if copies[write] not in outputs]
    graph.output(tuple(outputs))
    aliased = {
        f"output{outputs.index(copies[write])}": (write.all_input_nodes[0].name, KIND)
        for write in writes
    }
    return GraphModule(module, graph), aliased


def _is_aliased(node: Node) -> bool:
    """Whether the release's converters make of this node a layer that writes to an input.

    By the release's own prediction, which reads what its converters read. It takes a clone of an
    input for the input, since lowering is still to come there; and a node may be marked for other
    reasons, which it leaves to who asks it.
    """
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return False
    cache = node.args[0]
    if cache.op != "placeholder" or node.meta.get("_trt_no_kv_alias"):
        return False
    if not isinstance(cache.meta["val"], torch.Tensor):  # a number: nothing is written to it
        return False
    lifting = importlib.import_module("torch_tensorrt.dynamo.lowering._buffer_lifting")
    return bool(lifting._kv_write_will_alias(node, tuple(cache.meta["val"].shape)))
