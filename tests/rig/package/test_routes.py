"""Each route of the graph lane gives a release's functions what a user's call of `save` gives them.

Of the releases that have a package lane the real package is asked; of every wheel, the oldest too,
its own `save` and `export`, with stand-ins around them.
"""

import ast
import contextlib
import copy
import sys
import types
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.catalogue.releases import load_catalogue
from harness.rig.cell.prepare import PreparedCase
from harness.rig.clock import StageClock
from harness.rig.inliners.passes import accepted
from harness.rig.inliners.protocol import Inlining
from harness.rig.inliners.release import ReleaseInliner
from harness.rig.package.saving import user_arguments
from harness.subjects.specs import release_subject
from harness.wire.routes import Route
from tests.rig.package.saved_calls import Calls, calls_of, saved_calls

CATALOGUE = load_catalogue()
# Positions, and keywords that save is given in another order; a dimension that is dynamic, and one
# that save is given a range of its own for.
CASES = ("keywords_in_another_order", "dynamic_batch", "dimension_saved_for_fewer_rows")
OFTEN = ("2.5.0", "2.10.0", "2.13.0", "2.14.0")  # the others with --full
TAKE_NO_KEYWORD = ("2.3.0", "2.4.0")
OF_WHEELS = [
    pytest.param(version, case, marks=() if version in OFTEN else pytest.mark.slow)
    for version in CATALOGUE.versions
    for case in CASES
    if "keywords" not in case or version not in TAKE_NO_KEYWORD
]
PACKAGES = [
    each.version
    if each.version in ("2.10.0", "2.14.0")
    else pytest.param(each.version, marks=pytest.mark.slow)
    for each in CATALOGUE
    if each.package_routes
]
OLD = (Route.NO_RETRACE.value, Route.RETRACE.value)  # of the releases before the package lane


@cache
def inliner_of(version: str, wheel: str) -> ReleaseInliner:
    return ReleaseInliner(release_subject(CATALOGUE.get(version), Path(wheel)))


def routes_for(version: str, case: str) -> list[str]:
    """The ways to save by which a case is saved."""
    known = CATALOGUE.get(version).package_routes or OLD
    left_out = {route for route in Route if route.row.in_memory or route.row.state}
    if "keywords" in case:
        left_out |= {route for route in Route if route.row.dynamic}
    return [each for each in known if Route(each) not in left_out]


def graph_calls(inliner: ReleaseInliner, case: PreparedCase, route: Route) -> Calls:
    """What this route of the graph lane calls."""
    exporter = inliner.exporter
    functions = {
        "transform": exporter.transform,
        "create_trt_exp_program": exporter.create_trt_exp_program,
        "export": torch.export.export,
    }
    captured = case.captured
    shapes = captured.shapes_given(route)
    with calls_of(functions) as seen, contextlib.suppress(Exception):
        inliner.produce(case.split, route, captured.given_to_save, shapes, StageClock(), Inlining())
    return seen


def held_equal(version: str, wheel: Path, case: PreparedCase, package: Mapping[str, Calls]) -> None:
    for name, calls in package.items():
        route = Route(name)
        if route.reaches is Route.DIRECT:  # no inliner has a part in it
            assert [called for called, _ in calls] == ["export"], (version, name)
            continue
        ours = graph_calls(inliner_of(version, str(wheel)), case, route.reaches)
        assert calls == ours, (version, name)
        assert [called for called, _ in calls] in (
            ["transform", "create_trt_exp_program"],
            ["transform", "export"],
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", PACKAGES)
def test_a_graph_route_passes_what_the_package_passes(
    toolchain, ask_package, prepared, version, case
):
    found = ask_package(version, saved_calls, case, *routes_for(version, case))
    held_equal(version, toolchain.wheel(CATALOGUE.get(version)), prepared(case), found)


@pytest.mark.parametrize(("version", "case"), OF_WHEELS)
def test_a_graph_route_passes_what_the_save_of_a_wheel_passes(
    toolchain, catalogue, prepared, version, case, tmp_path
):
    wheel = toolchain.wheel(catalogue.get(version))
    held = prepared(case)
    save, exporter = save_of(wheel)
    functions = {
        "transform": exporter.transform,
        "create_trt_exp_program": exporter.create_trt_exp_program,
        "export": torch.export.export,
    }
    package: dict[str, Calls] = {}
    for name in routes_for(version, case):
        arguments = user_arguments(held.captured, Route(name))
        if "arg_inputs" in arguments and "arg_inputs" not in accepted(save, arguments):
            arguments["inputs"] = arguments.pop("arg_inputs")  # in 2.3 and 2.4, without keywords
            assert not arguments.pop("kwarg_inputs")
        sys.modules["torch_tensorrt.dynamo._exporter"] = exporter
        try:
            with calls_of(functions) as seen, contextlib.suppress(Done, Exception):
                save(copy.deepcopy(held.split), str(tmp_path / "saved.ep"), **arguments)
        finally:
            del sys.modules["torch_tensorrt.dynamo._exporter"]
        package[name] = seen
    held_equal(version, wheel, held, package)


class Done(BaseException):
    """It has been called; more is not asked."""


def save_of(wheel: Path) -> tuple[Callable[..., None], Any]:
    """A wheel's own `save`, and its `export` in a module whose other functions do nothing."""
    api = _functions(wheel, "torch_tensorrt/_compile.py", {"save"})
    api |= {
        "torch": torch,
        "Input": type("Input", (), {}),
        "CudaGraphsTorchTensorRTModule": type("CudaGraphs", (), {}),
        "_ModuleType": types.SimpleNamespace(nn="nn", ts="ts", fx="fx", ep="ep"),
        "_parse_module_type": lambda _: "fx",
        "logger": types.SimpleNamespace(warning=print, info=print),
    }
    path = "torch_tensorrt/dynamo/_exporter.py"
    exporter: Any = types.ModuleType("torch_tensorrt.dynamo._exporter")
    own = _functions(wheel, path, {"export", "transform", "create_trt_exp_program"}, {"export"})
    vars(exporter).update(own, torch=torch)
    own["torch"] = torch
    exporter._declare_aliased_kv_mutations_on_ep = None
    return api["save"], exporter


def _functions(
    wheel: Path, path: str, names: set[str], whole: set[str] | None = None
) -> dict[str, Any]:
    """Functions of a module of a wheel; those that are not taken whole return their first argument.

    Their signatures are the wheel's, their annotations are not looked at.
    """
    with zipfile.ZipFile(wheel) as archive:
        tree = ast.parse(archive.read(path))
    kept = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in names]
    for each in kept:
        if each.name not in (whole or names):
            first = each.args.args[0].arg
            each.body = [ast.parse(f"def f():\n return {first}").body[0].body[0]]  # type: ignore[attr-defined]
    later = ast.parse("from __future__ import annotations").body
    namespace: dict[str, Any] = {}
    exec(compile(ast.Module([*later, *kept], []), path, "exec"), namespace)
    return namespace
