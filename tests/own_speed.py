"""What the harness costs over a bare script that does the same work and judges nothing.

    python -m tests.own_speed                              # 2.13.0 and 2.14.0, the graph lane
    python -m tests.own_speed --releases ">=2.3" --jobs 2

First a run of the graph lane that takes no kept verdict; then the bare script, which captures,
splits, transforms, exports, saves, loads and runs the cells of that run, in as many processes. Both
are told in seconds of the clock, with their ratio. It says something only on a machine that does
nothing else.
"""

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.catalogue.releases import load_catalogue
from harness.cli.common import toolchain_for
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import choose_subjects
from harness.wire.record_json import key_from_json, key_to_json, to_json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", default="2.13.0,2.14.0")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="own-speed-") as folder:
        harness, cells = whole_run(asked.releases, asked.jobs, Path(folder))
        bare = bare_script(asked.releases, asked.jobs, cells)
    print(
        f"{len(cells):,} cells in {asked.jobs} processes: the harness {harness:.1f} s, a bare",
        end=" ",
    )
    print(f"script {bare:.1f} s; the harness takes {harness / bare:.2f} times as long")


def whole_run(releases: str, jobs: int, out: Path) -> tuple[float, list[dict[str, str]]]:
    """Run the graph lane; the seconds that it takes, and its cells as JSON."""
    command = [sys.executable, "-m", "harness", "run", "--lane", "graph", "--rerun"]
    command += ["--releases", releases, "--jobs", str(jobs), "--out", str(out)]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    took = time.monotonic() - began
    if done.returncode not in (0, 1):  # an expected table may be red of a run that is being written
        sys.exit(done.returncode)
    plan = RunFolder.open(next(out.glob("2*"))).plan()
    return took, [key_to_json(cell.key) for cell in plan if cell.executed]


def bare_script(releases: str, jobs: int, cells: Sequence[dict[str, str]]) -> float:
    """The same cells in processes of their own, a case with all its cells in one of them."""
    toolchain = toolchain_for()
    subjects = choose_subjects(
        toolchain, load_catalogue(), releases=releases, exporter=None, like=""
    )
    setup = {
        "lane": "graph",
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
                    captured.program.dynamic_shapes,
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
