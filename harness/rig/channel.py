"""How a worker process speaks to its controller: one JSON object a line, in and out.

In:   a setup, once; its fields are those that the worker's own module states, then
      {"case": NAME, "capture": MODE, "cells": [CellKey...], "programs": {ID: DIGEST}}
                         a job each; a cell whose program is that one needs no verdicts
Out:  {"event": "ready", "load_errors": {SUBJECT: TEXT}, "corpus_digest": D, "import_seconds": S,
                         "deciding": {NAME: TEXT}}  after torch is imported and subjects are loaded
      {"event": "values", "values": [ID...]}       what a drawn program has of the space
      {"event": "stage", "cell": ID, "stage": S}   at the first stage of each cell; the latest one
                         stands in `STAGE_FILE` of the worker's temporary folder, so that whoever
                         watches knows where a worker died, and is not woken by each stage
      {"event": "record", "record": {...}}         one ended cell
      {"event": "split", "split": {...}}           how a package splits a case (`model_split`)
      {"event": "mutant", "name": NAME, ...}       what a mutant did, see `workers.mutants`
      {"event": "broken", "cell": ID, "traceback": TEXT}   the harness failed, not the subject
      {"event": "done", "spent": {"worker_s": S, "stages_s": S, "peak_bytes": {PID: N}}}    the
                         job's end, and how long it took: in all, and inside of stages; work that
                         was shared counts once; and the most memory that the worker has held

What torch and the subjects print goes to stderr: the protocol has a descriptor of its own.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, Protocol, TextIO

from harness.wire.record_json import to_json
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import STAGE_FILE

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LONGEST_STAGE = 32


class Reporter:
    """Reports to the controller what happens."""

    def __init__(self, channel: TextIO) -> None:
        self._channel = channel
        self._cell: str | None = ""  # which was told of last; none yet
        self._file = _stage_file()

    def begin(self) -> None:
        """A job begins: what was told of the one before is over."""
        self._cell = ""
        if self._file is not None:
            os.pwrite(self._file, _padded(""), 0)

    def at(self, key: CellKey | None, stage: str) -> None:
        """Which stage the worker enters; no key for what the cells of a job share."""
        cell = None if key is None else key.cell_id
        if self._file is None or cell != self._cell:
            self._send(event="stage", cell=cell, stage=stage)
            self._cell = cell
        if self._file is not None:
            os.pwrite(self._file, _padded(stage), 0)

    def values(self, held: Iterable[str]) -> None:
        """Which values of the structure space a drawn program has."""
        self._send(event="values", values=list(held))

    def ended(self, records: Iterable[CellRecord]) -> None:
        for record in records:
            self._send(event="record", record=to_json(record))

    def split(self, told: Mapping[str, Any]) -> None:
        """How the release's package splits a case."""
        self._send(event="split", split=told)

    def mutant(self, name: str, **told: Any) -> None:
        """What a mutant of the subject's own code made otherwise."""
        self._send(event="mutant", name=name, **told)

    def broken(self, key: CellKey) -> None:
        """To be called where the harness's own exception was caught."""
        self._send(event="broken", cell=key.cell_id, traceback=traceback.format_exc())

    def ready(self, worker: Worker, import_seconds: float) -> None:
        # Here and not at the top: the controller is told that torch is being imported.
        from harness.rig.questions.environment import deciding

        self._send(
            event="ready",
            load_errors=worker.load_errors,
            corpus_digest=worker.corpus_digest,
            import_seconds=import_seconds,
            deciding=deciding(),
        )

    def done(self, worker_s: float, stages_s: float) -> None:
        used_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak = {str(os.getpid()): used_kib * 1024}  # so far: the last job's is the worker's
        spent = {"worker_s": worker_s, "stages_s": stages_s, "peak_bytes": peak}
        self._send(event="done", spent=spent)

    def _send(self, **message: Any) -> None:
        send(self._channel, **message)


def _stage_file() -> int | None:
    """The descriptor of a file that has room for a stage; None where there is no place for one."""
    folder = os.environ.get("TMPDIR")
    if not folder:
        return None
    try:
        file = os.open(f"{folder}/{STAGE_FILE}", os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(file, _padded(""), 0)
    except OSError:  # each stage is told as an event then
        return None
    return file


def _padded(stage: str) -> bytes:
    return stage.ljust(_LONGEST_STAGE).encode()


class Worker(Protocol):
    """What outlives a job. ``load_errors`` says of each subject that is not there why."""

    load_errors: dict[str, str]
    corpus_digest: str

    def serve(self, job: Mapping[str, Any]) -> float:
        """Run one case's cells; each ends in a record or in `broken`.

        Returns the seconds that were spent inside of stages.
        """
        ...

    def close(self) -> None: ...


def serve(make: Callable[[Mapping[str, Any], Reporter], Worker]) -> None:
    """Be a worker until stdin ends."""
    die_with_parent()
    report = Reporter(private_channel())
    started = time.perf_counter()
    setup = json.loads(sys.stdin.readline())
    report.at(None, "import")
    worker = make(setup, report)
    _keep_out_of_collections()
    report.ready(worker, time.perf_counter() - started)
    for line in sys.stdin:
        began = time.perf_counter()
        report.begin()
        stages_s = worker.serve(json.loads(line))
        _keep_out_of_collections()
        report.done(time.perf_counter() - began, stages_s)
    worker.close()


def _keep_out_of_collections() -> None:
    """Take what is alive out of the garbage collector's sight, for as long as this process lives.

    What is imported and cached stays anyhow. A full collection, of which the package asks for one
    an engine, would look through all of it each time, for 0.4 s after torch's import alone.
    """
    gc.collect()
    gc.freeze()


def die_with_parent() -> None:
    """Have the kernel end this process with its controller, even in the middle of a cell.

    The end of stdin would be noticed between two jobs only.
    """
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died in between
        os._exit(1)


def end_after(work: Callable[[], object]) -> NoReturn:
    """A forked process's whole life: do the work, and end without a step of the parent's code."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing above this frame belongs to the fork
        traceback.print_exc()
    finally:
        os._exit(code)


def private_channel() -> TextIO:
    """A writer on the process's stdout; whatever else prints gets stderr in its place."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return channel


def send(channel: TextIO, **message: Any) -> None:
    """Write one message."""
    text = json.dumps(message)
    if "\\ud" in text:  # maybe half a character, as an exception may hold, and no table can
        whole = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        text = json.dumps(json.loads(whole))
    channel.write(f"{text}\n")
    channel.flush()
