"""`reduce`: from a failing blueprint to a minimal one that fails alike."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import UsageError
from harness.base.files import replace_file
from harness.cli.common import (
    RESULTS,
    Capture,
    CorpusPlaces,
    Exporter,
    Like,
    Offline,
    Out,
    Wheelhouse,
    captures,
    tell,
    toolchain_for,
)
from harness.cli.inspecting import subject_for
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import absolute, ask_rig, graph_lane
from harness.wire.oracles import Oracle

FOUND = PROJECT_ROOT / "corpus" / "found"


def reduce_command(
    case: Annotated[str, typer.Argument(help="A drawn or found case's name.")],
    subject: Annotated[str, typer.Option(help="A release, name-matching, positional, torch.")] = "",
    oracle: Annotated[str, typer.Option(help="Whose failure; the worst one by default.")] = "",
    route: Annotated[str, typer.Option(help="One route; the first that fails by default.")] = "",
    name: Annotated[str, typer.Option(help="Of the case that is found.")] = "",
    capture: Capture = "nonstrict",
    corpus: CorpusPlaces = None,
    exporter: Exporter = None,
    like: Like = "",
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
    out_dir: Out = RESULTS,
    write: Annotated[
        Path | None, typer.Option(help="The JSON file; corpus/found/NAME.json by default.")
    ] = None,
) -> None:
    """Reduce a failing case to a minimal one with the same failure, and write its blueprint."""
    if oracle and oracle not in [*Oracle]:
        raise UsageError(f"--oracle {oracle!r}: {', '.join(Oracle)}")
    toolchain = toolchain_for(wheelhouse, offline)
    spec = subject_for(subject, exporter, like, toolchain, out_dir)
    if route and route not in spec.routes:
        raise UsageError(f"{spec.subject} has no route {route}; it has {', '.join(spec.routes)}")
    made = name or _name(case, spec.subject, oracle)
    (blueprint,) = ask_rig(
        sys.executable,
        "reduce",
        **graph_lane(toolchain.emulated_runtime(), [spec], absolute(corpus or ())),
        subject=spec.subject,
        case=case,
        capture=captures(capture)[0],
        routes=[route] if route else list(spec.routes),
        oracle=oracle,
        name=made,
    )
    path = write or FOUND / f"{made}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(blueprint, indent=1, sort_keys=True) + "\n").encode())
    tell(f"{made}: {len(blueprint['steps'])} steps: {path}")
    tell(blueprint["catches"])


def _name(case: str, subject: str, oracle: str) -> str:
    words = "_".join(("found", *(part for part in (oracle, subject) if part), case))
    return re.sub(r"\W", "_", words)
