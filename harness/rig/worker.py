"""A worker process: takes cases from stdin, sends records back, one JSON object a line.

    python -m harness.rig.worker        started by harness.workers, never by hand

In:   {"library": PATH, "seed": N, "subjects": [SubjectSpec...], "corpus": [PLACE...]}  once, then
      {"case": NAME, "capture": MODE, "cells": [CellKey...], "hypothetical": [BOOL...]}  a job each
Out:  {"event": "ready", ...}                      after torch is imported and inliners are loaded
      {"event": "stage", "cell": ID, "stage": S}   so that whoever watches knows where a worker died
      {"event": "record", "record": {...}}         one ended cell
      {"event": "broken", "cell": ID, "traceback": TEXT}   the harness failed, not the subject
      {"event": "done", "spent": {"worker_s": S, "stages_s": S}}    the job's end, and how long it
                         took: in all, and inside of stages; work that was shared counts once

What torch and the subjects print goes to stderr: the protocol has a descriptor of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from harness.rig.records import (
    CellKey,
    CellRecord,
    Stage,
    SubjectSpec,
    subject_from_json,
    to_json,
)

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Serve jobs until stdin ends."""
    _die_with_parent()
    channel = _private_channel()
    started = time.perf_counter()
    setup = json.loads(sys.stdin.readline())
    _send(channel, event="stage", cell=None, stage="import")
    worker = _Worker(channel, setup)
    _send(
        channel,
        event="ready",
        load_errors=worker.load_errors,
        corpus_digest=worker.corpus_digest,
        import_seconds=time.perf_counter() - started,
    )
    for line in sys.stdin:
        began = time.perf_counter()
        in_stages = worker.serve(json.loads(line))
        spent = {"worker_s": time.perf_counter() - began, "stages_s": in_stages}
        _send(channel, event="done", spent=spent)


class _Worker:
    """Holds what outlives a job: the loaded inliners."""

    def __init__(self, channel: TextIO, setup: Mapping[str, Any]) -> None:
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
        self._channel = channel
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
        clock = StageClock(lambda stage: self._at(None, stage))
        try:
            prepared = prepare(find_case(job["case"]), job["capture"], self._seed, clock)
        except NotPrepared as error:
            self._send_all(ended_before_routes(key, error.cause, error.stage) for key in cells)
            return clock.spent_seconds
        except Exception:  # noqa: BLE001 - reported as the harness's own fault, never swallowed
            for key in cells:
                self._broken(key)
            return clock.spent_seconds
        if self._share:
            prepared.shared = Shared()
        spent = clock.spent_seconds
        shared = clock.seconds
        for key in cells:
            clock = StageClock(lambda stage, key=key: self._at(key, stage))  # type: ignore[misc]
            clock.credit(shared)
            shared = {}  # what the cells of a case share is told once, in the first record
            try:
                record = run_cell(prepared, self._inliners[key.subject], key, clock)
            except Exception:  # noqa: BLE001 - as above
                self._broken(key)
            else:
                self._send_all([record])
            if prepared.damaged:  # that cell's verdict says so; the next ones get a sound case
                prepared = prepare(find_case(job["case"]), job["capture"], self._seed, clock)
            spent += clock.spent_seconds
        return spent

    def _at(self, key: CellKey | None, stage: Stage) -> None:
        _send(self._channel, event="stage", cell=key and key.cell_id, stage=stage.value)

    def _send_all(self, records: Iterable[CellRecord]) -> None:
        for record in records:
            _send(self._channel, event="record", record=to_json(record))

    def _broken(self, key: CellKey) -> None:
        text = traceback.format_exc()
        _send(self._channel, event="broken", cell=key.cell_id, traceback=text)


def _die_with_parent() -> None:
    """Have the kernel end this process with its controller, even in the middle of a cell.

    The end of stdin would be noticed between two jobs only. On other systems than Linux that has
    to do.
    """
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os._exit(1)


def _private_channel() -> TextIO:
    """A writer on the process's stdout; whatever else prints gets stderr in its place."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def _send(channel: TextIO, **message: Any) -> None:
    channel.write(json.dumps(message) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
