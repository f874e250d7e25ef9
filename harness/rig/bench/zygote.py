"""The process that workers are forked from: it imports torch, loads inliners, splits cases.

    python -m harness.rig.bench.zygote       started by harness.bench, never by hand

In:   {"library": PATH, "seed": N, "subjects": [SubjectSpec...], "corpus": [PLACE...]}  once, then
      {"do": "prepare", "case": BenchCase}
      {"do": "block", "case": BenchCase, "arms": [Arm...], "passes": [...], "warm_up": N,
       "calls": N, "seed": N, "together": BOOL}
      {"do": "alone", ...}     as a block of one arm, in a process that is not forked for it
      {"do": "sizes", "case": BenchCase, "arm": Arm}
      {"do": "forget", "case": BenchCase}
Out:  {"event": "ready", ...}, then one answer each: {"event": "done", ...}, or
      {"event": "failed", "message": LINE, "traceback": TEXT, "mistake": BOOL}

A case is captured and split in a fork of this process, which its workers are forked from in turn:
torch is in memory once, and no case's heap is another's.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from harness.rig.bench.answering import answer_jobs
from harness.rig.bench.blocks import BlockJob, run_alone, run_block
from harness.rig.bench.forked import Child
from harness.rig.bench.memory import sizes_of
from harness.rig.bench.prepared import Measured, make_ready
from harness.rig.inliners.protocol import Inliner
from harness.rig.lanes import GraphLane
from harness.wire.bench_records import arm_of, case_of


class CaseServer:
    """Serves the jobs of one case; in a fork of the zygote, or for `alone` in itself."""

    def __init__(self, inliners: Mapping[str, Inliner], seed: int) -> None:
        self._inliners = inliners
        self._seed = seed
        self._measured: Measured | None = None

    def serve(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message["do"] == "prepare":
            return self._prepare(message)
        assert self._measured is not None, "a case is prepared first"
        if message["do"] == "sizes":
            return self._sizes(message)
        job = BlockJob(
            arms=[arm_of(arm) for arm in message["arms"]],
            passes=message["passes"],
            warm_up=message["warm_up"],
            calls=message["calls"],
            seed=message["seed"],
            together=message["together"],
        )
        if message["do"] == "alone":
            samples = {job.arms[0].name: run_alone(self._measured, self._inliners, job)}
        else:
            samples = run_block(self._measured, self._inliners, job)
        return {"arms": {name: dataclasses.asdict(arm) for name, arm in samples.items()}}

    def _prepare(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if self._measured is None:
            torch.set_num_threads(1)
            self._measured = make_ready(case_of(message["case"]), self._seed)
            gc.collect()
            gc.freeze()  # workers collect their own garbage alone, and touch no page of ours for it
        return {
            "steps": self._measured.steps,
            "engine_bytes": self._measured.engine_bytes,
            "seconds": self._measured.seconds,
        }

    def _sizes(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._measured is not None
        arm = arm_of(message["arm"])
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            return {
                "sizes": sizes_of(self._measured, self._inliners[arm.subject], arm, Path(folder))
            }


class Zygote:
    """Holds the loaded inliners, and a forked server for each case that is in use."""

    def __init__(self, setup: Mapping[str, Any]) -> None:
        lane = GraphLane(setup)
        self.load_errors = lane.load_errors
        self._new_server = functools.partial(CaseServer, lane.inliners, lane.seed)
        self._servers: dict[str, Child] = {}

    def serve(self, message: Mapping[str, Any]) -> dict[str, Any]:
        name = json.dumps(message["case"], sort_keys=True)
        if message["do"] == "forget":
            self._servers.pop(name).end()
            return {}
        if message["do"] == "alone":
            server = self._new_server()
            server.serve({**message, "do": "prepare"})
            return server.serve(message)
        if name not in self._servers:
            self._servers[name] = Child.fork(self._new_server().serve)
        return self._servers[name].ask(message)


if __name__ == "__main__":
    answer_jobs(Zygote)
