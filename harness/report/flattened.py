"""A case drawn as it is split, and as inliners flatten it, with the wires that one gets wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.base.files import replace_file
from harness.report.draw.drawing import Box, Picture, Wire, WrongWire
from harness.report.draw.upright import upright
from harness.subjects.specs import builtin_subjects
from harness.toolchain.rig_client import ask_rig, graph_lane
from harness.wire.records import SubjectSpec

RIGHT: Final = "positional"
"""The built-in inliner that the others' wires are held against."""


def drawn(
    library: Path,
    case: str,
    capture: str,
    subjects: Sequence[SubjectSpec],
    places: Sequence[str] = (),
) -> dict[str, str]:
    """SVG files by their names: of the split module, and of the graph that each subject makes."""
    judge = next(spec for spec in builtin_subjects() if spec.subject == RIGHT)
    lane = graph_lane(library, {spec.subject: spec for spec in (judge, *subjects)}.values(), places)
    by = [RIGHT, *(spec.subject for spec in subjects)]
    asked = {"case": case, "capture": capture, "by": by}
    split, right, *made = ask_rig(sys.executable, "flattened", **lane, **asked)
    graphs = {"split": split, **dict(zip(by[1:], made, strict=True))}
    return {
        f"{case}-{name}.svg": upright(picture_of(graph, right if name != "split" else split))
        for name, graph in graphs.items()
    }


def write(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the files, and tell where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        replace_file(folder / name, text)
    return [folder / name for name in files]


def picture_of(graph: Mapping[str, Any], right: Mapping[str, Any]) -> Picture:
    """The graph as boxes and wires; wrong is what a node reads otherwise than its namesake does."""
    reads = {node["name"]: node["reads"] for node in right["nodes"]}
    there = {node["name"] for node in graph["nodes"]}
    pairs = [
        (node["name"], source, meant)
        for node in graph["nodes"]
        for source, meant in zip(
            node["reads"], reads.get(node["name"], node["reads"]), strict=False
        )
    ]
    return Picture(
        boxes=tuple(Box(node["name"], node["kind"], node["says"]) for node in graph["nodes"]),
        wires=tuple(Wire(source, None, name) for name, source, _ in pairs if source in there),
        wrong=tuple(
            WrongWire(
                target=name,
                source=source if source in there else "",
                output=None,
                right=meant,
                right_output=None,
                says=f"{name} reads {_named(source, there)}, and should read {meant}",
            )
            for name, source, meant in pairs
            if source != meant and meant in there
        ),
        lost=(),
        raised=graph["raised"],
        unreadable="",
    )


def _named(source: str, there: set[str]) -> str:
    return source if source in there else f"{source}, which is erased"
