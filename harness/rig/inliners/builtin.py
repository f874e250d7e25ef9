"""The two algorithms, written from their description (pytorch/TensorRT #4360).

`name-matching` is how releases up to 2.13.0 wire a fallback's inputs, and `positional` the form
that #4360 proposed: `wirings.py` has both. They share the engine pass and everything after, which
is here. They are models of the algorithms: with no wheel at hand they still run, and a test holds
each equal to the release it stands for, verdict for verdict.
"""

from __future__ import annotations

import copy
import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.exported_program import CustomObjArgument
from torch.export.unflatten import _assign_attr, _AttrKind
from torch.fx import GraphModule, Node

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import given_by, run_torch_export, timed_passes
from harness.rig.inliners.protocol import Inlining
from harness.rig.inliners.wirings import WIRINGS, Wiring
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

ENGINE_PREFIX = "_run_on_acc"
FALLBACK_PREFIX = "_run_on_gpu"


class BuiltinInliner:
    """One of the two algorithms, by the `export` route."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._wiring = WIRINGS[name]

    def inline_trt_modules(self, gm: GraphModule) -> GraphModule:
        """Replace every call of an engine child by `execute_engine` and getitems, in place."""
        for name, child in list(gm.named_children()):
            if ENGINE_PREFIX in name:
                _inline_engine(gm, name, child)
        return gm

    def inline_torch_modules(self, gm: GraphModule) -> GraphModule:
        """Replace every call of a fallback child by its body, in place."""
        gm.graph.eliminate_dead_code()
        gm.graph.lint()
        for call in list(gm.graph.nodes):
            if call.op == "call_module" and FALLBACK_PREFIX in call.name:
                _inline_fallback(gm, call, self._wiring)
        return gm

    def transform(self, gm: GraphModule) -> GraphModule:
        """A copy of the split module as one flat graph."""
        return self._transform(gm, StageClock(), Inlining())

    def produce(
        self,
        split: GraphModule,
        route: Route,
        example: Inputs,
        dynamic_shapes: Any,
        clock: StageClock,
        result: Inlining,
    ) -> ExportedProgram:
        clock.enter(Stage.INLINE_ENGINES)
        inlined = self._transform(split, clock, result)
        clock.leave()
        result.keep(inlined)
        export = result.export or run_torch_export
        result.exported = export(inlined, given_by(route, example, dynamic_shapes), clock)
        return result.exported

    def _transform(self, split: GraphModule, clock: StageClock, result: Inlining) -> GraphModule:
        gm = copy.deepcopy(split)
        passes: dict[str, Any] = {
            "inline_trt_modules": self.inline_trt_modules,
            "inline_torch_modules": self.inline_torch_modules,
        }
        with timed_passes(passes, clock, result):
            passes["inline_trt_modules"](gm)
            passes["inline_torch_modules"](gm)
        gm.delete_all_unused_submodules()
        gm.graph.eliminate_dead_code()
        gm.graph.lint()
        return gm


def _inline_engine(gm: GraphModule, name: str, child: torch.nn.Module) -> None:
    """Put `execute_engine` in the place of the call, and an element of its list for each output."""
    call = next(node for node in gm.graph.nodes if node.name == name)
    assert call.args  # bare, as upstream: a model of what it does, its limits included
    values = call.meta["val"]
    engine_name = f"{name}_engine"
    setattr(gm, engine_name, child.engine)
    with gm.graph.inserting_before(call):
        engine = gm.graph.get_attr(engine_name)
        engine.meta["val"] = CustomObjArgument(name=engine.name, class_fqn="")
        execute = gm.graph.call_function(
            torch.ops.tensorrt.execute_engine.default, (call.args, engine)
        )
        execute.meta["val"] = values
        if len(values) == 1:
            # A one-output engine is called bare; its op returns a list.
            only = gm.graph.call_function(operator.getitem, (execute, 0))
            call.replace_all_uses_with(only)
        else:
            call.replace_all_uses_with(execute)
    for user in execute.users:
        if user.target is operator.getitem:
            user.meta["val"] = values[_index(user)]
    gm.graph.erase_node(call)


def _inline_fallback(gm: GraphModule, call: Node, wiring: Wiring) -> None:
    """Copy the child's body in front of its call, wire it, and hand its outputs and weights on."""
    child = getattr(gm, call.name)  # by the node's name, not its target: as upstream does
    assert isinstance(child, GraphModule)
    with gm.graph.inserting_before(call):
        known = wiring.sources(gm, call, child)
        # A copy: it adds to what it is given.
        returned: Any = gm.graph.graph_copy(child.graph, dict(known))
        wiring.settle(gm, call, child, known)
    if isinstance(returned, tuple):
        for user in [user for user in call.users if user.target is operator.getitem]:
            user.replace_all_uses_with(returned[_index(user)])
            gm.graph.erase_node(user)
    else:
        call.replace_all_uses_with(returned)
    for key, parameter in child.named_parameters():
        _assign_attr(parameter, gm, key, _AttrKind.PARAMETER)
    for key, buffer in child.named_buffers():
        _assign_attr(buffer, gm, key, _AttrKind.BUFFER)
    gm.graph.erase_node(call)


def _index(getitem: Node) -> int:
    index = getitem.args[1]
    assert isinstance(index, int)
    return index
