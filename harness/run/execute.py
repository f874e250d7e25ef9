"""A planned run: what is kept is taken, workers run the rest, and the whole is judged."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from harness.base.garbage import no_collections
from harness.run.alike import Alike
from harness.run.at_once import AtOnce
from harness.run.budget import parts, refuse_nothing_said
from harness.run.judged_run import Expected, JudgedRun, faults_in, judged_run, summary_of
from harness.run.keeping import Keeping, Taken, keeping_of
from harness.run.options import OnSplit, Progress, RunOptions
from harness.run.queues import names, package_groups, processes
from harness.runs.costs import cost_log, own_peak_bytes, read_costs
from harness.runs.plan import PlannedCell, derived
from harness.runs.run_folder import RunFolder, RunState
from harness.subjects.choosing import likes
from harness.subjects.packages import Sites
from harness.toolchain import Toolchain
from harness.toolchain.rig_client import Corpus
from harness.wire.records import CellKey, CellRecord, PackageSpec, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from harness.workers.jobs import Job, make_jobs
from harness.workers.pool import all_of, run_groups, run_jobs
from harness.workers.process import PackageSetup, WorkerSetup
from harness.workers.warm import PACKAGES


def warmed(options: RunOptions, python: str, *, packages: bool) -> AbstractContextManager[None]:
    """While the body runs, workers are forks of processes that import torch from now on.

    Args:
        packages: whether there may be cells of whole packages.
    """
    more = PACKAGES if packages else ()
    own = not packages and not options.corpus
    return options.launcher.warm(python, options.seed, more, cases=own)


def execute(
    folder: RunFolder,
    options: RunOptions,
    toolchain: Toolchain,
    expected: Expected,
    progress: Progress,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
    on_split: OnSplit | None = None,
) -> JudgedRun:
    """Run what is missing of a folder's plan, then judge the whole and write the results.

    Its workers start at once where it is called in `warmed`.
    """
    started = time.perf_counter()
    options.meanwhile()
    faults_in(expected)  # meanwhile, too: it is needed when workers have ended
    records = folder.records()
    if folder.journal().dropped:
        progress.say(f"journal: {folder.journal().dropped}")
    missing = [cell for cell in folder.plan() if cell.key.cell_id not in records]
    keeping = _keeping(folder, options, toolchain, expected.corpus, progress, subjects, sites)
    taken = keeping.take(missing) if keeping else Taken()
    missing = [cell for cell in missing if cell.key.cell_id not in taken.served]
    copies = [each for each in derived(missing, taken.served) if each.kept_from]
    done = len(records) + len(taken.served) + len(copies)
    progress.start(total=len(folder.plan()), done=done)
    asked: list[CellRecord] = []

    def add(record: CellRecord) -> None:
        folder.append(record)
        records[record.key.cell_id] = record
        progress.ended(record)

    lacking = folder.lacking()

    def told_split(split: Mapping[str, Any]) -> None:
        case = split["case"]
        if split.get("lacks") and case not in lacking:
            lacking[case] = tuple(split["lacks"])
            folder.add_lacking(case, lacking[case])
        if on_split is not None and split["subject"]:
            on_split(split)

    def known(key: CellKey) -> CellRecord | None:
        return records.get(key.cell_id) or taken.served.get(key.cell_id)

    at_once = AtOnce(likes(subjects), known, progress.say)
    planned = {cell.key.cell_id: cell for cell in folder.plan()}
    run_id = folder.provenance().run_id
    alike = Alike(likes(subjects), planned, known, taken.asked_again, run_id)

    def add_asked(record: CellRecord) -> None:
        if completed := alike.completed(record):
            progress.ended(completed)
            return
        add(record)
        at_once.ended(record)
        asked.append(record)

    def add_derived() -> None:
        found = derived(folder.plan(), records)
        folder.append(*found)
        for record in found:
            records[record.key.cell_id] = record
            if not record.kept_from:  # those were counted with what they are copies of
                progress.ended(record)

    add_derived()
    folder.write_state(RunState.RUNNING)
    try:
        try:
            again = taken.asked_again
            how = folder, options, toolchain, subjects, sites, told_split, alike.program
            ask = partial(_run_missing, *how)
            if options.budget_s is None:
                broken = ask(missing, add_asked, again)
            else:  # what was kept is asked again however short the time is
                new = [cell for cell in missing if cell.key.cell_id not in again]
                broken = _in_budget(
                    new, folder, subjects, options.budget_s, partial(ask, add=add_asked)
                )
                broken |= ask([cell for cell in missing if cell not in new], add_asked)
        finally:
            if keeping:
                keeping.settle(taken, records)
                if unlike := options.launcher.unlike(options.seed) if asked else "":
                    progress.say(f"nothing of this run is kept: {unlike}")
                    keeping = None
                else:
                    keeping.keep(asked)
        folder.append(*taken.served.values())
        records |= taken.served
        equal = alike.all_completed()
        folder.append(*equal)
        records |= {record.key.cell_id: record for record in equal}
        if keeping:
            keeping.keep(equal)
        if options.budget_s is not None:
            add_derived()  # of cells that nobody asked there is none
            ended = {*records, *broken}
            if len(ended) < len(folder.plan()):
                refuse_nothing_said(likes(subjects), records.values())
            folder.shorten([cell for cell in folder.plan() if cell.key.cell_id in ended])
    except BaseException:  # Ctrl-C above all: what has ended is safe, and the state says so
        folder.write_state(RunState.INTERRUPTED)
        raise
    add_derived()
    with no_collections():
        judged = dataclasses.replace(judged_run(folder, expected, records), broken=broken)
        summary = summary_of(
            judged,
            RunState.COMPLETE,
            wall_s=time.perf_counter() - started,
            spent=read_costs(folder.path),
            controller_peak_bytes=own_peak_bytes(),
        )
        if "kept" in summary:
            summary["kept"]["asked_again"] = len(taken.asked_again)
        folder.write_results(summary, judged.cases, records)
        folder.write_state(RunState.COMPLETE)
        return judged


def _in_budget(
    cells: Sequence[PlannedCell],
    folder: RunFolder,
    subjects: Sequence[SubjectSpec],
    budget_s: float,
    ask: Callable[..., dict[str, str]],
) -> dict[str, str]:
    """Ask what there is time for. Each part gets its share of the seconds that are left."""
    ends = time.monotonic() + budget_s
    asked = parts(cells, folder.plan(), likes(subjects))
    broken: dict[str, str] = {}
    for number, part in enumerate(asked):
        left = max(0.0, ends - time.monotonic())
        broken |= ask(part, seconds=left / (len(asked) - number))
    return broken


def _keeping(
    folder: RunFolder,
    options: RunOptions,
    toolchain: Toolchain,
    corpus: Corpus,
    progress: Progress,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
) -> Keeping | None:
    """The kept verdicts of a run, where a user wants any."""
    if options.kept is None:
        return None
    if unlike := options.launcher.unlike(options.seed):
        progress.say(f"no verdict is kept or taken: {unlike}")
        return None
    return keeping_of(
        options.kept,
        toolchain,
        corpus,
        subjects,
        sites,
        folder.plan(),
        folder.provenance(),
        options.share,
        progress.say,
    )


def _worker_setup(
    folder: RunFolder,
    options: RunOptions,
    toolchain: Toolchain,
    subjects: Sequence[SubjectSpec],
) -> WorkerSetup:
    return WorkerSetup(
        python=toolchain.python,
        library=toolchain.emulated_runtime(),
        subjects=subjects,
        seed=options.seed,
        log_folder=folder.path / "workers",
        corpus_digest=folder.provenance().corpus_digest,
        corpus=folder.provenance().corpus,
        share=options.share,
    )


def _run_missing(
    folder: RunFolder,
    options: RunOptions,
    toolchain: Toolchain,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
    on_split: OnSplit,
    program: Callable[[CellKey], str],
    missing: Sequence[PlannedCell],
    add: Callable[[CellRecord], None],
    again: Collection[str] = (),
    seconds: float | None = None,
) -> dict[str, str]:
    """Run the graph lane, all workers on one queue, and the packages, a worker for each.

    The lane that is asked for first runs first; the package of a candidate, for whom somebody
    waits, runs beside the graph lane. Code that a user brought is in processes of its
    own, where it can change nothing for the releases, whose verdicts are kept. What is only asked
    ``again`` comes last. ``program`` tells which program of a cell has been judged already.

    With ``seconds`` it stops when they are over. What a candidate is held against gets half of them
    at most, since nothing is said of a cell before both have ended.
    """
    ends = math.inf if seconds is None else time.monotonic() + seconds
    graph = [cell for cell in missing if cell.key.lane == Lane.GRAPH]
    queues = [
        (jobs, _worker_setup(folder, options, toolchain, of))
        for of in (processes(subjects) if options.apart else [list(subjects)])
        if (jobs := make_jobs([cell for cell in graph if cell.key.subject in names(of)]))
    ]

    def package_setup(spec: SubjectSpec, package: PackageSpec) -> PackageSetup:
        real = package.lane is Lane.ENGINE
        site = None if real else sites[spec.subject, package.builder]
        return PackageSetup(
            python=toolchain.python,
            subjects=[spec],
            seed=options.seed,
            log_folder=folder.path / "workers" / f"{spec.subject}-{package.builder}",
            corpus_digest=folder.provenance().corpus_digest,
            release=spec.subject if site is None else site.release,
            site=site,
            engines=toolchain.engines,
            corpus=folder.provenance().corpus,
            executor=package.executor,
            device="cuda" if real else "cpu",
        )

    queues.sort(
        key=lambda queue: {c.key.cell_id for job in queue[0] for c in job.cells} <= set(again)
    )
    groups = package_groups(missing, package_setup, subjects)
    candidates = [spec for spec in subjects if spec.kind is SubjectKind.FILE]
    broken: dict[str, str] = {}
    with cost_log(folder.path) as on_cost:
        how: Any = {
            "count": options.jobs,
            "timeout_s": options.timeout_s,
            "on_record": add,
            "on_cost": on_cost,
            "broken": broken,
            "launcher": options.launcher,
            "on_split": on_split,
        }

        async def run_queue(
            jobs: list[Job], setup: WorkerSetup, free: asyncio.Semaphore | None = None
        ) -> None:
            # Now, and not before: what a candidate is held against has ended meanwhile.
            await run_jobs([job.with_programs(program) for job in jobs], setup, free=free, **how)

        async def beside_each_other() -> None:
            """The packages of candidates from the start on, and on the other workers the rest.

            When the rest has ended, its workers' places go to those packages, too.
            """
            free, rest_ended = asyncio.Semaphore(options.jobs), asyncio.Event()
            own, others = (
                [group for group in groups if (group[1].subjects[0] in candidates) is of_candidate]
                for of_candidate in (True, False)
            )

            async def the_rest() -> None:
                for jobs, setup in queues:
                    await run_queue(jobs, setup, free)
                await run_groups(others, free=free, **how)
                rest_ended.set()

            await all_of((run_groups(own, free=free, more=rest_ended, **how), the_rest()))

        if seconds is None and candidates and queues and groups and options.jobs > 1:
            asyncio.run(beside_each_other())
            return broken
        asked: list[Any] = [
            (partial(run_queue, jobs, with_), with_.subjects) for jobs, with_ in queues
        ]
        packages: list[Any] = [(partial(run_groups, groups, **how), subjects)] if groups else []
        for run_all, of in asked + packages if options.lanes[0] == Lane.GRAPH else packages + asked:
            now, is_candidate = time.monotonic(), any(spec in candidates for spec in of)
            until = ends if is_candidate or not candidates else (now + ends) / 2
            asyncio.run(_within(until - now, run_all()))
    return broken


async def _within(seconds: float, running: Awaitable[None]) -> None:
    """Wait for something so long, and then end it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None if seconds == math.inf else seconds):
            await running
