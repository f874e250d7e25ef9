"""A worker process of the graph lane: takes cases, sends records back.

    python -m harness.rig.workers.graph_lane        started by harness.workers, never by hand

It speaks as `channel` says. Its setup:
{"library": PATH, "seed": N, "share": BOOL, "subjects": [SubjectSpec...], "corpus": [PLACE...]}
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from harness.rig.channel import Teller, serve
from harness.wire.record_json import key_from_json, subject_from_json
from harness.wire.records import CellKey, CellRecord, SubjectSpec


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
        """Run one case's cells; returns the seconds that were spent inside of stages."""
        from corpus.case import find_case
        from harness.rig.cell.pipeline import run_cell
        from harness.rig.cell.prepare import PreparedCase, prepare
        from harness.rig.cell.sharing import Shared
        from harness.rig.clock import StageClock
        from harness.rig.workers.serving import serve_cells

        def prepare_case(clock: StageClock) -> PreparedCase:
            prepared = prepare(find_case(job["case"]), job["capture"], self._seed, clock)
            prepared.shared = Shared() if self._share else None
            return prepared

        def run_one(prepared: PreparedCase, key: CellKey, clock: StageClock) -> CellRecord:
            return run_cell(prepared, self._inliners[key.subject], key, clock)

        cells = [key_from_json(key) for key in job["cells"]]
        return serve_cells(cells, self._tell, prepare_case, run_one)

    def close(self) -> None:
        """Nothing to end."""


if __name__ == "__main__":
    serve(_Worker)
