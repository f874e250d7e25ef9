"""A case drawn as it is split, and as inliners flatten it, with the wires that one gets wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
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

SPLIT: Final = "split"


def drawn(
    library: Path,
    case: str,
    capture: str,
    subjects: Sequence[SubjectSpec],
    places: Sequence[str] = (),
    python: str = sys.executable,
) -> dict[str, str]:
    """SVG files by their names: of the split module, and of the graph that each subject makes."""
    judge = next(spec for spec in builtin_subjects() if spec.subject == RIGHT)
    lane = graph_lane(library, {spec.subject: spec for spec in (judge, *subjects)}.values(), places)
    by = [RIGHT, *(spec.subject for spec in subjects)]
    asked = {"case": case, "capture": capture, "by": by}
    split, right, *made = ask_rig(python, "flattened", **lane, **asked)
    graphs = {SPLIT: split, **dict(zip(by[1:], made, strict=True))}
    return {
        f"{case}-{name}.svg": upright(
            picture_of(graph, split if name == SPLIT else right, split),
            "as it is split" if name == SPLIT else f"flattened by {name}",
        )
        for name, graph in graphs.items()
    }


def write(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the files, and tell where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        replace_file(folder / name, text.encode(), durable=False)
    return [folder / name for name in files]


def picture_of(
    graph: Mapping[str, Any], right: Mapping[str, Any], split: Mapping[str, Any]
) -> Picture:
    """The graph as boxes and wires; wrong is what a node reads otherwise than its namesake does.

    A node that should be read and is not there any more, since nobody read it, is drawn as gone.
    Where an inliner raised, calls of fallbacks are left: what reads one is not wrong yet.
    """
    reads = {node["name"]: node["reads"] for node in right["nodes"]}
    calls = {node["name"] for node in split["nodes"] if node["kind"] == "fallback"}
    wrong = [
        (source, node["name"], meant)
        for node in graph["nodes"]
        for source, meant in zip(
            node["reads"], reads.get(node["name"], node["reads"]), strict=False
        )
        if source != meant and source not in calls
    ]
    nodes = list(_with_gone(graph["nodes"], right["nodes"], wrong))
    there = {node["name"] for node in nodes}
    return Picture(
        boxes=tuple(Box(node["name"], node["kind"], node["says"]) for node in nodes),
        wires=tuple(
            Wire(source, None, node["name"])
            for node in nodes
            for source in node["reads"]
            if source in there
        ),
        wrong=tuple(
            WrongWire(
                target=name,
                source=source if source in there else "",
                output=None,
                right=meant,
                right_output=None,
                says=f"{name} reads {source}, and should read {meant}",
            )
            for source, name, meant in wrong
        ),
        lost=(),
        raised=graph["raised"],
        unreadable="",
    )


def _with_gone(
    nodes: Sequence[Mapping[str, Any]],
    right: Sequence[Mapping[str, Any]],
    wrong: Sequence[tuple[str, str, str]],
) -> Iterator[Mapping[str, Any]]:
    """The nodes, and before the first that should read it, each that is gone."""
    there = {node["name"] for node in nodes}
    for node in nodes:
        missed = {meant for _, name, meant in wrong if name == node["name"]} - there
        for each in right:
            if each["name"] in missed:
                yield {**each, "kind": "gone", "says": f"{each['says']}, gone: unread"}
        there |= missed
        yield node
