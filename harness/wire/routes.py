"""The routes: one table, a row each.

A new way to call `torch_tensorrt.save` is a row here and no more. For a new route of the graph lane
`harness/rig/inliners` says what it does, and `releases.toml` says which releases have it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Lane(enum.StrEnum):
    GRAPH = "graph"
    PACKAGE = "package"
    ENGINE = "engine"  # the package lane with builder and executor real, on a GPU


@dataclass(frozen=True)
class RouteRow:
    """What is to be known of a route.

    Attributes:
        told: what makes the program, in words.
        call: what a user of the package lane writes, in words.
        reaches: the route of the graph lane that a call of the package comes to. Source: `save` in
            torch_tensorrt/_compile.py of 2.6.0 to 2.14.0.
        dynamic: whether only a model with dynamic dimensions is asked.
        state: whether only a model that writes to its own buffers is asked.
        newer: whether only releases from 2.11 on have it, whose `create_trt_exp_program` takes
            dynamic shapes.
        inlines: whether an inliner takes part.
        in_memory: whether a user keeps the module in memory, and saves nothing.
        legacy: whether `create_trt_exp_program` makes the program, whatever it is given.
        crosses: whether it is a program for another platform: a placeholder for each engine.
        engines: whether there are engines; without, it is torch's own control.
        gives_inputs: whether `create_trt_exp_program` is given example inputs.
        gives_shapes: whether the exporter, or the user's `save`, is given the dynamic shapes.
        save: what a user adds to `torch_tensorrt.save(module, file, arg_inputs=..., ...)`.
    """

    told: str = ""
    call: str = ""
    reaches: Route | None = None
    dynamic: bool = False
    state: bool = False
    newer: bool = False
    inlines: bool = True
    in_memory: bool = False
    legacy: bool = False
    crosses: bool = False
    engines: bool = True
    gives_inputs: bool = True
    gives_shapes: bool = False
    save: Mapping[str, Any] = field(default_factory=dict)


class Route(enum.StrEnum):
    """How a split module becomes a program."""

    LEGACY = "legacy"
    LEGACY_NO_INPUTS = "legacy-no-inputs"
    LEGACY_DYNAMIC = "legacy-dynamic"
    EXPORT = "export"
    DIRECT = "direct"
    PLAIN = "plain"
    CROSS = "cross"
    CROSS_LEGACY = "cross-legacy"
    COMPILE = "compile"
    NO_RETRACE = "no-retrace"
    NO_RETRACE_NO_INPUTS = "no-retrace-no-inputs"
    NO_RETRACE_EXPORT = "no-retrace-export"
    RETRACE = "retrace"
    RETRACE_DYNAMIC = "retrace-dynamic"
    RETRACE_DYNAMIC_LEGACY = "retrace-dynamic-legacy"
    EXPORTED = "save-exported"
    TORCH_COMPILE = "torch-compile"

    @property
    def row(self) -> RouteRow:
        return ROUTES[self]

    @property
    def reaches(self) -> Route:
        """The route of the graph lane that a package call comes to; the others are their own."""
        return self.row.reaches or self

    @property
    def lane(self) -> Lane:
        """The lane that this route belongs to."""
        return Lane.PACKAGE if self.row.call else Lane.GRAPH

    @property
    def by_compile(self) -> bool:
        """Whether it is `compile`, or saves what that returned, and so fails as that does."""
        return self.lane is Lane.PACKAGE and self is not Route.TORCH_COMPILE

    @property
    def is_legacy(self) -> bool:
        """Whether `create_trt_exp_program` makes the program, whatever it is given."""
        return self.reaches.row.legacy


ROUTES: Mapping[Route, RouteRow] = {
    # `transform`, then `create_trt_exp_program` as `save(retrace=False)` calls it.
    Route.LEGACY: RouteRow("the inliner, then create_trt_exp_program", legacy=True),
    Route.LEGACY_NO_INPUTS: RouteRow(
        "the inliner, then create_trt_exp_program, without inputs",
        legacy=True,
        gives_inputs=False,
        dynamic=True,
        newer=True,
    ),
    Route.LEGACY_DYNAMIC: RouteRow(
        "the inliner, then create_trt_exp_program, with dynamic shapes",
        legacy=True,
        gives_shapes=True,
        dynamic=True,
        newer=True,
    ),
    Route.EXPORT: RouteRow("the inliner, then torch.export", gives_shapes=True),
    Route.DIRECT: RouteRow(
        "torch.export of the split module, no inliner", inlines=False, gives_shapes=True
    ),
    Route.PLAIN: RouteRow(
        "torch.export of the model, no engines: torch's own control",
        inlines=False,
        engines=False,
        gives_shapes=True,
    ),
    Route.CROSS: RouteRow("the inliner, for another platform", crosses=True, gives_inputs=False),
    # Who cross-compiles can say so to the release's `export`, and save what it makes.
    Route.CROSS_LEGACY: RouteRow(
        "the inliner, for another platform, then create_trt_exp_program",
        crosses=True,
        legacy=True,
        gives_inputs=False,
        newer=True,
    ),
    Route.COMPILE: RouteRow(
        "the compiled module, in memory", call="compile()", inlines=False, in_memory=True
    ),
    Route.NO_RETRACE: RouteRow(
        call="save(retrace=False)", reaches=Route.LEGACY, save={"retrace": False}
    ),
    Route.NO_RETRACE_NO_INPUTS: RouteRow(
        call="save(retrace=False), without inputs",
        reaches=Route.LEGACY_NO_INPUTS,
        dynamic=True,
        newer=True,
        save={"retrace": False, "arg_inputs": None, "kwarg_inputs": None},
    ),
    Route.NO_RETRACE_EXPORT: RouteRow(
        call="save(retrace=False, use_legacy_exporter=False)",
        reaches=Route.EXPORT,
        newer=True,
        gives_shapes=True,
        save={"retrace": False, "use_legacy_exporter": False},
    ),
    Route.RETRACE: RouteRow(call="save(m, f)", reaches=Route.DIRECT, save={"retrace": True}),
    Route.RETRACE_DYNAMIC: RouteRow(
        call="save(dynamic_shapes=…)",
        reaches=Route.EXPORT,
        dynamic=True,
        newer=True,
        gives_shapes=True,
        save={"retrace": True},
    ),
    Route.RETRACE_DYNAMIC_LEGACY: RouteRow(
        call="save(dynamic_shapes=…, use_legacy_exporter=True)",
        reaches=Route.LEGACY_DYNAMIC,
        dynamic=True,
        newer=True,
        gives_shapes=True,
        save={"retrace": True, "use_legacy_exporter": True},
    ),
    # `save` exports a module itself, and then gives the program what a user's own call leaves out:
    # which of its outputs are state. Without state the two are the same program. Up to 2.10 what
    # `compile` makes of a model with state is wrong in memory, as it is in the next three.
    Route.EXPORTED: RouteRow(
        call="save(torch.export.export(m), f)",
        reaches=Route.DIRECT,
        state=True,
        newer=True,
        gives_shapes=True,
    ),
    # Nothing exports the model: torch traces it when it is called.
    Route.TORCH_COMPILE: RouteRow(
        "the model as torch.compile runs it, in memory",
        call='torch.compile(backend="torch_tensorrt")',
        inlines=False,
        in_memory=True,
    ),
}

#: What a user calls, and the routes by which a defect shows that this call meets: those of the
#: package lane, and those of the graph lane that the call comes to.
COMPILE = "compile"
TORCH_COMPILE = "torch.compile"
USER_CALLS: Mapping[str, tuple[Route, ...]] = {
    COMPILE: (Route.COMPILE,),
    "save(m, f)": (Route.RETRACE, Route.DIRECT),
    "save(dynamic_shapes)": (
        Route.RETRACE_DYNAMIC,
        Route.RETRACE_DYNAMIC_LEGACY,
        Route.LEGACY_DYNAMIC,
    ),
    "save(retrace=False)": (
        Route.NO_RETRACE,
        Route.NO_RETRACE_NO_INPUTS,
        Route.LEGACY,
        Route.LEGACY_NO_INPUTS,
    ),
    "save(retrace=False, use_legacy_exporter=False)": (Route.NO_RETRACE_EXPORT, Route.EXPORT),
    "save(torch.export.export(m), f)": (Route.EXPORTED,),
    "cross_compile": (Route.CROSS, Route.CROSS_LEGACY),
    TORCH_COMPILE: (Route.TORCH_COMPILE,),
}
