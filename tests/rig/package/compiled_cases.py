"""Cases of the corpus by every route of a release's package: run as a program.

    python tests/rig/package/compiled_cases.py SITE RELEASE CASE...

The last line of stdout is one JSON object: {CASE: {ROUTE: {"state": ..., "reason": ...,
"failed": {ORACLE: [LABEL, MESSAGE, HARM]}}}}.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from corpus.case import find_case
from harness.catalogue.releases import load_catalogue
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.clock import StageClock
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader
from harness.rig.package.opening import open_package
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane, Route


def told(record: CellRecord) -> dict[str, Any]:
    failed = {each.oracle: [each.label, each.message, each.harm] for each in record.failures}
    return {"state": record.state, "reason": record.reason, "failed": failed}


def main(site: str, release: str, *names: str) -> dict[str, dict[str, Any]]:
    package = open_package({"site": site, "release": release, "builder": "segment"})
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


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
