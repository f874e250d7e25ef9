"""What `torch_tensorrt.save` of a real package calls its exporter with: run as a program.

    python tests/rig/package/saved_calls.py SITE RELEASE CASE ROUTE...

The last line of stdout is one JSON object by ROUTE, with the calls of `transform`,
`create_trt_exp_program` and `torch.export.export` as `tests.rig.calls_seen` tells them.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import torch

from corpus.case import find_case
from harness.rig.clock import StageClock
from harness.rig.package.compiling import prepare_with
from harness.rig.package.opening import open_package
from harness.rig.package.saving import user_arguments
from harness.wire.routes import Route
from tests.rig.calls_seen import Calls, calls_of

CALLED = ("transform", "create_trt_exp_program")


def saved_calls(site: str, release: str, name: str, routes: list[str]) -> dict[str, Calls]:
    package = open_package({"site": site, "release": release, "builder": "segment"})
    exporter = package.dynamo._exporter
    functions = {each: getattr(exporter, each) for each in CALLED}
    functions["export"] = torch.export.export
    prepared = prepare_with(package, find_case(name), "nonstrict", 0, StageClock())
    found = {}
    for route in routes:
        arguments = user_arguments(prepared.captured, Route(route))
        with (
            tempfile.TemporaryDirectory() as folder,
            calls_of(functions) as seen,
            contextlib.suppress(Exception),  # whether it can be saved is another question
        ):
            package.save(prepared.split, f"{folder}/program.pt2", **arguments)
        found[route] = seen
    return found


if __name__ == "__main__":
    site, release, name, *routes = sys.argv[1:]
    print(json.dumps(saved_calls(site, release, name, routes)))
