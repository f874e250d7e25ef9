"""Pictures of the worst causes: the rig is asked for their split graphs and wrong wires.

One process for all of them. It takes as long as importing torch and running a cell for each.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

from harness.choosing import found_again
from harness.corpus_client import ask_rig
from harness.errors import SurroundingsError, Unavailable, UsageError
from harness.releases import Catalogue
from harness.report.causes import severity
from harness.report.model import ReportModel
from harness.report.views import Box, LiveCause, Picture, Wire, WrongWire
from harness.rig.records import Symptom, to_json
from harness.run import JudgedRun
from harness.toolchain import Toolchain

MOST: Final = 12

_NEVER: Final = (Symptom.TIMEOUT, Symptom.KILLED)
"""What is not run again for a picture."""


def with_pictures(
    model: ReportModel, judged: JudgedRun, toolchain: Toolchain, catalogue: Catalogue
) -> ReportModel:
    """The model with pictures of the worst causes of the graph lane, or with why it has none."""
    wanted = worst(model)
    try:
        specs = {
            spec.subject: spec
            for spec in found_again(judged.provenance, toolchain, catalogue)
            if not spec.unavailable
        }
        shown = [cause for cause in wanted if cause.subject in specs]
        if not shown:
            return dataclasses.replace(model, no_pictures="no inliner of theirs is at hand")
        request = {
            "library": str(toolchain.emulated_runtime()),
            "corpus": judged.provenance.corpus,
            "seed": judged.provenance.seeds[0],
            "wanted": [
                {
                    "case": cause.cases[0],
                    "capture": cause.capture,
                    "route": cause.route,
                    "subject": to_json(specs[cause.subject]),
                }
                for cause in shown
            ],
        }
        answered = json.loads(ask_rig(toolchain.python, "picture", stdin=json.dumps(request)))
    except (UsageError, SurroundingsError, Unavailable) as reason:
        return dataclasses.replace(model, no_pictures=str(reason))
    pictures = {
        cause.id: picture_from_json(data) for cause, data in zip(shown, answered, strict=True)
    }
    return dataclasses.replace(model, pictures=pictures, no_pictures="")


def worst(model: ReportModel) -> list[LiveCause]:
    """The causes to be drawn, those of the newest release first among equals."""
    causes = [
        cause
        for cause in (*model.live, *model.gone)
        if cause.cells and not cause.label.startswith(_NEVER)
    ]
    return sorted(causes, key=lambda cause: severity(cause.oracle))[:MOST]


def picture_from_json(data: Mapping[str, Any]) -> Picture:
    """A picture as `harness.rig.picture` prints it."""
    return Picture(
        boxes=tuple(Box(**box) for box in data["boxes"]),
        wires=tuple(Wire(**wire) for wire in data["wires"]),
        wrong=tuple(WrongWire(**wire) for wire in data["wrong"]),
        lost=tuple(data["lost"]),
        raised=data["raised"],
        unreadable=data["unreadable"],
    )
