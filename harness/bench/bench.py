"""A bench from its options to its verdict: subjects, cells, samples, judgement."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.bench import plan as plans
from harness.bench.folder import BenchFolder
from harness.bench.judging import BenchReport, judge_bench
from harness.bench.machine import look, unlike
from harness.bench.notes import notes
from harness.bench.options import BenchOptions, check, make_plan, provenance_of, subjects_of
from harness.bench.plan import BenchCell, BenchPlan
from harness.bench.process import Zygote
from harness.bench.samples import Samples, read_samples
from harness.bench.sampling import Sampling
from harness.choosing import found_again
from harness.corpus_client import Corpus, read_corpus
from harness.errors import SurroundingsError, UsageError
from harness.provenance import Provenance, resume_mismatch
from harness.releases import Catalogue
from harness.rig.records import SCHEMA, SubjectSpec
from harness.toolchain import Toolchain
from harness.workers.process import WorkerSetup

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
    """Start a bench and see it through.

    Raises:
        UsageError: an unknown release, case, route or stage.
        SurroundingsError: no wheel, no compiler, a zygote that died; the folder can be resumed.
    """
    check(options)  # before anything takes long: a typo is cheap
    baseline, candidate = subjects_of(options, toolchain, catalogue)
    corpus = read_corpus(toolchain.python, options.corpus)
    plan = make_plan(options, corpus, baseline, candidate)
    provenance = provenance_of(options, corpus, (baseline, candidate))
    folder = BenchFolder.create(options.out, provenance, plan)
    return measure(folder, (baseline, candidate), toolchain, progress)


def resume(
    which: str,
    out: Path,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    budget_s: float | None = None,
) -> JudgedBench:
    """Go on with a bench that was cut off, or give it more time.

    Raises:
        UsageError: there is none, or it was begun with another inliner, torch, corpus or machine.
        SurroundingsError: as `bench`.
    """
    folder = BenchFolder.open(which, out)
    before = folder.provenance()
    subjects = found_again(before, toolchain, catalogue)
    corpus = read_corpus(toolchain.python, before.corpus)
    options = BenchOptions(baseline="", seed=before.seeds[0], corpus=before.corpus)
    now = provenance_of(options, corpus, subjects)
    differs = [*resume_mismatch(before, now), *unlike(before, now)]
    if differs:
        raise UsageError(
            f"{folder.run_id} cannot be resumed, its samples would be mixed: "
            f"{'; '.join(differs)}; start a new bench"
        )
    if budget_s is not None:
        plan = dataclasses.replace(folder.plan(), budget_s=budget_s)
        folder.write("plan.json", plans.plan_to_json(plan))
    return measure(folder, subjects, toolchain, progress)


def reopen(which: str | Path, out: Path) -> JudgedBench:
    """A bench as it lies on the disk, judged anew.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    folder = BenchFolder.open(which, out)
    plan, provenance = folder.plan(), folder.provenance()
    samples = read_samples(plan, folder.journal().payloads)
    report = judge_bench(plan, samples, notes(provenance, samples))
    return JudgedBench(folder, plan, provenance, samples, report)


def like_recorded(options: BenchOptions, recorded: JudgedBench) -> BenchOptions:
    """The cases, stages and baseline of a recorded bench: what a new one is to be held against."""
    plan = recorded.plan
    return dataclasses.replace(
        options,
        baseline=plan.baseline,
        cases=tuple(dict.fromkeys(cell.case.name for cell in plan.cells if not cell.case.sweep)),
        routes=tuple(dict.fromkeys(cell.route for cell in plan.cells)),
        stages=",".join(plan.metrics),
        gating=",".join(plan.gating),
        corpus=recorded.provenance.corpus,
    )


def refuse_unlike(options: BenchOptions, recorded: JudgedBench) -> None:
    """Raise UsageError if this machine is not like the one of a recorded bench."""
    here = provenance_of(options, Corpus((), "", options.corpus), ())
    differs = unlike(recorded.provenance, here)
    if differs:
        raise UsageError(
            f"{recorded.folder.run_id} is of an unlike machine ({'; '.join(differs)}); "
            "--allow-mismatch compares them all the same"
        )


def measure(
    folder: BenchFolder,
    subjects: tuple[SubjectSpec, ...],
    toolchain: Toolchain,
    progress: Progress,
) -> JudgedBench:
    """Sample what is missing of a folder's plan."""
    plan = folder.plan()
    with folder.writing() as journal:
        try:
            samples = read_samples(plan, folder.journal().payloads)
            with zygote_for(folder, subjects, toolchain) as zygote:
                line = session_line(zygote)
                journal.append(line)
                samples.add(line)
                sampling = Sampling(plan, samples, zygote, journal.append, free_bytes)
                for cell in sampling.run():
                    progress(cell, plan, samples)
        finally:
            folder.release()
    return reopen(folder.path, folder.path.parent)


@contextmanager
def zygote_for(
    folder: BenchFolder, subjects: tuple[SubjectSpec, ...], toolchain: Toolchain
) -> Iterator[Zygote]:
    provenance = folder.provenance()
    setup = setup_for(provenance, subjects, folder.path / "workers", toolchain)
    with Zygote(setup) as zygote:
        if zygote.ready["corpus_digest"] != provenance.corpus_digest:
            raise SurroundingsError("the corpus was changed while the bench began; start it anew")
        yield zygote


def setup_for(
    provenance: Provenance,
    subjects: tuple[SubjectSpec, ...],
    log_folder: Path,
    toolchain: Toolchain,
) -> WorkerSetup:
    """What a zygote is started with. A subject that is its own baseline is loaded once."""
    return WorkerSetup(
        python=toolchain.python,
        library=toolchain.emulated_runtime(),
        subjects=tuple(dict.fromkeys(subjects)),
        seed=provenance.seeds[0],
        log_folder=log_folder,
        corpus_digest=provenance.corpus_digest,
        corpus=provenance.corpus,
    )


def free_bytes() -> int:
    """The memory that a cell may take."""
    return int(psutil.virtual_memory().available * (1 - MEMORY_KEPT))


def session_line(zygote: Zygote) -> dict[str, object]:
    """What a process that began to measure said of itself."""
    return {
        "schema": SCHEMA,
        "kind": "session",
        "ready": {name: value for name, value in zygote.ready.items() if name != "event"},
        "start_s": zygote.start_s,
        "machine": dataclasses.asdict(look()),
        "at_unix_s": time.time(),
    }
