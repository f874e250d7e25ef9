"""A run from its options to its verdict: subjects, plan, workers, records, gate, results."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from harness.base.errors import UsageError
from harness.catalogue.environments import installed_bytes, matched_name, releases_in
from harness.catalogue.releases import Catalogue
from harness.expectations import EXPECTATIONS
from harness.register.standing import read_expectations
from harness.run.alike import Alike
from harness.run.at_once import AtOnce
from harness.run.judged_run import Expected, JudgedRun, judged_run, summary_of
from harness.run.keeping import Keeping, KeptOptions, Taken, keeping_of
from harness.run.order import in_order, only, quick_cells, read_order
from harness.run.queues import names, package_groups, processes
from harness.run.red_before import red_cells
from harness.runs.candidates import candidates_of, keep_candidates
from harness.runs.case_filter import select_cases
from harness.runs.costs import cost_log, own_peak_bytes, read_costs
from harness.runs.plan import PlannedCell, derived, make_plan, shard
from harness.runs.provenance import Provenance, collect_provenance
from harness.runs.run_folder import RunFolder, RunState
from harness.subjects.choosing import choose_subjects, found_again, likes
from harness.subjects.packages import Sites, preflight, with_installed, with_packages
from harness.toolchain import Toolchain
from harness.toolchain.checkout import checkout_at
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.builders import MATCHED, PINNED, SEGMENT, Builder
from harness.wire.records import CellKey, CellRecord, PackageSpec, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from harness.workers.jobs import Job, make_jobs
from harness.workers.pool import run_groups, run_jobs
from harness.workers.process import PackageSetup, WorkerSetup


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of a run. Times in seconds."""

    releases: str = ""
    exporter: Path | None = None
    wheel: Path | None = None
    checkout: Path | None = None
    base: str = ""  # of the checkout; by default its merge base with the main branch
    like: str = ""
    baseline: str = ""  # the release that the other one is held against, if not the older
    subjects: tuple[str, ...] = ()  # of those that are chosen these alone, in this order
    expression: str = ""
    families: tuple[str, ...] = ()
    quick: bool = False
    budget_s: float | None = None  # None: until all is asked
    failed: bool = False  # what was red in the last run of the candidate alone
    failed_in: str = ""  # in this run instead
    full: bool = False
    corpus: tuple[str, ...] = ()  # places of cases that take the place of the project's own
    routes: tuple[str, ...] = ()
    captures: tuple[str, ...] = ("nonstrict",)
    lanes: tuple[str, ...] = (Lane.GRAPH,)
    builders: tuple[str, ...] = (SEGMENT,)  # of the package lane; the engine lane has its own
    environment: str = PINNED  # or matched
    jobs: int = 2
    timeout_s: float = 120.0
    seed: int = 0
    share: bool = True
    shard: tuple[int, int] | None = None
    apart: bool = True  # what a user brought runs in processes of its own
    kept: KeptOptions | None = None  # None: nothing is taken or kept
    out: Path = Path("results")
    expectations: Path = EXPECTATIONS
    command_line: tuple[str, ...] = ()


class Progress(Protocol):
    """Shows how far a run is."""

    def start(self, total: int, done: int) -> None: ...

    def ended(self, record: CellRecord) -> None: ...

    def say(self, line: str) -> None: ...


def run(
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    subjects: tuple[SubjectSpec, ...] = (),
    corpus: Corpus | None = None,
) -> JudgedRun:
    """Start a run and see it through.

    Args:
        subjects: who is judged, where it is not for ``options`` to say.
        corpus: what the options name, if it has been read already.

    Raises:
        UsageError, SurroundingsError: as their docstrings say; the run folder, if there is one
            already, can be resumed.
        Unavailable: the engine lane is asked for and cannot run here.
    """
    _refuse_candidate_on_gpu(options)
    installed = preflight(toolchain.python) if Lane.ENGINE in options.lanes else None
    if installed and options.environment == PINNED:
        raise UsageError(
            f"--lane {Lane.ENGINE} uses the torch that is installed",
            f"give --environment {MATCHED}",
        )
    # Before anything takes long, so that a typo costs little time.
    known = read_expectations(options.expectations, options.corpus)
    checkout = checkout_at(options.checkout, options.base) if options.checkout else None
    torch = "" if options.environment == PINNED else toolchain.python_env().torch_version
    subjects = subjects or choose_subjects(
        toolchain,
        catalogue,
        releases=releases_in(options.environment, options.releases, torch, catalogue),
        exporter=options.exporter,
        wheel=options.wheel,
        checkout=checkout,
        like=options.like,
        built_in=not options.corpus,
    )
    for spec in subjects:
        if spec.checkout and spec.kind is SubjectKind.FILE:
            progress.say(
                f"{spec.subject}: what only a package has, such as _version.py, is of "
                f"{spec.release}; compiled libraries are emulated"
            )
    if options.subjects:
        by_name = {spec.subject: spec for spec in subjects}
        subjects = tuple(by_name[name] for name in options.subjects)
    with ThreadPoolExecutor(1) as beside:
        # Two processes import torch at once; an error shows where the facts are needed.
        beside.submit(toolchain.python_env)
        corpus = corpus or read_corpus(toolchain.python, options.corpus, toolchain.cache)
    cases = select_cases(
        corpus.cases,
        options.expression,
        options.families,
        full=options.full,
        lanes=_lanes_of_cases(options.lanes),
    )
    sites: Sites = {}
    if Lane.PACKAGE in options.lanes and any(Lane.PACKAGE in case.lanes for case in cases):
        subjects, sites = with_packages(subjects, toolchain, catalogue, options.builders)
    if installed:
        subjects = with_installed(subjects, installed, catalogue)
    environment = matched_name(torch) if torch else PINNED
    plan = make_plan(cases, subjects, options.captures, options.routes or None, environment)
    expected = Expected(known, corpus, catalogue)
    plan = _chosen(plan, options, subjects, expected)
    if options.shard is not None:
        plan = shard(plan, *options.shard)
    provenance = _provenance(options, corpus, subjects)
    if options.budget_s is not None:
        provenance = dataclasses.replace(
            provenance, budget_s=options.budget_s, budget_cells=len(plan)
        )
    with RunFolder.create(options.out, provenance, plan) as folder:
        keep_candidates(folder.path, subjects)
        return _execute(folder, options, toolchain, expected, progress, subjects, sites)


def _chosen(
    plan: tuple[PlannedCell, ...],
    options: RunOptions,
    subjects: Sequence[SubjectSpec],
    expected: Expected,
) -> tuple[PlannedCell, ...]:
    """The cells that a user asks for; those that find most come first where he waits for them."""
    order = () if options.corpus else read_order()
    if options.quick:
        plan = only(plan, quick_cells(order))
    if options.failed:
        plan = only(plan, red_cells(options.failed_in, options.out, subjects, expected))
    if not plan:
        raise UsageError(
            "nothing to run: no cell that is asked for is "
            f"{'a quick one' if options.quick else 'one that was red'}"
        )
    waited_for = options.budget_s is not None or any(spec.kind.brought for spec in subjects)
    return in_order(plan, order) if waited_for else plan


def resume(
    which: str, options: RunOptions, toolchain: Toolchain, catalogue: Catalogue, progress: Progress
) -> JudgedRun:
    """Finish what is missing of a run, with its own subjects and seed.

    Raises:
        UsageError: no such run, or it was made of another corpus, inliner or torch.
        SurroundingsError, Unavailable: as `run`.
    """
    with RunFolder.open(which, options.out) as folder:
        before = folder.provenance()
        known = read_expectations(options.expectations, before.corpus)
        options = dataclasses.replace(options, seed=before.seeds[0])
        corpus = read_corpus(toolchain.python, before.corpus, toolchain.cache)
        subjects = found_again(before, toolchain, catalogue, candidates_of(folder))
        sites: Sites = {}
        had = _builders(before.subjects, Lane.PACKAGE)
        builders = tuple(dict.fromkeys(builder for names in had.values() for builder in names))
        if builders:
            subjects, sites = with_packages(subjects, toolchain, catalogue, builders, had)
        real = _builders(before.subjects, Lane.ENGINE)
        if real:
            subjects = with_installed(subjects, preflight(toolchain.python), catalogue, real)
        now = _provenance(options, corpus, subjects)
        folder.refuse_mixing(now, progress.say)
        expected = Expected(known, corpus, catalogue)
        return _execute(folder, options, toolchain, expected, progress, subjects, sites)


def _refuse_candidate_on_gpu(options: RunOptions) -> None:
    """Refuse a candidate in the engine lane, which takes the release that is installed."""
    given = {
        "--exporter": options.exporter, "--wheel": options.wheel, "--checkout": options.checkout
    }  # fmt: skip
    which = [name for name, value in given.items() if value]
    if which and Lane.ENGINE in options.lanes:
        raise UsageError(
            f"{which[0]} with --lane {','.join(options.lanes)}: that lane takes the release that "
            "is installed here",
            f"leave out --lane {Lane.ENGINE}",
        )


def _lanes_of_cases(lanes: Sequence[str]) -> set[Lane]:
    """The lanes as cases name them: the engine lane takes those of the package lane."""
    return {Lane.PACKAGE if lane == Lane.ENGINE else Lane(lane) for lane in lanes}


def _builders(subjects: Sequence[SubjectSpec], lane: Lane) -> dict[str, list[Builder]]:
    """The builders of each subject's packages in a lane; without those that have none."""
    by_subject = {
        spec.subject: [package.builder for package in spec.packages if package.lane is lane]
        for spec in subjects
    }
    return {subject: builders for subject, builders in by_subject.items() if builders}


def _provenance(options: RunOptions, corpus: Corpus, subjects: Sequence[SubjectSpec]) -> Provenance:
    return collect_provenance(
        root=PROJECT_ROOT,
        corpus_digest=corpus.digest,
        corpus=corpus.places,
        subjects=subjects,
        seeds=(options.seed,),
        command_line=options.command_line,
        baseline=options.baseline,
        environment_bytes=(
            None if options.environment == PINNED else installed_bytes(Path(sys.prefix))
        ),
    )


def _execute(
    folder: RunFolder,
    options: RunOptions,
    toolchain: Toolchain,
    expected: Expected,
    progress: Progress,
    subjects: Sequence[SubjectSpec],
    sites: Sites,
) -> JudgedRun:
    """Run what is missing of a folder's plan, then judge the whole and write the results."""
    started = time.perf_counter()
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
            how = folder, options, toolchain, subjects, sites, alike.program
            ask = partial(_run_missing, *how)
            if options.budget_s is None:
                broken = ask(missing, add_asked, again)
            else:  # what was kept is asked again however short the time is
                new = [cell for cell in missing if cell.key.cell_id not in again]
                broken = ask(new, add_asked, (), options.budget_s)
                broken |= ask([cell for cell in missing if cell not in new], add_asked)
        finally:
            if keeping:
                keeping.settle(taken, records)
                keeping.keep(asked)
        folder.append(*taken.served.values())
        records |= taken.served
        equal = alike.all_completed()
        folder.append(*equal)
        records |= {record.key.cell_id: record for record in equal}
        if keeping:
            keeping.keep(equal)
        if options.budget_s is not None:
            ended = {*records, *broken}
            folder.shorten([cell for cell in folder.plan() if cell.key.cell_id in ended])
    except BaseException:  # Ctrl-C above all: what has ended is safe, and the state says so
        folder.write_state(RunState.INTERRUPTED)
        raise
    add_derived()
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
    program: Callable[[CellKey], str],
    missing: Sequence[PlannedCell],
    add: Callable[[CellRecord], None],
    again: Collection[str] = (),
    seconds: float | None = None,
) -> dict[str, str]:
    """Run the graph lane, all workers on one queue, and the packages, a worker for each.

    The lane that is asked for first runs first. Code that a user brought is in processes of its
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
        }

        async def run_queue(jobs: list[Job], setup: WorkerSetup) -> None:
            # Now, and not before: what a candidate is held against has ended meanwhile.
            await run_jobs([job.with_programs(program) for job in jobs], setup, **how)

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
