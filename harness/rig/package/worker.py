"""A worker process of the package lane: one release's whole package, for as long as it lives.

    python -m harness.rig.package.worker        started by harness.workers, never by hand

It speaks as `harness.rig.channel` says. Its setup says which release, and where its package lies:
{"site": FOLDER, "release": VERSION, "builder": NAME, "engines": FOLDER, "seed": N}
"""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.rig.channel import Teller, serve
from harness.rig.records import CellKey, Stage


class _Worker:
    """Holds what outlives a job: the package, and the process that loads archives."""

    def __init__(self, setup: Mapping[str, Any], tell: Teller) -> None:
        # Here and not at the top: a process that only wants the protocol's names needs no torch.
        import torch

        from corpus.case import corpus_digest
        from harness.rig.package.emulation import import_package
        from harness.rig.package.loading import FreshLoader

        warnings.filterwarnings("ignore")
        logging.disable(logging.ERROR)  # the package tells of every node that it converts
        torch.set_num_threads(1)
        self._tell = tell
        self._seed = int(setup["seed"])
        self.corpus_digest = corpus_digest()
        self.load_errors: dict[str, str] = {}
        self._unusable: Exception | None = None
        self._loader: FreshLoader | None = None
        try:
            self._package = import_package(
                Path(setup["site"]),
                setup["release"],
                setup["builder"],
                engines=Path(setup["engines"]),
            )
        except (ImportError, OSError) as error:  # the machine lacks something: ends the run
            traceback.print_exc()
            told = f"torch_tensorrt {setup['release']} cannot be imported: {error}"
            self.load_errors[setup["release"]] = told
            return
        except Exception as error:  # noqa: BLE001 - the package does not fit this TensorRT: a verdict
            traceback.print_exc()
            self._unusable = error
            return
        self._loader = FreshLoader(self._package)

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; each ends in a record or in `broken`.

        Returns the seconds that were spent inside of stages.
        """
        from corpus.product import find_product_case
        from harness.rig.clock import StageClock
        from harness.rig.package.cell import run_package_cell
        from harness.rig.package.compiling import prepare_with
        from harness.rig.pipeline import ended_before_routes
        from harness.rig.prepare import NotPrepared

        cells = [CellKey(**key) for key in job["cells"]]
        if self._unusable is not None:
            error = self._unusable
            self._tell.ended(ended_before_routes(key, error, Stage.COMPILE) for key in cells)
            return 0.0
        assert self._loader is not None
        case = find_product_case(job["case"])
        clock = StageClock(lambda stage: self._tell.at(None, stage))
        try:
            prepared = prepare_with(self._package, case, job["capture"], self._seed, clock)
        except NotPrepared as error:
            self._tell.ended(ended_before_routes(key, error.cause, error.stage) for key in cells)
            return clock.spent_seconds
        except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
            for key in cells:
                self._tell.broken(key)
            return clock.spent_seconds
        spent, shared = clock.spent_seconds, clock.seconds
        for key in cells:
            clock = StageClock(lambda stage, key=key: self._tell.at(key, stage))  # type: ignore[misc]
            clock.credit(shared)
            shared = {}  # what the cells of a case share is told once, in the first record
            try:
                record = run_package_cell(self._package, prepared, key, self._loader, clock)
            except Exception:  # noqa: BLE001 - as above
                self._tell.broken(key)
            else:
                self._tell.ended([record])
            spent += clock.spent_seconds
            if prepared.damaged:  # that cell's verdict says so; the next ones get a sound case
                again = StageClock(lambda stage: self._tell.at(None, stage))
                prepared = prepare_with(self._package, case, job["capture"], self._seed, again)
                spent += again.spent_seconds
        return spent

    def close(self) -> None:
        if self._loader is not None:
            self._loader.close()


if __name__ == "__main__":
    serve(_Worker)
