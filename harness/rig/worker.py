"""A worker process of the graph lane: takes cases, sends records back.

    python -m harness.rig.worker        started by harness.workers, never by hand

It speaks as `channel` says. Its setup:
{"library": PATH, "seed": N, "share": BOOL, "subjects": [SubjectSpec...], "corpus": [PLACE...]}
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from harness.rig.channel import Teller, serve
from harness.rig.records import CellKey, SubjectSpec, subject_from_json


class _Worker:
    """Holds what outlives a job: the loaded inliners."""

    def __init__(self, setup: Mapping[str, Any], tell: Teller) -> None:
        # Here and not at the top: a process that only wants the protocol's names needs no torch.
        from pathlib import Path

        import torch

        from corpus import elsewhere
        from corpus.case import corpus_digest
        from harness.rig.engines.emulated import load_runtime
        from harness.rig.inliners.loader import load_inliner
        from harness.rig.inliners.protocol import Inliner, LoadError

        warnings.filterwarnings("ignore")
        torch.set_num_threads(1)
        load_runtime(Path(setup["library"]))
        elsewhere.load(setup["corpus"])
        self._tell = tell
        self.corpus_digest = corpus_digest()
        self._seed = int(setup["seed"])
        self._share = bool(setup["share"])
        self.load_errors: dict[str, str] = {}
        self._inliners: dict[str, Inliner] = {}
        for data in setup["subjects"]:
            spec: SubjectSpec = subject_from_json(data)
            if spec.unavailable:
                continue
            try:
                self._inliners[spec.subject] = load_inliner(spec)
            except LoadError as error:
                self.load_errors[spec.subject] = str(error)

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; each ends in a record or in `broken`.

        Returns the seconds that were spent inside of stages.
        """
        from corpus.case import find_case
        from harness.rig.clock import StageClock
        from harness.rig.pipeline import ended_before_routes, run_cell
        from harness.rig.prepare import NotPrepared, prepare
        from harness.rig.sharing import Shared

        cells = [CellKey(**key) for key in job["cells"]]
        clock = StageClock(lambda stage: self._tell.at(None, stage))
        try:
            prepared = prepare(find_case(job["case"]), job["capture"], self._seed, clock)
        except NotPrepared as error:
            self._tell.ended(ended_before_routes(key, error.cause, error.stage) for key in cells)
            return clock.spent_seconds
        except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
            for key in cells:
                self._tell.broken(key)
            return clock.spent_seconds
        if self._share:
            prepared.shared = Shared()
        spent = clock.spent_seconds
        shared = clock.seconds
        for key in cells:
            clock = StageClock(lambda stage, key=key: self._tell.at(key, stage))  # type: ignore[misc]
            clock.credit(shared)
            shared = {}  # what the cells of a case share is told once, in the first record
            try:
                record = run_cell(prepared, self._inliners[key.subject], key, clock)
            except Exception:  # noqa: BLE001 - as above
                self._tell.broken(key)
            else:
                self._tell.ended([record])
            if prepared.damaged:  # that cell's verdict says so; the next ones get a sound case
                prepared = prepare(find_case(job["case"]), job["capture"], self._seed, clock)
            spent += clock.spent_seconds
        return spent

    def close(self) -> None:
        """Nothing to end."""


if __name__ == "__main__":
    serve(_Worker)
