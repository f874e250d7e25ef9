"""A small hybrid through one release's real package: run as a program, once a release.

    python tests/rig/package/hybrid.py SITE FOLDER SKIP...

For each SKIP (a patch's name, or "none") a child is forked that has torch and nothing of the
package, imports the package without that patch, and compiles, runs, saves and loads. What became
of it is one JSON object by SKIP, on the last line of stdout.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from harness.rig.engines import emulated
from harness.rig.engines.builder import real_engine_bytes
from harness.rig.engines.watching import WatchedEngines
from harness.rig.package import engine_cache
from harness.rig.package.opening import import_package
from harness.rig.package.site import read_site
from tests.rig.engines.conformance import RELU, Hybrid, asked


def told(site: Path, archive: Path, skip: list[str]) -> dict[str, Any]:
    """Import, compile, run, save both ways; what was seen."""
    said = read_site(site)
    # An engine that is kept would hide what building it needs.
    engines = None if skip else archive.parent.parent / "engines"
    package = import_package(site, said.release, said.builder, skip, engines)
    torch.manual_seed(0)
    inputs = (torch.randn(2, 4), torch.tensor(3))
    model = Hybrid().eval()
    program = torch.export.export(model, inputs)
    compiled = package.dynamo.compile(
        program, arg_inputs=list(inputs), torch_executed_ops={RELU}, min_block_size=1
    )
    expected = model(*inputs)
    (first, *_, last) = modules = [each for each in compiled.children() if hasattr(each, "engine")]
    assert torch.equal(compiled(*inputs), expected)
    first(inputs[0], 3)  # a number, as a fallback may give one
    slots = emulated.engine_slots(first.engine)
    for retrace in (True, False):
        package.save(compiled, f"{archive}.{retrace}", arg_inputs=list(inputs), retrace=retrace)
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
            for fallback in compiled.children()
            if isinstance(fallback, torch.fx.GraphModule)
            for node in fallback.graph.nodes
            if "nn_module_stack" in node.meta
        ],
        "below_site": Path(package.__file__ or "").is_relative_to(site),
    }


def loaded(site: Path, archive: Path) -> dict[str, Any]:
    """Load what was saved, in a process that saved nothing."""
    said = read_site(site)
    package: ModuleType = import_package(site, said.release, said.builder)
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


def in_a_child(work: Any, *arguments: Any) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)  # the package prints; stdout has the answer alone
        try:
            answer = work(*arguments)
        except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process died"}


def main(site: Path, folder: Path, skips: list[str]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    # What an export imports, seconds of it, is imported once for all children.
    torch.export.export(Hybrid().eval(), (torch.randn(2, 4), torch.tensor(3)))
    seen = {}
    for skip in skips:
        archive = Path(tempfile.mkdtemp(dir=folder)) / "program.pt2"
        chosen = [] if skip in ("none", "again") else [skip]
        seen[skip] = in_a_child(told, site, archive, chosen)
        if skip == "none" and "error" not in seen[skip]:
            seen["loaded"] = in_a_child(loaded, site, archive)
    return seen


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])))
