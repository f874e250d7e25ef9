"""Cells of the package lane and of the engine lane with faults planted in them."""

import dataclasses
import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.utils._pytree as pytree

from corpus.case import Case, Family, Origin, Program, find_case
from corpus.inputs import floats
from harness.rig.capture.capture import CapturedProgram
from harness.rig.clock import StageClock
from harness.rig.engines import emulated
from harness.rig.package import compiling, loading
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.executor import CUDA_EXECUTOR, EMULATED_EXECUTOR, RTX_EXECUTOR
from harness.rig.package.loading import FreshLoader
from harness.rig.package.spawning import SpawningLoader
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Outcome

RELEASE = "2.14.0"
CASE = "pr_4360"


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

    def honest(self: FreshLoader, *args: Any, **keywords: Any) -> loading.Loaded:
        return load(self, *args, **keywords | {"tampered": False})

    FreshLoader.load = honest  # type: ignore[method-assign]


def flip_a_bit_when_loaded(package: ModuleType) -> None:
    """One output of a reloaded program that is the next number there is."""
    load = FreshLoader.load

    def flipped(*args: Any, **kwargs: Any) -> loading.Loaded:
        loaded = load(*args, **kwargs)
        assert loaded.results is not None
        output = pytree.tree_leaves(loaded.results.returned[0])[0]
        output.view(-1)[0] = torch.nextafter(output.view(-1)[0], torch.tensor(torch.inf))
        return loaded

    FreshLoader.load = flipped  # type: ignore[method-assign]


def answer_otherwise_every_time(package: ModuleType) -> None:
    """Engines that return a little more at every run."""
    load = emulated.load_segment
    runs = itertools.count(1)

    def moody(payload: bytes) -> Callable[..., Any]:
        segment = load(payload)

        def growing(*inputs: torch.Tensor) -> Any:
            factor = 1 + next(runs) * 1e-6
            return pytree.tree_map(lambda output: output * factor, segment(*inputs))

        return growing

    emulated.load_segment = moody  # type: ignore[assignment]


def scale_eager(by: float, dtype: torch.dtype = torch.float32) -> Callable[[ModuleType], None]:
    """A model that engines do not compute, or give in another type."""

    class Scaled(torch.nn.Module):
        def __init__(self, model: torch.nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            def scaled(output: torch.Tensor) -> torch.Tensor:
                return (output * by).to(dtype)

            return pytree.tree_map(scaled, self.model(*args, **kwargs))

    def plant(package: ModuleType) -> None:
        capture = compiling.capture

        def scaled(*args: Any, **kwargs: Any) -> CapturedProgram:
            captured = capture(*args, **kwargs)
            return dataclasses.replace(captured, eager=Scaled(captured.eager))

        compiling.capture = scaled

    return plant


def add_to_what_is_wrong_in_memory(package: ModuleType) -> None:
    """A compiled module of another type than eager, and a program with other numbers as well."""
    scale_eager(1.0, torch.float64)(package)
    add_at_run(package)


def forbid_forks(package: ModuleType) -> None:
    def forbidden() -> int:
        raise AssertionError("a process that has touched CUDA cannot be forked")

    os.fork = forbidden


def write_to_the_module(package: ModuleType) -> None:
    save = package.save

    def careless(module: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> None:
        save(module, *args, **kwargs)
        module.graph.output_node().meta["written"] = 1
        next(iter(module.graph.nodes)).name = "renamed"

    package.save = careless


class CancelsOut(torch.nn.Module):
    """Returns zeros, whatever its engine returns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        returned = torch.relu(x)
        return returned - returned


def model_that_cancels_out() -> Case:
    return Case(
        "cancels_out",
        Family.FOUND,
        Origin.EXPORTED,
        "",
        lambda: Program(floats((3, 8)), model=CancelsOut()),
        fallback=("aten.sub.Tensor",),
    )


FAULTS: dict[str, Callable[[ModuleType], None]] = {
    "none": lambda _: None,
    "cancel_out": lambda _: None,  # the model is another one
    "swap_outputs": swap_outputs,
    "die_at_load": die_at_load,
    "fail_at_load": fail_at_load,
    "add_at_run": add_at_run,
    "add_to_what_is_wrong_in_memory": add_to_what_is_wrong_in_memory,
    "forget_runs": forget_runs,
    "tamper_with_nothing": tamper_with_nothing,
    "write_to_the_module": write_to_the_module,
    "flip_a_bit_when_loaded": flip_a_bit_when_loaded,
    "answer_otherwise_every_time": answer_otherwise_every_time,
    "answer_otherwise_for_sizes_that_vary": answer_otherwise_every_time,
    "scale_eager_beyond_the_tolerance": scale_eager(1.01),
    "scale_eager_within_the_tolerance": scale_eager(1.0003),
    "forbid_forks": forbid_forks,
}

ON_THE_CPU = dataclasses.replace(CUDA_EXECUTOR, device="cpu")
EXECUTORS = {
    "emulated": EMULATED_EXECUTOR,
    "cuda": ON_THE_CPU,
    "cuda-forking": dataclasses.replace(ON_THE_CPU, forks=True),  # as cuda, and faster
    "rtx-forking": dataclasses.replace(RTX_EXECUTOR, device="cpu", forks=True),
}


def faulty_cell(package: ModuleType, route: str, executor: str, fault: str) -> dict[str, Any]:
    """What is not ok of `CASE` by `RELEASE` after a fault was planted, for good.

    Returns:
        {ORACLE: [LABEL, MESSAGE]}, or {"state": [STATE, REASON]} of a cell that was not asked.
    """
    FAULTS[fault](package)
    chosen = EXECUTORS[executor]
    site = Path(package.__file__ or "").parents[1]
    setup = {"site": str(site), "release": RELEASE, "builder": "segment"}
    loader = FreshLoader(package) if chosen.forks else SpawningLoader(setup)
    cases = {"answer_otherwise_for_sizes_that_vary": "dynamic_batch"}
    case = model_that_cancels_out() if fault == "cancel_out" else find_case(cases.get(fault, CASE))
    prepared = prepare_with(package, case, "nonstrict", 0, StageClock(), chosen)
    key = CellKey(CASE, "nonstrict", RELEASE, Route(route), lane=Lane.PACKAGE)
    record = run_package_cell(package, prepared, key, loader, StageClock())
    loader.close()
    if record.state is not CellState.ENDED:
        return {"state": [record.state.value, record.reason]}
    return {
        verdict.oracle.value: [verdict.label, verdict.message]
        for verdict in record.verdicts
        if verdict.outcome is not Outcome.OK
    }
