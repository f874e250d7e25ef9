"""Fixtures for tests inside the rig: torch, with the emulated runtime loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from corpus.case import find_case
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import PreparedCase, prepare
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.loader import load_inliner
from harness.rig.inliners.protocol import Inliner
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind


@pytest.fixture(scope="session", autouse=True)
def runtime(library: Path) -> None:
    """`tensorrt::Engine` and its op, emulated."""
    torch.set_num_threads(1)
    load_runtime(library)


@cache
def prepared_case(name: str) -> PreparedCase:
    """A case of the corpus, captured, split and compiled once for all tests of a process."""
    return prepare(find_case(name), "nonstrict", 0, StageClock())


def cell_record(
    case: PreparedCase, inliner: Inliner, route: Route | str = Route.EXPORT
) -> CellRecord:
    """What one cell of a prepared case ends in."""
    key = CellKey(case.case.name, "nonstrict", inliner.name, Route(route))
    return run_cell(case, inliner, key, StageClock())


@pytest.fixture(scope="session")
def prepared() -> Callable[[str], PreparedCase]:
    return prepared_case


@pytest.fixture(scope="session")
def inliners(release_specs: dict[str, SubjectSpec]) -> dict[str, Inliner]:
    """A real release of each inliner, the two built-in inliners, and none."""
    loaded: dict[str, Inliner] = {
        version: load_inliner(spec) for version, spec in release_specs.items()
    }
    for name in ("name-matching", "positional"):
        loaded[name] = BuiltinInliner(name)
    loaded["torch"] = load_inliner(
        SubjectSpec("torch", SubjectKind.TORCH, (Route.DIRECT, Route.PLAIN))
    )
    return loaded
