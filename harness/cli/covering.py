"""`coverage`: how much of the structure space the corpus covers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.base.errors import SurroundingsError
from harness.base.exit_codes import ExitCode
from harness.base.files import replace_file
from harness.cli.common import err, tell, toolchain_for
from harness.corpus_checks.coverage import cover, read_extraction, to_json, to_lines
from harness.toolchain.cache import CHOOSE, guarded
from harness.toolchain.rig_client import ask_rig


def coverage_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    missing: Annotated[bool, typer.Option("--missing", help="Name every missing pair.")] = False,
) -> int:
    """Axes by cases, single-value and pairwise coverage, and what is missing."""
    space, cases = read_extraction(_extraction(toolchain_for().cache))
    coverage = cover(space, cases)
    if as_json:
        print(json.dumps(to_json(coverage)))
    else:
        for line in to_lines(coverage, all_missing=missing):
            tell(line)
    return int(ExitCode.GREEN if coverage.enough else ExitCode.RED)


def _extraction(cache: Path) -> dict[str, Any]:
    """Each case's values, read again only when what it depends on has changed."""
    (digest,) = ask_rig(sys.executable, "coverage_digest")
    path = cache / "coverage" / f"{digest}.json"
    with guarded(path):
        text = path.read_text() if path.is_file() else ""
    if not text:
        err.print("reading every case's split module; this takes half a minute", markup=False)
        text = json.dumps(*ask_rig(sys.executable, "coverage"))
        try:
            with guarded(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode(), CHOOSE)
        except SurroundingsError as error:  # the answer is there, and took its time
            err.print(f"not kept for the next time: {error}", markup=False, soft_wrap=True)
    found: dict[str, Any] = json.loads(text)
    return found
