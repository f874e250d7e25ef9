"""A small hybrid through a release's real package: compiled, run, saved and loaded."""

from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.rig.engines import emulated
from harness.rig.engines.builder import real_engine_bytes
from harness.rig.package import engine_cache
from harness.rig.package.loading import WatchedEngines
from harness.rig.package.opening import import_package
from harness.rig.package.site import read_site
from tests.rig.engines.conformance import RELU, Hybrid, asked


class Sums(torch.nn.Module):
    """Rows summed by index: an engine does it with a plugin, a fallback where there is none."""

    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x).index_add(0, rows, x * 2)


def sums(package: ModuleType) -> bool:
    """Whether a release compiles them, and what is compiled is right."""
    inputs = (torch.randn(4, 3), torch.tensor([2, 0, 2, 1]))
    program = torch.export.export(Sums(), inputs)
    compiled = package.dynamo.compile(program, arg_inputs=list(inputs), min_block_size=1)
    return torch.equal(compiled(*inputs), Sums()(*inputs))


def compiled_without(site: str, archive: str, patch: str) -> dict[str, Any]:
    """As `compiled`, of a package that is imported here, without one of its patches.

    No engine is kept: that would hide what building it needs.
    """
    said = read_site(Path(site))
    return compiled(import_package(said.folder, said.release, said.builder, [patch]), archive)


def compiled(package: ModuleType, archive: str) -> dict[str, Any]:
    """What is seen when the hybrid is compiled, run and saved both ways."""
    torch.manual_seed(0)
    inputs = (torch.randn(2, 4), torch.tensor(3))
    model = Hybrid().eval()
    program = torch.export.export(model, inputs)
    hybrid = package.dynamo.compile(
        program, arg_inputs=list(inputs), torch_executed_ops={RELU}, min_block_size=1
    )
    expected = model(*inputs)
    (first, *_, last) = modules = [each for each in hybrid.children() if hasattr(each, "engine")]
    assert torch.equal(hybrid(*inputs), expected)
    first(inputs[0], 3)  # a number, as a fallback may give one
    slots = emulated.engine_slots(first.engine)
    for retrace in (True, False):
        package.save(hybrid, f"{archive}.{retrace}", arg_inputs=list(inputs), retrace=retrace)
    torch.save((inputs, expected), f"{archive}.values")
    runs = emulated.run_counts.total()
    return {
        "engines": len(modules),
        "runs": runs,
        "conforms": asked(first.engine, last.engine),
        "slots": len(slots),
        "abi": slots[0],
        "name": slots[emulated.NAME_SLOT],
        "built_bytes": len(real_engine_bytes(emulated.engine_payload(first.engine))),
        "kept": [build.kept for build in engine_cache.builds],
        "module_stacks": [
            len(node.meta["nn_module_stack"])
            for fallback in hybrid.children()
            if isinstance(fallback, torch.fx.GraphModule)
            for node in fallback.graph.nodes
            if "nn_module_stack" in node.meta
        ],
        "sums": sums(package),
        "file": package.__file__,
    }


def loaded(package: ModuleType, archive: str) -> dict[str, Any]:
    """What is seen when an archive is loaded in a process that saved nothing."""
    inputs, expected = torch.load(f"{archive}.values")
    seen: dict[str, Any] = {}
    for retrace in (True, False):
        program = package.load(f"{archive}.{retrace}")
        with WatchedEngines() as engines:
            result = program.module()(*inputs)
        seen[f"retrace {retrace}"] = {
            "equal": torch.equal(
                result if isinstance(result, torch.Tensor) else result[0], expected
            ),
            "runs": engines.runs,
        }
        with WatchedEngines(tampered=True):
            other = program.module()(*inputs)
        other = other if isinstance(other, torch.Tensor) else other[0]
        seen[f"retrace {retrace}"]["tampered"] = torch.equal(other, expected)
    return seen
