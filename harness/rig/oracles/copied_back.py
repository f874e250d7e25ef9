"""Outputs of a graph that no caller is given: the new values of buffers.

From 2.14 on, the graph of a compiled module returns the new value of a buffer that no engine writes
to after its own outputs, and hides it from the caller (`hide_copyback_outputs` in
lowering/_buffer_lifting.py). `transform` puts the buffers that engines write to in front of the
outputs and marks them, and `create_trt_exp_program` marks both. An exported program declares them
as mutations.
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node

from harness.rig.inliners.protocol import COPIED_BACK, DECLARED


def returned_places(module: GraphModule) -> list[int]:
    """The indices of the graph's outputs that a split or inlined module gives to its caller."""
    outputs = _outputs(module)
    behind = 0
    if not module.meta.get(DECLARED):
        behind = len(module.meta.get(COPIED_BACK) or ())
    kept = enumerate(outputs[: len(outputs) - behind])
    return [place for place, output in kept if not _is_mutation(output)]


def return_no_more(module: GraphModule) -> None:
    """Make a module return only what callers are given. The caller has to recompile it.

    Code that hides the last outputs itself is left to do so: it may copy them back first.
    """
    outputs, places = _outputs(module), returned_places(module)
    hidden = getattr(module.graph._codegen, "num_hidden", 0)
    kept = [*places, *range(len(outputs) - hidden, len(outputs))]
    if len(kept) < len(outputs):
        module.graph.output_node().args = (tuple(outputs[place] for place in kept),)


def _outputs(module: GraphModule) -> list[Any]:
    returned = module.graph.output_node().args[0]
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def _is_mutation(output: Any) -> bool:
    return isinstance(output, Node) and "_kv_mutation_target" in output.meta
