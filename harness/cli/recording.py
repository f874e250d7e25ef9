"""`corpus record`: how a release's product splits models, written down for the graph lane."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.base.exit_codes import ExitCode
from harness.base.files import replace_file
from harness.catalogue.releases import load_catalogue
from harness.cli.common import Offline, Wheelhouse, err, tell, toolchain_for
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import ask_rig, package_lane

RECORDED = PROJECT_ROOT / "corpus" / "recorded"


def record_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Recordings; all of corpus/recorded/to_record.py by default."),
    ] = None,
    release: Annotated[str, typer.Option(help="Whose package; the newest by default.")] = "",
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
    out_dir: Annotated[Path, typer.Option("--out", help="Where the files go.")] = RECORDED,
) -> int:
    """Write down what `dynamo.compile` hands to its splitter, and the split that it makes."""
    catalogue = load_catalogue()
    site = toolchain_for(wheelhouse, offline).package_site(
        catalogue.get(release) if release else catalogue.newest
    )
    err.print(f"compiling with torch_tensorrt {site.release}", markup=False)
    answers = ask_rig(sys.executable, "recordings", **package_lane(site), names=names or [])
    for answer in answers:
        if "text" in answer:
            out_dir.mkdir(parents=True, exist_ok=True)
            replace_file(out_dir / f"{answer['name']}.json", answer["text"].encode())
        else:
            tell(f"{answer['name']}: not recorded: {answer['refused']}")
    written = sum("text" in answer for answer in answers)
    tell(f"{written} of {len(answers)} splits of {site.release} written to {out_dir}")
    return int(ExitCode.GREEN if written == len(answers) else ExitCode.RED)
