"""A package cell's story: `python -m harness.rig.package.explain`, a request as JSON on stdin.

Told as `harness.rig.explain` tells one of the graph lane.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from corpus.product import find_product_case
from harness.rig.channel import private_channel
from harness.rig.clock import StageClock
from harness.rig.explain import told_case, told_record
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader
from harness.rig.package.opening import open_package
from harness.rig.records import CellKey
from harness.rig.vocabulary import Lane


def story(request: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a cell's story.

    Args:
        request: ``site``, ``release``, ``builder``, ``case``, ``capture``, ``routes``, ``seed``.

    Raises:
        NotPrepared: the case cannot be captured, or the package does not compile it.
    """
    release, builder = request["release"], request["builder"]
    package = open_package(request)
    loader = FreshLoader(package)
    case = find_product_case(request["case"])
    prepared = prepare_with(package, case, request["capture"], int(request["seed"]), StageClock())
    yield from told_case(prepared)
    for route in request["routes"]:
        lane = Lane.PACKAGE.value
        key = CellKey(case.name, request["capture"], release, route, lane=lane, builder=builder)
        yield ""
        yield from told_record(run_package_cell(package, prepared, key, loader, StageClock()))
    loader.close()


def main() -> int:
    request = json.loads(sys.stdin.read())
    told = private_channel()  # what the package prints when it is imported is no part of it
    for line in story(request):
        print(line, file=told)
    told.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
