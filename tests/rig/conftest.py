"""Fixtures for tests inside the rig: torch, with the emulated runtime loaded; real packages."""

import dataclasses
import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from corpus.case import find_case
from harness.rig.cell.pipeline import run_cell
from harness.rig.cell.prepare import PreparedCase, prepare
from harness.rig.clock import StageClock
from harness.rig.engines.emulated import load_runtime
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.inliners.loader import load_inliner
from harness.rig.inliners.protocol import Inliner
from harness.rig.inliners.release import ReleaseInliner
from harness.wire.builders import SEGMENT
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind
from tests.mutants import Mutant


@pytest.fixture(scope="session", autouse=True)
def runtime(library):
    """`tensorrt::Engine` and its op, emulated."""
    torch.set_num_threads(1)
    load_runtime(library)


@cache
def prepared_case(name: str) -> PreparedCase:
    """A case of the corpus, captured, split and compiled once for all tests of a process."""
    return prepare(find_case(name), "nonstrict", 0, StageClock())


def cell_record(
    case: PreparedCase, inliner: Inliner, route: Route | str = Route.EXPORT, like: str = ""
) -> CellRecord:
    """What one cell of a prepared case ends in."""
    key = CellKey(case.case.name, "nonstrict", inliner.name, Route(route))
    return run_cell(case, inliner, key, StageClock(), like)


def inlined(case: PreparedCase, by: str = "positional") -> GraphModule:
    """A case's split module as a built-in inliner transforms it."""
    return BuiltinInliner(by).transform(case.split)


class Tampering(BuiltinInliner):
    """As `positional`, with its work changed from its first transform on, or from a later one."""

    def __init__(self, tamper: Callable[[GraphModule], None], since: int = 1) -> None:
        super().__init__("positional")
        self.name = "tampering"
        self._tamper = tamper
        self._since = since
        self._transforms = 0

    def _transform(self, *arguments: Any) -> GraphModule:
        module = super()._transform(*arguments)
        self._transforms += 1
        if self._transforms >= self._since:
            self._tamper(module)
            module.recompile()
        return module


def reloaded(module: torch.nn.Module, case: PreparedCase) -> ExportedProgram:
    """A module's program, exported with a case's inputs, as it comes back from an archive."""
    archive = io.BytesIO()
    torch.export.save(torch.export.export(module, case.captured.example.args), archive)
    archive.seek(0)
    return torch.export.load(archive)


def said(record: CellRecord) -> list[tuple[str, str, str]]:
    """What every oracle says of a cell, without the evidence, which names nodes."""
    return [(each.oracle.value, each.label, each.message) for each in record.verdicts]


@pytest.fixture(scope="session")
def prepared():
    return prepared_case


@pytest.fixture(scope="session")
def inliners(release_specs):
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


@pytest.fixture
def load_mutant(release_specs, tmp_path):
    """`load_mutant(mutant, field=value)` is 2.14.0 with a text replaced, as a candidate so made."""

    def load(mutant: Mutant, **fields: Any) -> ReleaseInliner:
        spec = release_specs["2.14.0"]
        path = mutant.write(Path(str(spec.wheel_path)), tmp_path)
        told = {"subject": mutant.name, "kind": SubjectKind.FILE, "exporter_path": str(path)}
        loaded = load_inliner(dataclasses.replace(spec, **told | fields))
        assert isinstance(loaded, ReleaseInliner)
        return loaded

    return load


class QuestionFailed(AssertionError):
    """A function raised, or its process died."""


def _ask(
    process: subprocess.Popen[str],
    setup: dict[str, str] | None,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    assert process.stdin
    assert process.stdout
    named = f"{function.__module__}:{function.__name__}"
    question = {"setup": setup, "function": named, "arguments": arguments}
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if "error" in answer:
        failed = QuestionFailed(answer["error"])
        failed.add_note(answer["traceback"])
        raise failed
    return answer["answer"]


@pytest.fixture(scope="session")
def answering():
    """The process that imports torch, and every package, once for all tests of a session."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("answering.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


@pytest.fixture(scope="session")
def ask_torch(answering):
    """`ask_torch(function, *arguments)` is what it returns in a process of its own, with torch."""
    return partial(_ask, answering, None)


@pytest.fixture(scope="session")
def ask_package(answering, toolchain, catalogue):
    """`ask_package(release, function, *arguments)`: likewise, with that release's package first.

    The package is opened as ``setup`` changes what `open_package` takes, and it is as it was
    imported: nothing was compiled, loaded or planted before. Arguments and answers are JSON's.
    """

    def ask(release: str, function: Callable[..., Any], *arguments: Any, **setup: str) -> Any:
        opened = {"release": release, "builder": SEGMENT} | setup
        if "site" not in opened:
            made = toolchain.package_site(catalogue.get(release), opened["builder"])
            opened["site"] = str(made.folder)
        return _ask(answering, opened, function, *arguments)

    return ask
