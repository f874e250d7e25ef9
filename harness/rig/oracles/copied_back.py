"""Outputs of a graph that no caller is given: what buffers are to become.

From 2.14 on a compiled module has the new value of a buffer that no engine writes to behind its own
outputs, and hides it from who calls it (`hide_copyback_outputs` in lowering/_buffer_lifting.py);
`transform` puts what engines write to in front of them, marked, and `create_trt_exp_program` marks
both. In an exported program they are declared as mutations.
"""

from __future__ import annotations

from typing import Any

from torch.fx import GraphModule, Node
from torch.fx.graph import CodeGen

from harness.rig.inliners.protocol import COPIED_BACK


def returned_places(module: GraphModule) -> list[int]:
    """The places, among the outputs of a split or inlined module's graph, of what it returns."""
    outputs = _outputs(module)
    behind = 0
    if not module.meta.get("_copyback_mutations_declared"):
        behind = len(module.meta.get(COPIED_BACK) or ())
    kept = enumerate(outputs[: len(outputs) - behind])
    return [place for place, output in kept if not _is_mutation(output)]


def return_no_more(module: GraphModule) -> None:
    """Have a module's graph return what its callers are given; who asks makes its code anew."""
    outputs, places = _outputs(module), returned_places(module)
    if len(places) < len(outputs):
        module.graph.output_node().args = (tuple(outputs[place] for place in places),)
        module.graph.set_codegen(CodeGen())  # the other one hides the last ones


def _outputs(module: GraphModule) -> list[Any]:
    returned = module.graph.output_node().args[0]
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def _is_mutation(output: Any) -> bool:
    return isinstance(output, Node) and "_kv_mutation_target" in output.meta
