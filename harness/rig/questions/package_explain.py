"""The story of a cell of the package lane; a request as JSON is on stdin.

Told as `harness.rig.questions.explain` tells one of the graph lane.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from corpus import elsewhere
from corpus.case import find_case
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.cell.refusal import refusal
from harness.rig.channel import private_channel
from harness.rig.clock import StageClock
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import prepare_with
from harness.rig.package.loading import FreshLoader
from harness.rig.package.opening import open_package
from harness.rig.questions.explain import told_case, told_record
from harness.wire.records import CellKey
from harness.wire.vocabulary import Lane, Route, Stage


def story(request: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a cell's story.

    Args:
        request: ``site``, ``release``, ``builder``, ``case``, ``capture``, ``routes``, ``seed``,
            ``corpus`` (places of cases from elsewhere, if there are any).

    Raises:
        NotPrepared: the case cannot be captured.
    """
    release, builder = request["release"], request["builder"]
    package = open_package(request)
    # Before any case is imported or compiled: programs are loaded where nothing was.
    with contextlib.closing(FreshLoader(package)) as loader:
        elsewhere.load(request.get("corpus", ()))
        case = find_case(request["case"])
        mode, lane = request["capture"], Lane.PACKAGE
        keys = [
            CellKey(case.name, mode, release, Route(route), lane=lane, builder=builder)
            for route in request["routes"]
        ]
        try:
            prepared = prepare_with(package, case, mode, int(request["seed"]), StageClock())
        except NotPrepared as reason:
            if reason.stage is Stage.CAPTURE:
                raise
            # That the package does not compile it is a verdict on the package.
            for key in keys:
                yield from told_record(ended_before_routes(key, reason.cause, reason.stage))
            return
        yield from told_case(prepared)
        for key in keys:
            yield ""
            yield from told_record(run_package_cell(package, prepared, key, loader, StageClock()))


def main() -> int:
    request = json.loads(sys.stdin.read())
    told = private_channel()  # what the package prints when it is imported is no part of it
    try:
        for line in story(request):
            print(line, file=told)
    except NotPrepared as reason:
        case = find_case(request["case"])
        print(refusal(case, reason.stage, reason.cause), file=sys.stderr)
        return 2
    told.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
