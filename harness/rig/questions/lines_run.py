"""Which lines of a release's package each cell runs, so that a change of a line finds its cells."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus.case import find_case
from harness.rig.cell.disk import RoundTrip
from harness.rig.cell.prepare import NotPrepared, PreparedCase
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inlining
from harness.rig.lanes import PackageLane, lane_of
from harness.rig.oracles.observing import observe
from harness.rig.package.saving import save_like_a_user
from harness.rig.watching import line_watch
from harness.wire.routes import Route

#: By file of the package, such as ``dynamo/_exporter.py``, the numbers of lines.
Lines = defaultdict[str, set[int]]


def lines_run(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of each ``case`` and ``route`` the ``lines`` that it runs: by file, their numbers, in order.

    The route ``compile`` has what compiling runs, and another one what saving, loading and running
    its program do, all in this process. What raises has run its lines up to there.

    Args:
        request: the setup of a package lane, and ``cells``: by case, its routes.
    """
    with lane_of(request) as lane:
        assert isinstance(lane, PackageLane)
        inside = Path(lane.package.__file__ or "").parent
        for name, routes in request["cells"].items():
            with _watched(inside) as lines:
                prepared = _prepared(lane, name)
            yield _told(name, Route.COMPILE, lines)
            for route in map(Route, routes if prepared is not None else ()):
                if route is Route.COMPILE:
                    continue
                assert prepared is not None
                with _watched(inside) as lines:
                    _there_and_back(lane, prepared, route)
                yield _told(name, route, lines)


def _prepared(lane: PackageLane, case: str) -> PreparedCase | None:
    """The case, compiled; None where the package refuses it."""
    try:
        return lane.prepare(find_case(case), "nonstrict", StageClock())
    except NotPrepared:
        return None


def _there_and_back(lane: PackageLane, prepared: PreparedCase, route: Route) -> None:
    """Save, load and run a program by a route, as far as the package goes."""
    if not route.by_compile:
        key = lane.key(prepared.case.name, "nonstrict", "", route)
        lane.run_cell(prepared, key, StageClock())
        return
    with tempfile.TemporaryDirectory(prefix="lines-") as folder:
        archive = Path(folder) / "program.pt2"
        made = Inlining(), RoundTrip()
        try:
            save_like_a_user(lane.package, prepared, route, archive, StageClock(), *made)
            program = lane.package.load(str(archive))
            observe(program.module(), prepared.captured.calls)
        except Exception:  # noqa: BLE001 - whether that is right is asked elsewhere
            return


def _told(case: str, route: Route, lines: Lines) -> dict[str, Any]:
    numbers = {file: sorted(lines[file]) for file in sorted(lines)}
    return {"case": case, "route": route, "lines": numbers}


@contextmanager
def _watched(inside: Path) -> Iterator[Lines]:
    """Collects the lines that are run in the files of a folder, by any thread."""
    lines: Lines = defaultdict(set)
    start = f"{inside}/"
    watch = line_watch(
        lambda path: path.startswith(start),
        lambda path, line: lines[path.removeprefix(start)].add(line),
    )
    before = sys.gettrace()
    threading.settrace(watch)
    sys.settrace(watch)
    try:
        yield lines
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]
