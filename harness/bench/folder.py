"""A bench's folder.

results/bench-<run id>/run.json         provenance
                       plan.json        what is measured against what
                       journal.jsonl    raw samples: a line a block, appended and fsynced
                       samples.parquet  at the end: a row a sample
                       bench.json       at the end: the verdicts, and how they came about
                       bench.html bench.md
results/latest-bench                    a symbolic link to the newest one
"""

from __future__ import annotations

from pathlib import Path

from harness.base.json_codec import decode
from harness.bench.plan import BenchPlan
from harness.runs.provenance import Provenance
from harness.runs.run_directory import RunDirectory
from harness.wire.record_json import to_json


class BenchFolder(RunDirectory):
    """One bench, being written or read."""

    KIND = COMMAND = "bench"
    MARK = "plan.json"
    PREFIX = "bench-"
    LINK = "latest-bench"

    @classmethod
    def create(cls, out: Path, provenance: Provenance, plan: BenchPlan) -> BenchFolder:
        return cls.make(out, provenance, {cls.MARK: to_json(plan)})

    def plan(self) -> BenchPlan:
        return self.read(self.MARK, lambda data: decode(BenchPlan, data))

    def write_plan(self, plan: BenchPlan) -> None:
        self.write(self.MARK, to_json(plan))
