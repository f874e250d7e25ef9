"""One more oracle, route or builder takes at most four files: a copy of the tree gets one of each.

What is added is all that is touched. If another place had to know of it, the run of the copy would
end with an error, or its records would not have it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.toolchain.environment import PROJECT_ROOT

MOST = 4
CACHE = Path(os.environ.get("INLINER_REGRESS_CACHE", PROJECT_ROOT / ".cache"))
CASE = "residual_over_a_fallback"
#: What stands in a file, and what stands there once the addition is made; an empty text: all of it.
Edits = Mapping[str, Mapping[str, str]]

ORACLE: Edits = {
    "harness/wire/oracles.py": {
        '    DETERMINISM = "determinism"\n': (
            '    DETERMINISM = "determinism"\n    BREVITY = "brevity"\n'
        ),
        '    NONDETERMINISTIC = "nondeterministic"\n': (
            '    NONDETERMINISTIC = "nondeterministic"\n    WORDY = "wordy"\n'
        ),
        "ORACLES: Mapping[Oracle, OracleRow] = {\n": (
            "ORACLES: Mapping[Oracle, OracleRow] = {\n"
            "    Oracle.BREVITY: OracleRow(symptom=Symptom.WORDY, script_place=9),\n"
        ),
    },
    "harness/rig/oracles/brevity.py": {
        "": """
from harness.rig.oracles.finding import Finding


def check(program, stage):
    yield Finding(stage, "the program has nodes", str(len(program.graph.nodes)))
"""
    },
    "harness/rig/cell/judging.py": {
        "from harness.rig.oracles.copied_back": (
            "from harness.rig.oracles import brevity\nfrom harness.rig.oracles.copied_back"
        ),
        "        Oracle.METADATA: asked(metadata_of),\n": (
            "        Oracle.METADATA: asked(metadata_of),\n"
            "        Oracle.BREVITY: asked(lambda program: brevity.check(program, stage)),\n"
        ),
    },
}
ROUTE: Edits = {
    "harness/wire/routes.py": {
        '    RETRACE = "retrace"\n': (
            '    RETRACE = "retrace"\n    RETRACE_LEGACY = "retrace-legacy"\n'
        ),
        "ROUTES: Mapping[Route, RouteRow] = {\n": (
            "ROUTES: Mapping[Route, RouteRow] = {\n"
            "    Route.RETRACE_LEGACY: RouteRow(\n"
            '        call="save(use_legacy_exporter=True)", reaches=Route.LEGACY, newer=True,\n'
            '        save={"retrace": True, "use_legacy_exporter": True},\n'
            "    ),\n"
        ),
    }
}
BUILDER: Edits = {
    "harness/wire/builders.py": {
        "class BuilderKind(enum.StrEnum):\n": (
            'class BuilderKind(enum.StrEnum):\n    SKETCH = "sketch"\n'
        ),
        "BUILDERS: Final[Mapping[BuilderKind, BuilderRow]] = {\n": (
            "BUILDERS: Final[Mapping[BuilderKind, BuilderRow]] = {\n"
            '    BuilderKind.SKETCH: BuilderRow("a sketch", real=False),\n'
        ),
    }
}
ADDITIONS = {"oracle": ORACLE, "route": ROUTE, "builder": BUILDER}


def add(edits: Edits, root: Path) -> None:
    for name, changes in edits.items():
        path = root / name
        text = path.read_text() if path.exists() else ""
        for before, after in changes.items():
            assert text.count(before) == 1 or not before, f"{name} has not one {before!r}"
            text = text.replace(before, after) if before else after
        path.write_text(text)


@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_takes_at_most_four_files(name):
    assert len(ADDITIONS[name]) <= MOST


def test_a_run_asks_an_added_oracle_by_an_added_route_with_an_added_builder(tmp_path):
    root = tmp_path / "tree"
    for folder in ("harness", "corpus"):
        shutil.copytree(PROJECT_ROOT / folder, root / folder)
    for edits in ADDITIONS.values():
        add(edits, root)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "harness", "run", "-k", CASE, "--releases", "2.14.0"),
            *("--lane", "graph,package", "--builder", "sketch", "--full"),
            *("--routes", "retrace-legacy,export", "--jobs", "1", "--out", str(tmp_path / "out")),
        ],
        cwd=root,
        env={**os.environ, "INLINER_REGRESS_CACHE": str(CACHE.resolve())},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr  # nobody expects what is found
    run = (tmp_path / "out" / "latest").resolve()
    lines = (run / "journal.jsonl").read_text().splitlines()
    records = [json.loads(line.split(" ", 2)[2]) for line in lines]
    said = {
        (record["key"]["route"], record["key"]["builder"]): {
            verdict["oracle"]: verdict["symptom"] for verdict in record["verdicts"]
        }
        for record in records
        if record["key"]["case"] == CASE and record["key"]["subject"] == "2.14.0"
    }
    assert said["export", "segment"]["brevity"] == "wordy"
    assert said["retrace-legacy", "sketch"]["brevity"] == "wordy"
    assert said["retrace-legacy", "sketch"]["completion"] is None
    for page in ("report.html", "report.md"):
        text = (run / page).read_text()
        assert "wordy" in text
        assert "save(use_legacy_exporter=True)" in text
