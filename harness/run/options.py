"""What a user asks of a run, and who is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.expectations import EXPECTATIONS
from harness.run.keeping import KeptOptions
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.records import CellRecord
from harness.wire.routes import Lane
from harness.workers.launching import LOCAL, Launcher


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of a run. Times in seconds."""

    releases: str = ""
    exporter: Path | None = None
    wheel: Path | None = None
    checkout: Path | None = None
    base: str = ""  # of the checkout; by default its merge base with the main branch
    like: str = ""
    baseline: str = ""  # the release that the other one is held against, if not the older
    subjects: tuple[str, ...] = ()  # of those that are chosen these alone, in this order
    expression: str = ""
    families: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()  # these alone, by their whole names
    quick: bool = False
    budget_s: float | None = None  # None: until all is asked
    failed: bool = False  # what was red in the last run of the candidate alone
    failed_in: str = ""  # in this run instead
    full: bool = False
    corpus: tuple[str, ...] = ()  # places of cases that take the place of the project's own
    routes: tuple[str, ...] = ()
    captures: tuple[str, ...] = ("nonstrict",)
    lanes: tuple[str, ...] = (Lane.GRAPH,)
    builders: tuple[str, ...] = (SEGMENT,)  # of the package lane; the engine lane has its own
    environment: str = PINNED  # or matched
    jobs: int = 2
    launcher: Launcher = LOCAL
    timeout_s: float = 120.0
    seed: int = 0
    share: bool = True
    shard: tuple[int, int] | None = None
    apart: bool = True  # what a user brought runs in processes of its own
    kept: KeptOptions | None = None  # None: nothing is taken or kept
    out: Path = Path("results")
    expectations: Path = EXPECTATIONS
    command_line: tuple[str, ...] = ()
    meanwhile: Callable[[], object] = _nothing  # what there is to do while workers import torch


#: Is told how a subject's package splits a case, as `harness.rig.workers.model_split` says.
OnSplit = Callable[[Mapping[str, Any]], None]


class Progress(Protocol):
    """Shows how far a run is."""

    def start(self, total: int, done: int) -> None: ...

    def ended(self, record: CellRecord) -> None: ...

    def say(self, line: str) -> None: ...
