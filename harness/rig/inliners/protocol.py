"""What the pipeline asks of an inliner, whatever it was loaded from."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx._lazy_graph_module import _LazyGraphModule

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.wire.records import Verdict
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

#: In the `meta` of a module: the buffers whose new values stand behind its outputs, from 2.14 on.
COPIED_BACK = "_copyback_mutation_buffers"
#: Likewise: whether these stand there no more, since a program has declared them.
DECLARED = "_copyback_mutations_declared"


class LoadError(Exception):
    """An inliner could not be loaded: what is missing, and where it was looked for."""


@dataclass(frozen=True)
class Given:
    """What a release's functions are given of a user's inputs and dynamic shapes."""

    inputs: Inputs
    dynamic_shapes: Any


Export = Callable[[GraphModule, Given, StageClock], ExportedProgram]
ComeBack = Callable[[ExportedProgram], ExportedProgram]
OwnExport = Callable[[], ExportedProgram]


@dataclass(frozen=True)
class Transformed:
    """What one call of `transform` made of a split, for a cell that would make the same call.

    ``arguments`` tell one call from another, ``seconds`` and ``told`` are the times of its stages
    and the warnings of the release.
    """

    arguments: str
    module: GraphModule
    seconds: Mapping[Stage, float]
    told: Sequence[str] = ()


@dataclass
class Inlining:
    """What came out of an inliner, filled in as far as it got.

    ``inlined`` is the module as the last pass left it; it is there even when cleaning it raised, so
    that a wrong wire can be named where lint only says that something is amiss. ``finished`` tells
    whether `transform` returned. ``come_back`` is what a release does to a program that it has
    loaded, and that was saved without its engines in place. ``own_export`` runs a candidate's
    `export` on the same module: it is what a user's save calls.
    """

    inlined: GraphModule | None = None
    finished: bool = False
    exported: ExportedProgram | None = None
    come_back: ComeBack | None = None
    own_export: OwnExport | None = None
    export: Export | None = None  # in place of `torch.export.export`, to share what is equal
    arguments: str = ""  # what `transform` was given
    made: Transformed | None = None  # to be taken if that was made with the same arguments

    @property
    def taken(self) -> Transformed | None:
        """What was made for it, where it calls `transform` with the same arguments."""
        return self.made if self.made and self.made.arguments == self.arguments else None

    def keep(self, inlined: GraphModule) -> None:
        """Remember what `transform` returned, in a graph of its own.

        `create_trt_exp_program` lifts parameters in the very module that it is given, and what the
        oracles are asked about is the module before that. Attributes are shared, not copied. Its
        code is written when it is called, which most never are.
        """
        self.inlined = _LazyGraphModule(inlined, copy.deepcopy(inlined.graph))
        if COPIED_BACK in inlined.meta:
            self.inlined.meta[COPIED_BACK] = inlined.meta[COPIED_BACK]
            self.inlined.meta[DECLARED] = inlined.meta.get(DECLARED, False)
            for name, state in inlined.named_buffers(recurse=False):
                if name in inlined.meta[COPIED_BACK] and not hasattr(self.inlined, name):
                    self.inlined.register_buffer(name, state)  # no node reads it, code may write
        self.finished = True

    def reached(self, ended: Verdict, *, ran: bool) -> Stage:
        """How far ``inlined`` came: its program ran, `transform` returned, or which pass raised.

        Args:
            ended: the verdict on the cell's completion.
            ran: whether a program of it ran.
        """
        if ran:
            return Stage.RUN
        if self.finished:
            return Stage.EXPORT
        return Stage.CLEAN if ended.stage is Stage.CLEAN else Stage.INLINE_ENGINES


class Inlined(Exception):
    """`transform` returned, and nothing more was asked for."""


@dataclass
class InliningAlone(Inlining):
    """Stops an inliner when `transform` has returned, by raising `Inlined`."""

    returned: GraphModule | None = None

    def keep(self, inlined: GraphModule) -> None:
        self.returned = inlined
        self.inlined = _LazyGraphModule(inlined, inlined.graph)
        self.finished = True
        raise Inlined


class Inliner(Protocol):
    """Turns a split module into an exported program, by one of its routes."""

    @property
    def name(self) -> str: ...

    def produce(
        self,
        split: GraphModule,
        route: Route,
        example: Inputs,
        dynamic_shapes: Any,
        clock: StageClock,
        result: Inlining,
    ) -> ExportedProgram:
        """Inline and export, entering the clock's stages and filling ``result`` on the way."""
        ...
