"""How long the harness takes: every figure that a person waits for, taken in one go.

    python -m tests.own_speed FOLDER                   # all of them: half an hour
    python -m tests.own_speed FOLDER candidate warm    # some

Each command runs in a clone of this checkout that has this one's downloads and builds, and is
timed by the clock from its start to its report. `bare` is the harness over a script that captures,
splits, transforms, exports, saves, loads and runs the cells of the same run, in as many processes,
and judges nothing. FOLDER gets `own-speed.json` and `own-speed.md`. The figures say something only
of a machine that does nothing else.
"""

import argparse
import dataclasses
import datetime
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.catalogue.releases import load_catalogue
from harness.cli.common import toolchain_for
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import choose_subjects
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.record_json import key_from_json, key_to_json, to_json
from harness.wire.routes import Lane

JOBS: Final = 2
EXPORTER: Final = "torch_tensorrt/dynamo/_exporter.py"
#: An edit of 2.14.0's exporter that wires a fallback's inputs in reverse.
RIGHT: Final = "replace_all_uses_with(submodule_inputs[idx])"
WRONG: Final = "replace_all_uses_with(submodule_inputs[-1 - idx])"
#: An edit of a case of both lanes.
CASE_FILE: Final = "corpus/families/shared_values.py"


@dataclass(frozen=True)
class Figure:
    """What was measured; ``value`` in seconds by the clock, unless ``what`` says otherwise."""

    step: str
    what: str
    value: float
    wanted: float
    note: str = ""


class Clone:
    """A clone of this checkout, with what it needs to run without a network."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        subprocess.run(["git", "clone", "-q", PROJECT_ROOT, self.root], check=True)
        subprocess.run(["cp", "-al", PROJECT_ROOT / ".cache", self.root / ".cache"], check=True)
        shutil.rmtree(self.root / ".cache" / "kept", ignore_errors=True)
        self._edits = 0
        wheel = next((self.root / ".cache" / "wheels").glob("torch_tensorrt-2.14.0-*"))
        with zipfile.ZipFile(wheel) as released:
            self._exporter = released.read(EXPORTER).decode()

    def took(self, *command: str, ends: Sequence[int] = (0,)) -> float:
        """The seconds of a command of the harness, which has to end with one of these codes."""
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "harness", *command],
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        took = time.monotonic() - began
        if done.returncode not in ends:
            sys.exit(f"{command} ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
        return took

    def candidate(self) -> str:
        """A file that was never judged, with a wire that is wrong."""
        self._edits += 1
        path = self.root.parent / "mine.py"
        assert RIGHT in self._exporter
        text = self._exporter.replace(RIGHT, WRONG)
        path.write_text(f"{text}\n# edit {self._edits}\n")
        return str(path)

    def edit_a_case(self) -> None:
        """Write another number into a case, which changes what it computes and nothing else."""
        self._edits += 1
        path = self.root / CASE_FILE
        text = path.read_text()
        edited, found = re.subn(r"a = x \+ [\d.]+", f"a = x + 1.{self._edits}", text, count=1)
        assert found
        path.write_text(edited)

    def last_run(self) -> tuple[RunFolder, dict[str, Any]]:
        folder = RunFolder.open("latest", self.root / "results")
        return folder, json.loads((folder.path / "summary.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    asked = parser.parse_args()
    unknown = sorted({*asked.steps} - {*STEPS})
    if unknown:
        parser.error(f"no step is named {', '.join(unknown)}; known: {', '.join(STEPS)}")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="own-speed-") as folder:
        clone = Clone(Path(folder))
        for name, step in STEPS.items():
            if not asked.steps or name in asked.steps:
                figures += step(clone)
                print(figures[-1], flush=True)
    write(asked.folder, figures)


def write(folder: Path, figures: Sequence[Figure]) -> None:
    """Write what was measured; of steps that were not asked now, what stands there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "own-speed.json"
    now = {each.step for each in figures}
    before = json.loads(place.read_text())["figures"] if place.exists() else []
    figures = [*figures, *(Figure(**each) for each in before if each["step"] not in now)]
    figures.sort(key=lambda each: list(STEPS).index(each.step))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    said = {
        "on": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "processors": os.cpu_count(),
        "figures": [dataclasses.asdict(each) for each in figures],
    }
    place.write_text(json.dumps(said, indent=2) + "\n")
    rows = [
        f"| {each.what} | {each.value:.3g} | {each.wanted:g} | {each.note} |" for each in figures
    ]
    table = ["| what | took | wanted | |", "|---|---|---|---|", *rows]
    (folder / "own-speed.md").write_text("\n".join(table) + "\n")


def cold(clone: Clone) -> list[Figure]:
    lanes = ("run", "--lane", "graph,package", "--rerun")
    whole = clone.took(*lanes)
    _, summary = clone.last_run()
    package = clone.took("run", "--lane", "package", "--rerun", "--releases", "2.13.0,2.14.0")
    folder, _ = clone.last_run()
    cells = sum(cell.executed for cell in folder.plan())
    note = f"{summary['cells']['planned']:,} cells"
    each = f"a cell of a whole package, of {cells:,} in {package:.0f} s"
    return [
        Figure("cold", "`nox -s regress`, both lanes, nothing kept", whole, 480, note),
        Figure("cold", each, package / cells, 0.13, "seconds by the clock, on two cores"),
    ]


def warm(clone: Clone) -> list[Figure]:
    clone.took("run", "--lane", "graph,package")
    took = clone.took("run", "--lane", "graph,package")
    return [Figure("warm", "the same, warm and unchanged, with what is asked again", took, 20)]


def edited(clone: Clone) -> list[Figure]:
    clone.edit_a_case()
    graph = clone.took("run", "--lane", "graph", ends=(0, 1))
    clone.edit_a_case()
    both = clone.took("run", "--lane", "graph,package", ends=(0, 1))
    return [
        Figure("edited", "after one case was edited, the graph lane", graph, 15),
        Figure("edited", "after one case was edited, both lanes", both, 45),
    ]


def qualify(clone: Clone) -> list[Figure]:
    """`qualify` behind a run of its cells: what it does beside them."""
    both = ("--lane", "graph,package", "--builder", "segment,tensorrt-rtx")
    clone.took("run", "--releases", "2.13.0,2.14.0", *both)
    asked = ("qualify", "--baseline", "2.13.0", "--candidate", "2.14.0")
    own = clone.took(*asked, "--budget", "0", ends=(1,))
    measured = clone.took(*asked, ends=(1,))
    return [
        Figure("qualify", "`qualify`, beyond its cells and what it measures", own, 60),
        Figure("qualify", "the same with what it measures, for 60 s at most", measured, 120),
    ]


def graph(clone: Clone) -> list[Figure]:
    took = clone.took("run", "--lane", "graph", "--rerun")
    _, summary = clone.last_run()
    memory = summary["memory"]
    peak = (memory["workers_peak_bytes"] + memory["controller_peak_bytes"]) / 1e9
    return [
        Figure("graph", "the graph lane over all releases, nothing kept", took, 75),
        Figure("graph", "its memory, in GB", peak, 2),
    ]


def candidate(clone: Clone) -> list[Figure]:
    clone.took("run", "--exporter", clone.candidate(), "--lane", "graph,package", ends=(1,))
    figures = []
    for what, wanted, options in [
        ("`run --exporter FILE --quick`, both lanes", 15, ["--quick"]),
        ("`run --exporter FILE`, the whole graph lane", 30, ["--lane", "graph"]),
        ("the same in both lanes", 90, ["--lane", "graph,package"]),
    ]:
        took = clone.took("run", "--exporter", clone.candidate(), *options, ends=(1,))
        figures.append(Figure("candidate", what, took, wanted, "the base's verdicts were kept"))
    return figures


def turn(clone: Clone) -> list[Figure]:
    """What a contributor waits for between two edits."""
    took = clone.took("run", "--exporter", clone.candidate(), "--quick", ends=(1,))
    subject = next(
        spec.subject for spec in clone.last_run()[0].provenance().subjects if spec.kind.brought
    )
    command = ("explain", "inputs_read_in_reverse", "--subject", subject, "--run", "latest")
    explained = clone.took(*command, "--route", "legacy", ends=(0, 1))
    return [
        Figure("turn", "`explain` of a red cell", explained, 5),
        Figure("turn", "a turn: `--quick` to its page, then `explain`", took + explained, 40),
    ]


def commands(clone: Clone) -> list[Figure]:
    """Commands that ask no torch; once before, as what the corpus holds is asked once an edit."""
    figures = []
    for command in (("--help",), ("defects",), ("releases",), ("list",)):
        clone.took(*command)
        figures.append(Figure("commands", f"`{' '.join(command)}`", clone.took(*command), 1))
    return figures


def bare(clone: Clone) -> list[Figure]:
    figures = []
    for releases, wanted in (("2.13.0,2.14.0", 1.4), (">=2.3", 0.7)):
        lane = ("run", "--lane", "graph", "--rerun", "--releases", releases, "--jobs", str(JOBS))
        took = clone.took(*lane, ends=(0, 1))
        folder, _ = clone.last_run()
        cells = [key_to_json(cell.key) for cell in folder.plan() if cell.executed]
        script = bare_script(releases, JOBS, cells)
        note = f"{took:.1f} s over {script:.1f} s, {len(cells):,} cells"
        what = f"the graph lane of `{releases}` over a bare script"
        figures.append(Figure("bare", what, took / script, wanted, note))
    return figures


STEPS: Final[dict[str, Callable[[Clone], list[Figure]]]] = {
    "commands": commands,
    "graph": graph,
    "bare": bare,
    "cold": cold,
    "warm": warm,
    "candidate": candidate,
    "turn": turn,
    "edited": edited,
    "qualify": qualify,
}


def bare_script(releases: str, jobs: int, cells: Sequence[dict[str, str]]) -> float:
    """The same cells in processes of their own, a case with all its cells in one of them."""
    toolchain = toolchain_for()
    subjects = choose_subjects(
        toolchain, load_catalogue(), releases=releases, exporter=None, like=""
    )
    setup = {
        "lane": Lane.GRAPH.value,
        "library": str(toolchain.emulated_runtime()),
        "subjects": [to_json(each) for each in subjects],
        "corpus": [],
        "seed": 0,
        "share": False,
    }
    by_case: dict[tuple[str, str], list[dict[str, str]]] = {}
    for cell in cells:
        by_case.setdefault((cell["case"], cell["capture"]), []).append(cell)
    context = multiprocessing.get_context("spawn")
    began = time.monotonic()
    with context.Pool(jobs, _open_lane, [setup]) as pool:
        pool.map(_bare, by_case.values(), chunksize=1)
        pool.close()
        pool.join()
    return time.monotonic() - began


_lane: Any = None


def _open_lane(setup: dict[str, Any]) -> None:
    from harness.rig.lanes import GraphLane

    global _lane
    _lane = GraphLane(setup)


def _bare(cells: Sequence[dict[str, str]]) -> None:
    """Capture and split a case, and send each of its cells to disk and back as far as it goes."""
    import torch

    from corpus.case import find_case
    from harness.rig.capture.capture import capture
    from harness.rig.clock import StageClock
    from harness.rig.engines.module import compile_engines
    from harness.rig.inliners.protocol import Inlining
    from harness.wire.routes import Route

    case = find_case(cells[0]["case"])
    try:
        captured = capture(case, cells[0]["capture"], _lane.seed)
        split = captured.split()
        compile_engines(split)
        split.recompile()
    except Exception:  # noqa: BLE001 - it judges nothing: what raises is over
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "program.pt2"
        for key in map(key_from_json, cells):
            module = captured.eager if key.route is Route.PLAIN else split
            try:
                program = _lane.inliners[key.subject].produce(
                    module,
                    key.route,
                    captured.given_to_save,
                    captured.shapes_given(key.route),
                    StageClock(),
                    Inlining(),
                )
                torch.export.save(program, archive)
                loaded = torch.export.load(archive).module()
                with torch.no_grad():
                    for call in captured.calls:
                        loaded(*call.args, **dict(call.kwargs))
            except Exception:  # noqa: BLE001 - it judges nothing: what raises is over
                continue


if __name__ == "__main__":
    main()
