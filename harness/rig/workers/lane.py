"""A worker process of a lane: takes cases, sends records back.

    python -m harness.rig.workers.lane        started by harness.workers, never by hand

A job may hold a drawn program in place of a case's name ("blueprint" or "model", its JSON); with
"values" the worker also tells what the program has of the structure space.

It speaks as `harness.rig.channel` says. Its setup is that of a lane of `harness.rig.lanes`. Of a
user's own cases it tells how the lane's package splits each, and what each surely has not.
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
        self._tells_splits = bool(setup["corpus"])
        self._subject = setup.get("subject", "")
        self.load_errors = self._lane.load_errors
        self.corpus_digest = corpus_digest()

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; returns the seconds that were spent inside of stages."""
        from harness.rig.lanes import serve_cells

        cells = [key_from_json(key) for key in job["cells"]]
        asked = job["case"] if "case" in job else self._drawn(job)
        how = self._lane, asked, job["capture"], cells, self._report, job.get("programs")
        if not self._tells_splits:
            return serve_cells(*how)
        from harness.rig.workers.model_split import told_of, told_of_module

        of_subject = {"subject": self._subject}
        spent = serve_cells(
            *how,
            lambda case, prepared: self._report.split(
                {**of_subject, **told_of(self._lane, case, prepared)}
            ),
        )
        # When the cells have ended, since whatever ends the process now is no verdict on them.
        if told := told_of_module(self._lane, job["case"]):
            self._report.split({**of_subject, **told})
        return spent

    def _drawn(self, job: Mapping[str, Any]) -> Case:
        """The case of a program that was drawn."""
        from corpus.blueprints.blueprint import from_json
        from corpus.blueprints.cases import case_of
        from corpus.drawn.model import DrawnModel
        from corpus.drawn.model_case import case_of as case_of_model
        from harness.rig.questions.coverage import values_of

        if "model" in job:
            case = case_of_model(DrawnModel.from_json(job["model"]))
        else:
            case = case_of(from_json(job["blueprint"]))
        if job["values"]:
            try:
                self._report.values(values_of(case))
            except Exception:  # noqa: BLE001 - no split, no values; its cells tell why
                self._report.values(())
        return case

    def close(self) -> None:
        self._lane.close()


if __name__ == "__main__":
    serve(_Worker)
