"""From a subject's description to the inliner that stands for it."""

from __future__ import annotations

import copy
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.passes import given_by, run_torch_export
from harness.rig.inliners.protocol import Inliner, Inlining, LoadError
from harness.rig.inliners.release import ReleaseInliner
from harness.rig.inliners.wirings import WIRINGS
from harness.wire.records import SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind


class NoInliner:
    """`torch.export.export` of the split module: what fails here is not an inliner's fault.

    It is the `direct` route, and with a module that holds no engines the `plain` one.
    """

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


def load_inliner(spec: SubjectSpec) -> Inliner:
    if spec.kind is SubjectKind.TORCH:
        return NoInliner()
    if spec.kind is SubjectKind.BUILTIN:
        if spec.subject not in WIRINGS:
            raise LoadError(f"no built-in inliner is named {spec.subject}")
        return BuiltinInliner(spec.subject)
    return ReleaseInliner(spec)
