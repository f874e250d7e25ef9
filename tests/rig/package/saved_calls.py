"""What `torch_tensorrt.save` of a real package calls its exporter with."""

from __future__ import annotations

import contextlib
import tempfile
from types import ModuleType

import torch

from corpus.case import find_case
from harness.rig.clock import StageClock
from harness.rig.package.compiling import prepare_with
from harness.rig.package.saving import user_arguments
from harness.wire.routes import Route
from tests.rig.calls_seen import Calls, calls_of

CALLED = ("transform", "create_trt_exp_program")


def saved_calls(package: ModuleType, name: str, *routes: str) -> dict[str, Calls]:
    """By route the calls of `CALLED` and `torch.export.export`, as `calls_of` tells them."""
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
