"""Pictures of the worst causes: the rig is asked for their split graphs and wrong wires.

It takes as long as importing torch, or a package, and running a cell for each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from harness.base.errors import SurroundingsError, Unavailable, UsageError
from harness.catalogue.releases import Catalogue
from harness.report.draw.drawing import Box, Picture, Wire, WrongWire
from harness.report.model import ReportModel
from harness.report.sections.causes import CAUSES, LiveCause, badness
from harness.run.judged_run import JudgedRun
from harness.subjects.choosing import found_again
from harness.subjects.packages import whole_package
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import ask_rig, graph_lane, package_lane
from harness.wire.oracles import Symptom

MOST: Final = 12

NEVER_AGAIN: Final = (Symptom.TIMEOUT, Symptom.KILLED)
"""What is not run again for a picture or a script."""


def with_pictures(
    model: ReportModel, judged: JudgedRun, toolchain: Toolchain, catalogue: Catalogue
) -> ReportModel:
    """The model with pictures of the worst causes, and the reasons where one could not be drawn.

    The graph lane's are drawn in one process, those that only packages show in one a release.
    """
    pictures, refused = dict[str, Picture](), dict[str, None]()
    asks: list[Callable[[], dict[str, Picture]]] = [
        partial(_of_graph_lane, judged, toolchain, catalogue, worst(model))
    ]
    for release, causes in of_packages(model).items():
        asks.append(partial(_of_package, judged, toolchain, catalogue, release, causes))
    for ask in asks:
        try:
            pictures |= ask()
        except (UsageError, SurroundingsError, Unavailable) as reason:
            refused[str(reason)] = None
    return dataclasses.replace(model, pictures=pictures, no_pictures="; ".join(refused))


def _of_graph_lane(
    judged: JudgedRun, toolchain: Toolchain, catalogue: Catalogue, causes: Sequence[LiveCause]
) -> dict[str, Picture]:
    if not causes:
        return {}
    before, kept = judged.provenance, judged.candidates
    specs = {
        spec.subject: spec
        for spec in found_again(before, toolchain, catalogue, kept)
        if not spec.unavailable
    }
    shown = [cause for cause in causes if cause.subject in specs]
    if not shown:
        raise Unavailable("no inliner of theirs is at hand")
    subjects = [specs[name] for name in dict.fromkeys(cause.subject for cause in shown)]
    library = toolchain.emulated_runtime()
    return _drawn(
        shown, toolchain, graph_lane(library, subjects, judged.case_places, before.seeds[0])
    )


def _of_package(
    judged: JudgedRun,
    toolchain: Toolchain,
    catalogue: Catalogue,
    name: str,
    causes: Sequence[LiveCause],
) -> dict[str, Picture]:
    before = judged.provenance
    found = found_again(before, toolchain, catalogue, judged.candidates)
    spec = next(spec for spec in found if spec.subject == name)
    _, site = whole_package(spec, toolchain, catalogue)
    return _drawn(causes, toolchain, package_lane(site, judged.case_places, before.seeds[0]))


def _drawn(
    causes: Sequence[LiveCause], toolchain: Toolchain, lane: Mapping[str, Any]
) -> dict[str, Picture]:
    wanted = [
        {
            "case": cause.cases[0],
            "capture": cause.capture,
            "subject": cause.subject,
            "route": cause.route,
        }
        for cause in causes
    ]
    answered = ask_rig(toolchain.python, "pictures", **lane, wanted=wanted)
    drawn = zip(causes, answered, strict=True)
    return {cause.defect.id: picture_from_json(data) for cause, data in drawn if data}


def worst(model: ReportModel) -> list[LiveCause]:
    """The causes of the graph lane to be drawn, those of the newest release first among equals."""
    causes = [cause for cause in _ended(model) if cause.cells]
    return sorted(causes, key=lambda cause: badness(cause.entries[0]))[:MOST]


def of_packages(model: ReportModel) -> dict[str, list[LiveCause]]:
    """The causes that only packages show, by the release that shows them."""
    found: dict[str, list[LiveCause]] = {}
    for cause in _ended(model):
        if not cause.cells:
            found.setdefault(cause.subject, []).append(cause)
    return found


def _ended(model: ReportModel) -> list[LiveCause]:
    causes = model[CAUSES]
    both = (*causes.live, *causes.gone)
    return [cause for cause in both if not cause.label.startswith(NEVER_AGAIN)]


def picture_from_json(data: Mapping[str, Any]) -> Picture:
    """A picture as `harness.rig.questions.picture` gives it."""
    return Picture(
        boxes=tuple(Box(**box) for box in data["boxes"]),
        wires=tuple(Wire(**wire) for wire in data["wires"]),
        wrong=tuple(WrongWire(**wire) for wire in data["wrong"]),
        lost=tuple(data["lost"]),
        raised=data["raised"],
        unreadable=data["unreadable"],
    )
