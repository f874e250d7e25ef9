"""Cells of the package lane with faults planted in them: run as a program.

    python tests/rig/package/faulty_cells.py SITE RELEASE CASE ROUTE FAULT...

For each FAULT a child is forked that has the package imported, plants it, and runs the cell. Its
verdicts that are not ok are one JSON object by FAULT, on the last line of stdout:
{FAULT: {ORACLE: [LABEL, MESSAGE]}}.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from corpus.product import find_product_case
from harness.rig.clock import StageClock
from harness.rig.package import loading
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.emulation import import_package
from harness.rig.package.loading import FreshLoader
from harness.rig.records import CellKey, Outcome


def swap_outputs(package: ModuleType) -> None:
    """An inliner that wires two elements of an engine the wrong way round."""
    exporter = package.dynamo._exporter
    inline = exporter.inline_torch_modules

    def swapped(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
        inlined: torch.fx.GraphModule = inline(gm)
        items = [node for node in inlined.graph.nodes if "getitem" in node.name]
        first = next(node for node in items if node.args[1] == 0 and len(node.args[0].users) > 1)
        second = next(node for node in first.args[0].users if node.args[1] == 1)
        first.args, second.args = second.args, first.args
        return inlined

    exporter.inline_torch_modules = swapped


def die_at_load(package: ModuleType) -> None:
    package.load = lambda *_: os.kill(os.getpid(), signal.SIGKILL)


def fail_at_load(package: ModuleType) -> None:
    """As the package does it: torch's own error first, then one that says nothing of it."""

    def load(path: str) -> Any:
        try:
            return torch.export.load(Path(path).with_name("elsewhere.pt2"))
        except (OSError, RuntimeError):
            raise ValueError("not a valid program") from None

    package.load = load


def add_at_run(package: ModuleType) -> None:
    """A program that is another one in a fresh process than where it was saved."""

    class Shifted:
        def __init__(self, program: Any) -> None:
            self._module = program.module()

        def module(self) -> torch.nn.Module:
            class Plus(torch.nn.Module):
                def forward(plus, *args: Any) -> Any:
                    return self._module(*args) + 1

            return Plus()

    package.load = lambda path: Shifted(torch.export.load(path))


def forget_runs(package: ModuleType) -> None:
    """Engines that ran, and nobody counted."""
    load = FreshLoader.load

    def uncounted(*args: Any, **kwargs: Any) -> loading.Loaded:
        return dataclasses.replace(load(*args, **kwargs), engine_runs=0)

    FreshLoader.load = uncounted  # type: ignore[method-assign]


def tamper_with_nothing(package: ModuleType) -> None:
    """The control of the control: engines that return what they should when they should not."""
    load = FreshLoader.load

    def honest(self: FreshLoader, *args: Any, tampered: bool = False) -> loading.Loaded:
        return load(self, *args)

    FreshLoader.load = honest  # type: ignore[method-assign]


def write_to_the_module(package: ModuleType) -> None:
    save = package.save

    def careless(module: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> None:
        save(module, *args, **kwargs)
        module.graph.output_node().meta["written"] = 1
        next(iter(module.graph.nodes)).name = "renamed"

    package.save = careless


FAULTS: dict[str, Callable[[ModuleType], None]] = {
    "none": lambda _: None,
    "swap_outputs": swap_outputs,
    "die_at_load": die_at_load,
    "fail_at_load": fail_at_load,
    "add_at_run": add_at_run,
    "forget_runs": forget_runs,
    "tamper_with_nothing": tamper_with_nothing,
    "write_to_the_module": write_to_the_module,
}


def told(package: ModuleType, release: str, name: str, route: str) -> dict[str, Any]:
    loader = FreshLoader(package)
    prepared = prepare_with(package, find_product_case(name), "nonstrict", 0, StageClock())
    key = CellKey(name, "nonstrict", release, route, lane="package")
    record = run_package_cell(package, prepared, key, loader, StageClock())
    loader.close()
    return {
        verdict.oracle.value: [verdict.label, verdict.message]
        for verdict in record.verdicts
        if verdict.outcome is not Outcome.OK
    }


def main(site: str, release: str, name: str, route: str, *faults: str) -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    package = import_package(Path(site), release)
    answers = {}
    for fault in faults:
        answer = Path(tempfile.mkdtemp()) / "answer.json"
        child = os.fork()
        if child == 0:
            try:
                FAULTS[fault](package)
                answer.write_text(json.dumps(told(package, release, name, route)))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answers[fault] = json.loads(answer.read_text())
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
