"""A worker process of the package lane: one release's whole package, for as long as it lives.

    python -m harness.rig.workers.package_lane        started by harness.workers, never by hand

It speaks as `harness.rig.channel` says. Its setup says which release, where its package lies, and
how its engines run: {"site": FOLDER or null, "release": VERSION, "builder": NAME of the site's,
"engines": FOLDER, "corpus": [PLACE...], "executor": NAME, "device": NAME, "seed": N}. Without a
site it is the package that is installed.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

from harness.rig.channel import Teller, serve
from harness.wire.record_json import key_from_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import Stage


class _Worker:
    """Holds what outlives a job: the package, and the process that loads archives."""

    def __init__(self, setup: Mapping[str, Any], tell: Teller) -> None:
        # Here and not at the top: a process that only wants the protocol's names needs no torch.
        from corpus import elsewhere
        from corpus.case import corpus_digest
        from harness.rig.package.executor import executor_of
        from harness.rig.package.loading import FreshLoader, Loader
        from harness.rig.package.opening import open_package
        from harness.rig.package.spawning import SpawningLoader

        elsewhere.load(setup["corpus"])
        self._tell = tell
        self._seed = int(setup["seed"])
        self.corpus_digest = corpus_digest()
        self.load_errors: dict[str, str] = {}
        self._unusable: Exception | None = None
        self._loader: Loader | None = None
        self._executor = executor_of(setup)
        try:
            self._package = open_package(setup)
        except (ImportError, OSError) as error:  # the machine lacks something: ends the run
            traceback.print_exc()
            told = f"torch_tensorrt {setup['release']} cannot be imported: {error}"
            self.load_errors[setup["release"]] = told
            return
        except Exception as error:  # noqa: BLE001 - the package does not fit this TensorRT: a verdict
            traceback.print_exc()
            self._unusable = error
            return
        forks = self._executor.forks
        self._loader = FreshLoader(self._package) if forks else SpawningLoader(setup)

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; returns the seconds that were spent inside of stages."""
        from corpus.case import find_case
        from harness.rig.cell.pipeline import ended_before_routes
        from harness.rig.cell.prepare import PreparedCase
        from harness.rig.clock import StageClock
        from harness.rig.package.cell import run_package_cell
        from harness.rig.package.compiling import prepare_with
        from harness.rig.workers.serving import serve_cells

        cells = [key_from_json(key) for key in job["cells"]]
        if self._unusable is not None:
            error = self._unusable
            self._tell.ended(ended_before_routes(key, error, Stage.COMPILE) for key in cells)
            return 0.0
        assert self._loader is not None
        package, loader, executor = self._package, self._loader, self._executor
        case = find_case(job["case"])

        def prepare_case(clock: StageClock) -> PreparedCase:
            return prepare_with(package, case, job["capture"], self._seed, clock, executor)

        def run_one(prepared: PreparedCase, key: CellKey, clock: StageClock) -> CellRecord:
            return run_package_cell(package, prepared, key, loader, clock)

        return serve_cells(cells, self._tell, prepare_case, run_one)

    def close(self) -> None:
        if self._loader is not None:
            self._loader.close()


if __name__ == "__main__":
    serve(_Worker)
