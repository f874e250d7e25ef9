"""How many lines of Python the product's calls run: what they cost, the same on every machine.

Time on a shared machine tells a change of a few per cent at best. The lines that a call runs are
the same each time, and show one line more. What C++ does inside of a line is not seen.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from corpus import elsewhere
from corpus.case import find_case
from harness.rig.capture.capture import capture
from harness.rig.package.compiling import compile_like_a_user
from harness.rig.package.opening import open_package
from harness.rig.package.saving import user_arguments
from harness.rig.questions import CannotAnswer
from harness.wire.routes import Route


def work(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each ``call`` of a user, by its name on a page, with the ``lines`` that it runs.

    Each is called before it is counted, since a first call fills caches.

    Args:
        request: ``site``, ``release``, ``builder``, ``corpus``, and ``case``, the name of one that
            every call saves.

    Raises:
        CannotAnswer: a call of that case raises.
    """
    package = open_package(request)
    elsewhere.load(request["corpus"])
    captured = capture(find_case(request["case"]), "nonstrict")
    with tempfile.TemporaryDirectory(prefix="work-") as folder:
        archive = str(Path(folder) / "program.pt2")
        name = Route.COMPILE.row.call
        try:
            compiled = compile_like_a_user(package, captured)
            calls: dict[str, Callable[[], object]] = {
                name: partial(compile_like_a_user, package, captured)
            }
            for route in (Route.NO_RETRACE, Route.RETRACE):
                arguments = user_arguments(captured, route)
                calls[route.row.call] = partial(package.save, compiled, archive, **arguments)
            calls["load()"] = partial(package.load, archive)
            for name, call in calls.items():
                call()
                yield {"call": name, "lines": lines_of(call)}
        except Exception as error:
            raise CannotAnswer(
                f"{request['case']}: {name} raises {type(error).__name__}, so that its lines "
                "cannot be counted; name a case that every call saves"
            ) from error


def lines_of(call: Callable[[], object]) -> int:
    """The lines of Python that a call runs in this thread, in all files."""
    lines = 0

    def in_frame(_: FrameType, event: str, __: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return in_frame

    before = sys.gettrace()
    gc.disable()  # finalizers run where they fall due, and are no work of the call
    sys.settrace(lambda *_: in_frame)
    try:
        call()
    finally:
        sys.settrace(before)
        gc.enable()
    return lines
