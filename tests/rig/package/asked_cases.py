"""Cases that ask something of a package, of no corpus and of the corpus, by a release's routes."""

import dataclasses
from types import ModuleType
from typing import Any

import torch

from corpus.case import Case, Family, Origin, Program, find_case
from corpus.inputs import floats
from harness.catalogue.releases import load_catalogue
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.clock import StageClock
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route

OP = "inliner_tests.halved.default"
NORM = "aten.layer_norm.default"
OPS = "tests.rig.package.custom_ops"


class Halves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.inliner_tests.halved(x + 1) * 3


class Normalises(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x * 2) + 1


class Bends(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2


def made(name: str, model: type[torch.nn.Module], *fallback: str, **more: Any) -> Case:
    def build() -> Program:
        torch.manual_seed(0)
        return Program(floats((4, 8)), model=model())

    told = "what a release partitions is not what was exported"
    tolerance = {"eager_tolerance": 1e-4}
    return Case(name, Family.FOUND, Origin.PRODUCT, told, build, fallback, **tolerance, **more)


CASES = (
    made("with_its_import", Halves, OP, imports=(OPS,)),
    made("without_its_import", Halves, OP),
    made("renamed", Normalises, "aten.layer_norm.default"),
    made(
        "renamed_and_named", Normalises, "aten.layer_norm.default", "aten.native_layer_norm.default"
    ),
    made("packet", Bends, "aten.relu"),
)


def asked_cases(package: ModuleType, release: str) -> dict[str, Any]:
    """Of each case the state, the reason, the failed verdicts and the number of steps."""
    loader = FreshLoader(package)  # forked before the op is there
    said = {}
    for case in CASES:
        key = CellKey(case.name, "nonstrict", release, Route.NO_RETRACE)
        try:
            prepared = prepare_with(package, case, "nonstrict", 0, StageClock())
            record = run_package_cell(package, prepared, key, loader, StageClock())
        except NotPrepared as reason:
            record = ended_before_routes(key, reason.cause, reason.stage)
        failed = {each.oracle: [each.label, each.message] for each in record.failures}
        said[case.name] = dataclasses.asdict(record) | {"failed": failed}
    loader.close()
    return {
        name: {key: each[key] for key in ("state", "reason", "failed", "steps")}
        for name, each in said.items()
    }


def told(record: CellRecord) -> dict[str, Any]:
    failed = {each.oracle: [each.label, each.message, each.harm] for each in record.failures}
    return {"state": record.state, "reason": record.reason, "failed": failed}


def compiled_cases(
    package: ModuleType, release: str, *names: str
) -> dict[str, dict[str, dict[str, Any]]]:
    """By case and route the state, the reason, and label, message and harm of each failure."""
    loader = FreshLoader(package)
    routes = [
        route
        for route in load_catalogue().get(release).package_routes
        if not Route(route).row.dynamic
    ]
    said: dict[str, dict[str, Any]] = {}
    for name in names:
        keys = {
            route: CellKey(name, "nonstrict", release, Route(route), Lane.PACKAGE)
            for route in routes
        }
        try:
            prepared = prepare_with(package, find_case(name), "nonstrict", 0, StageClock())
        except NotPrepared as error:
            said[name] = {
                route: told(ended_before_routes(key, error.cause, error.stage))
                for route, key in keys.items()
            }
            continue
        said[name] = {
            route: told(run_package_cell(package, prepared, key, loader, StageClock()))
            for route, key in keys.items()
        }
    loader.close()
    return said
