"""A run of any size, of made-up cells: what planning, journalling, merging and reporting take.

    python -m tests.scale CELLS FOLDER [STEP...]

The cells are those of the published run with every case many times over, and the table of expected
failures likewise, so that the gate judges each as it would. Each step is a process of its own, so
that its peak of memory is its own, and prints one line of JSON.
"""

import dataclasses
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from harness.base.garbage import no_collections
from harness.catalogue.releases import load_catalogue
from harness.register.expected import Expectations, read_expectations
from harness.register.table import Table
from harness.report.run_report import write_run_report
from harness.run.judged_run import Expected, judged_run, summary_of
from harness.runs.merging import Part, merge
from harness.runs.plan import PlannedCell, make_plan, shard
from harness.runs.run_folder import RunFolder, RunState
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.records import CellRecord

RUN = PROJECT_ROOT / "results" / "published" / "2026-11-25-all-releases"
STEPS = ("plan", "journal", "merge", "report")
SHARDS = 4


class Scaled:
    """The published run with each of its cases ``times`` times."""

    def __init__(self, cells: int) -> None:
        published = RunFolder.open(RUN)
        self.provenance = published.provenance()
        corpus = read_corpus(sys.executable)
        self.cases = [case for case in corpus.cases if not case.full]
        self.published = published
        base = make_plan(self.cases, self.provenance.subjects, ("nonstrict",))
        self.times = -(-cells // len(base))
        many = (
            dataclasses.replace(c, name=f"{c.name}_{i}")
            for i in range(self.times)
            for c in self.cases
        )
        self.corpus = Corpus(tuple(many), corpus.digest)

    def plan(self) -> tuple[PlannedCell, ...]:
        return make_plan(self.corpus.cases, self.provenance.subjects, ("nonstrict",))

    def expected(self) -> Expected:
        known = read_expectations()
        entries = {
            dataclasses.replace(
                entry, place=dataclasses.replace(entry.place, case=f"{entry.place.case}_{i}")
            ): names
            for entry, names in known.table.entries.items()
            for i in range(self.times)
        }
        table = Table(entries, known.table.asked, known.table.without_rows)
        return Expected(Expectations(known.register, table), self.corpus, load_catalogue())

    def record(self, cell: PlannedCell) -> CellRecord:
        """What the published run has of the cell; of one that is newer, what another has."""
        name, _, _ = cell.key.case.rpartition("_")
        known = self._records.get(dataclasses.replace(cell.key, case=name).cell_id)
        found = known or self._any
        return dataclasses.replace(
            found, key=cell.key, hypothetical=cell.hypothetical, measured_as=cell.measured_as
        )

    def load(self) -> None:
        self._records = self.published.records()
        self._any = next(r for r in self._records.values() if r.label == "ok")


def plan_step(scaled: Scaled, folder: Path) -> None:
    plan = scaled.plan()
    for number in range(SHARDS):
        with RunFolder.create(
            folder / f"{number}", scaled.provenance, shard(plan, number + 1, SHARDS)
        ):
            pass


def journal_step(scaled: Scaled, folder: Path) -> None:
    scaled.load()
    for number in range(SHARDS):
        with RunFolder.open("latest", folder / f"{number}") as run:
            for cell in run.plan():
                run.append(scaled.record(cell))


def merge_step(scaled: Scaled, folder: Path) -> None:
    parts = []
    for number in range(SHARDS):
        run = RunFolder.open("latest", folder / f"{number}")
        provenance = dataclasses.replace(run.provenance(), run_id=f"{run.run_id}-{number}")
        parts.append(Part(run.run_id, provenance, run.plan(), run.records()))
    merged = merge(parts)
    with RunFolder.create(folder / "merged", merged.provenance, merged.plan) as run:
        run.append(*merged.records.values())


def report_step(scaled: Scaled, folder: Path) -> None:
    expected = scaled.expected()
    run = RunFolder.open("latest", folder / "merged")
    judged = judged_run(run, expected)
    print(judged.report.gate, len(judged.report.findings), file=sys.stderr)
    summary = summary_of(judged, RunState.COMPLETE, wall_s=None)
    with run:
        run.write_results(summary, judged.cases, judged.records)
        run.write_state(RunState.COMPLETE)
    write_run_report(judged, summary)


def main(cells: str, folder: str, *steps: str) -> None:
    for step in steps or STEPS:
        subprocess.run(
            [sys.executable, "-m", "tests.scale", "step", cells, folder, step], check=True
        )


def one(cells: str, folder: str, step: str) -> None:
    scaled = Scaled(int(cells))
    began, before = time.monotonic(), seconds()
    with no_collections():  # as the commands merge and report
        globals()[f"{step}_step"](scaled, Path(folder))
    used = {
        "step": step,
        "cells": int(cells),
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(seconds() - before, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
        "forks_peak_gb": round(
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9, 2
        ),
    }
    print(json.dumps(used), flush=True)


def seconds() -> float:
    """The processor's seconds of this process and of the forks that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    one(*sys.argv[2:]) if sys.argv[1] == "step" else main(*sys.argv[1:])
