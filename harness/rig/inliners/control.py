"""No inliner: `torch.export.export` of the split module. What fails here is not an inliner's."""

from __future__ import annotations

import copy
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import given_by, run_torch_export
from harness.rig.inliners.protocol import Inlining
from harness.wire.routes import Route


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
        # Exporting runs the module's code, and what that writes to has to be this subject's own.
        given = given_by(route, example, dynamic_shapes)
        result.exported = run_torch_export(copy.deepcopy(split), given, clock)
        return result.exported
