"""Cases of the corpus by every route of a release's package."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from corpus.case import find_case
from harness.catalogue.releases import load_catalogue
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.clock import StageClock
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route


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
