"""No inliner: `torch.export.export` of the split module. What fails here is not an inliner's."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import run_torch_export
from harness.rig.inliners.protocol import Inlining
from harness.rig.vocabulary import Route


class NoInliner:
    """The `direct` route, and with a module that holds no engines the `plain` one."""

    name = "torch"

    def produce(
        self,
        split: GraphModule,
        route: Route,
        example: Inputs,
        dynamic_shapes: Any,
        clock: StageClock,
        result: Inlining,
    ) -> ExportedProgram:
        result.exported = run_torch_export(split, example, dynamic_shapes, clock)
        return result.exported
