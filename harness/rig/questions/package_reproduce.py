"""Scripts of a user's calls to one release, each tried, as `harness.rig.reproduce.answer` has them
for inliners.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from corpus import elsewhere
from corpus.case import find_case
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.capture.functional_export import CannotAsk
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared
from harness.rig.channel import private_channel
from harness.rig.clock import StageClock
from harness.rig.package.cell import run_package_cell
from harness.rig.package.compiling import named_by_a_user, op_as_text, prepare_with
from harness.rig.package.loading import FreshLoader
from harness.rig.package.opening import open_package
from harness.rig.package.saving import ARGUMENTS, tells_shapes
from harness.rig.reproduce.answer import none, shown_as, shown_by
from harness.rig.reproduce.code import Unwritable
from harness.rig.reproduce.script import package_script
from harness.rig.reproduce.trial import shows_here
from harness.wire.records import CellKey, CellRecord, Verdict
from harness.wire.vocabulary import Lane, Route, Stage


def scripts(request: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """As `reproduce.answer.scripts`, with ``site``, ``release`` and ``builder`` in the request."""
    package = open_package(request)
    elsewhere.load(request.get("corpus", ()))
    loader = FreshLoader(package)
    for wanted in request["wanted"]:
        yield _script(package, loader, request, wanted)
    loader.close()


def _script(
    package: types.ModuleType,
    loader: FreshLoader,
    request: Mapping[str, Any],
    wanted: Mapping[str, Any],
) -> dict[str, str]:
    case, release, seed = wanted["case"], request["release"], int(request["seed"])
    lane, builder = Lane.PACKAGE, request["builder"]
    found, mode = find_case(case), wanted["capture"]
    broken: NotPrepared | None = None
    try:
        prepared = prepare_with(package, found, mode, seed, StageClock())
        captured = prepared.captured
    except NotPrepared as reason:
        if reason.stage is Stage.CAPTURE:
            return none(f"the case ends before any package: {reason}")
        if isinstance(reason.cause, CannotAsk):
            return none(str(reason.cause))
        captured, broken = capture(found, mode, seed), reason

    def run(route: Route) -> CellRecord:
        key = CellKey(case, mode, release, route, lane=lane, builder=builder)
        if broken is not None:
            return ended_before_routes(key, broken.cause, broken.stage)
        return run_package_cell(package, prepared, key, loader, StageClock())

    def write(route: Route, verdict: Verdict) -> str:
        return _written(captured, release, route, verdict, wanted)

    return shown_by(wanted, run, write, shows_here)


def _written(
    captured: CapturedProgram,
    release: str,
    route: Route,
    verdict: Verdict,
    wanted: Mapping[str, Any],
) -> str:
    case = captured.case
    if captured.program.after_compile is not None:
        raise Unwritable("its user changes the compiled module before saving it")
    saving = None
    if route is not Route.COMPILE:
        saving = {**ARGUMENTS[route], **dict(case.save_keywords)}
        if captured.program.dynamic_shapes is not None and tells_shapes(route):
            saving["dynamic_shapes"] = True
    return package_script(
        shown_as(wanted, case, release, route),
        verdict,
        captured,
        {
            "torch_executed_ops": {op_as_text(name) for name in named_by_a_user(case)},
            "min_block_size": case.min_block_size,
            **dict(case.settings),
        },
        saving,
    )


def main() -> int:
    request = json.loads(sys.stdin.read())
    answer = private_channel()  # what the package prints when it is imported is no part of it
    answer.write(json.dumps(list(scripts(request))))
    answer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
