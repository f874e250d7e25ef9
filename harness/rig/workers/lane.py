"""A worker process of a lane: takes cases, sends records back.

    python -m harness.rig.workers.lane        started by harness.workers, never by hand

A job may hold a blueprint in place of a case's name ("blueprint", its JSON); with "values" the
worker also tells what the blueprint has of the structure space.

It speaks as `harness.rig.channel` says. Its setup is that of a lane of `harness.rig.lanes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.rig.channel import Reporter, serve
from harness.wire.record_json import key_from_json

if TYPE_CHECKING:
    from corpus.case import Case


class _Worker:
    """Holds what outlives a job: the lane, with its inliners or its package."""

    def __init__(self, setup: Mapping[str, Any], report: Reporter) -> None:
        # Here and not at the top: the controller is told that torch is being imported.
        from corpus.case import corpus_digest
        from harness.rig.lanes import open_lane

        self._report = report
        self._lane = open_lane(setup)
        self.load_errors = self._lane.load_errors
        self.corpus_digest = corpus_digest()

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; returns the seconds that were spent inside of stages."""
        from harness.rig.lanes import serve_cells

        cells = [key_from_json(key) for key in job["cells"]]
        asked = self._drawn(job) if "blueprint" in job else job["case"]
        return serve_cells(
            self._lane, asked, job["capture"], cells, self._report, job.get("programs")
        )

    def _drawn(self, job: Mapping[str, Any]) -> Case:
        """The case of a blueprint that was drawn."""
        from corpus.blueprints.blueprint import from_json
        from corpus.blueprints.cases import case_of
        from harness.rig.questions.coverage import values_of

        case = case_of(from_json(job["blueprint"]))
        if job["values"]:
            self._report.values(values_of(case))
        return case

    def close(self) -> None:
        self._lane.close()


if __name__ == "__main__":
    serve(_Worker)
