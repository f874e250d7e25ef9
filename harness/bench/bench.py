"""A bench from its options to its verdict: subjects, cells, samples, judgement."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.base.errors import SurroundingsError, UsageError
from harness.bench import plan as plans
from harness.bench.judging import BenchReport, judge_bench
from harness.bench.machine import look, notes, unlike
from harness.bench.options import BenchOptions, check, make_plan, provenance_of
from harness.bench.plan import BenchCell, BenchPlan
from harness.bench.samples import Samples, read_samples
from harness.bench.sampling import Sampling
from harness.bench.workers import Running, Workers, workers_again, workers_for
from harness.catalogue.releases import Catalogue
from harness.runs.provenance import Provenance
from harness.runs.run_directory import LATEST, RunDirectory
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.record_json import SCHEMA, decode, to_json


class BenchFolder(RunDirectory):
    """One bench, being written or read.

    results/bench-<run id>/run.json         provenance
                           plan.json        what is measured against what
                           journal.jsonl    raw samples: a line a block, appended and fsynced
                           samples.parquet  at the end: a row a sample
                           bench.json       at the end: the verdicts, and how they came about
                           bench.html bench.md
    results/latest-bench                    a symbolic link to the newest one
    """

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


MEMORY_KEPT = 0.2  # of what is free, for everything else


@dataclass(frozen=True)
class JudgedBench:
    """A bench with everything that explains it."""

    folder: BenchFolder
    plan: BenchPlan
    provenance: Provenance
    samples: Samples
    report: BenchReport


Progress = Callable[[BenchCell, BenchPlan, Samples], None]


def bench(
    options: BenchOptions, toolchain: Toolchain, catalogue: Catalogue, progress: Progress
) -> JudgedBench:
    """Start a bench and see it through."""
    check(options)  # before anything takes long: a typo is cheap
    workers = workers_for(options, toolchain, catalogue)
    corpus = read_corpus(toolchain.python, options.corpus, toolchain.cache)
    plan = make_plan(options, corpus, *workers.subjects)
    provenance = workers.stamp(provenance_of(options, corpus, workers.subjects))
    before = BenchFolder.find(LATEST, options.out)
    folder = BenchFolder.create(options.out, provenance, plan)
    try:
        return measure(folder, workers, progress)
    except UsageError:  # a mistake in a user's case shows only where the case is built
        folder.discard(before)
        raise


def resume(
    which: str,
    out: Path,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    budget_s: float | None = None,
    pythons: tuple[str, ...] = (),
) -> JudgedBench:
    """Go on with a bench that was cut off, or give it more time.

    Args:
        pythons: as in `BenchOptions`, with the same torch as before.
    """
    folder = BenchFolder.open(which, out)
    before, plan = folder.provenance(), folder.plan()
    options = BenchOptions(
        baseline=plan.baseline,
        candidate=plan.candidate,
        seed=before.seeds[0],
        spawn=plan.spawn,
        corpus=before.corpus,
        lane=plan.lane,
        builder=plan.builder,
        pythons=pythons,
    )
    check(options)
    workers = workers_again(options, before, toolchain, catalogue)
    corpus = read_corpus(toolchain.python, before.corpus, toolchain.cache)
    now = workers.stamp(provenance_of(options, corpus, workers.subjects))
    folder.refuse_mixing(now, toolchain.notify, *unlike(before, now))
    if budget_s is not None:
        folder.write_plan(dataclasses.replace(plan, budget_s=budget_s))
    return measure(folder, workers, progress)


def reopen(which: str | Path, out: Path) -> JudgedBench:
    """A bench as it lies on the disk, judged anew."""
    folder = BenchFolder.open(which, out)
    plan, provenance = folder.plan(), folder.provenance()
    samples = read_samples(plan, folder.journal().payloads)
    report = judge_bench(plan, samples, notes(provenance, samples))
    return JudgedBench(folder, plan, provenance, samples, report)


def like_recorded(options: BenchOptions, recorded: JudgedBench) -> BenchOptions:
    """The options of a new bench with the cases, stages and baseline of a recorded one."""
    plan = recorded.plan
    cells = [cell for cell in plan.cells if cell != plans.IMPORT_CELL]
    return dataclasses.replace(
        options,
        lane=plan.lane,
        builder=plan.builder,
        baseline=plan.baseline,
        cases=tuple(dict.fromkeys(cell.case.name for cell in cells if not cell.case.sweep)),
        routes=tuple(dict.fromkeys(cell.route for cell in cells)),
        stages=",".join(plan.metrics),
        gating=",".join(plan.gating),
        corpus=recorded.provenance.corpus,
    )


def refuse_unlike(options: BenchOptions, recorded: JudgedBench) -> None:
    """Raise UsageError if this machine is not like the one of a recorded bench."""
    now = provenance_of(options, Corpus((), "", options.corpus), ())
    differs = unlike(recorded.provenance, now)
    if differs:
        raise UsageError(
            f"{recorded.folder.run_id} is of an unlike machine ({'; '.join(differs)}); "
            "--allow-mismatch compares them all the same"
        )


def measure(folder: BenchFolder, workers: Workers, progress: Progress) -> JudgedBench:
    """Sample what is missing of a folder's plan."""
    plan, provenance = folder.plan(), folder.provenance()
    with folder.writing() as journal:
        samples = read_samples(plan, folder.journal().payloads)
        with workers.start(provenance, folder.path / "workers") as running:
            if running.ready["corpus_digest"] != provenance.corpus_digest:
                raise SurroundingsError(
                    "the corpus was changed while the bench began", "start a new bench"
                )
            line = session_line(running)
            journal.append(line)
            samples.add(line)
            sampling = Sampling(plan, samples, running, journal.append, free_bytes)
            for cell in sampling.run():
                progress(cell, plan, samples)
    return reopen(folder.path, folder.path.parent)


def free_bytes() -> int:
    """The memory that a cell may take."""
    return int(psutil.virtual_memory().available * (1 - MEMORY_KEPT))


def session_line(running: Running) -> dict[str, object]:
    """The journal's line on a process that began to measure."""
    return {
        "schema": SCHEMA,
        "kind": "session",
        "ready": {name: value for name, value in running.ready.items() if name != "event"},
        "start_s": running.start_s,
        "machine": dataclasses.asdict(look()),
        "at_unix_s": time.time(),
    }
