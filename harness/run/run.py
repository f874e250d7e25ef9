"""A run from its options to its verdict: subjects, plan, workers, records, gate, results."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from harness.base.errors import UsageError
from harness.base.words import listed
from harness.catalogue.environments import installed_bytes, matched_name, releases_in
from harness.catalogue.releases import Catalogue
from harness.register.expected import read_expectations
from harness.run.changed_lines import changed_in
from harness.run.execute import execute, warmed
from harness.run.judged_run import Expected, JudgedRun
from harness.run.lines_run import (
    CELLS_OF_A_CHANGE,
    cells_of_change,
    never_run,
    read_lines_run,
)
from harness.run.options import OnSplit, Progress, RunOptions
from harness.run.order import Ranked, in_order, only, quick_cells, read_order
from harness.run.red_before import red_cells
from harness.runs.candidates import candidates_of, keep_candidates
from harness.runs.case_filter import select_cases
from harness.runs.kept_cases import keep_cases, kept_cases
from harness.runs.plan import PlannedCell, make_plan, shard
from harness.runs.provenance import Provenance, collect_provenance
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import choose_subjects, found_again, likes
from harness.subjects.packages import Sites, preflight, with_installed, with_packages
from harness.toolchain import Toolchain
from harness.toolchain.checkout import checkout_at
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.builders import MATCHED, PINNED, SEGMENT, Builder
from harness.wire.records import CellKey, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind
from harness.workers.process import isolation_lacking

_PACKAGE: Final = "torch_tensorrt"


def run(
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    subjects: tuple[SubjectSpec, ...] = (),
    corpus: Corpus | None = None,
    on_split: OnSplit | None = None,
) -> JudgedRun:
    """Start a run and see it through.

    Args:
        subjects: who is judged, where it is not for ``options`` to say.
        corpus: what the options name, if it has been read already.
        on_split: is told how each package splits each case of a user's own; what it raises ends
            the run, of which nothing is left.

    Raises:
        UsageError, SurroundingsError: as their docstrings say. The run folder, if there is one
            already, can be resumed; none is left of what came to nothing since a user gave
            something wrong.
        Unavailable: the engine lane is asked for and cannot run here.
    """
    _refuse_candidate_on_gpu(options)
    packages = set(options.lanes) != {Lane.GRAPH}
    with warmed(options, toolchain.python, packages=packages):  # torch is imported meanwhile
        return _run(options, toolchain, catalogue, progress, subjects, corpus, on_split)


def _run(
    options: RunOptions,
    toolchain: Toolchain,
    catalogue: Catalogue,
    progress: Progress,
    subjects: tuple[SubjectSpec, ...],
    corpus: Corpus | None,
    on_split: OnSplit | None,
) -> JudgedRun:
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
    if brought := sorted(spec.subject for spec in subjects if spec.kind.brought):
        lacking = isolation_lacking()
        cut = (
            f"cannot be cut off from the network here ({lacking})" if lacking else "have no network"
        )
        progress.say(f"{' and '.join(brought)}: the processes that run this {cut}")
    if options.subjects:
        by_name = {spec.subject: spec for spec in subjects}
        subjects = tuple(by_name[name] for name in options.subjects)
    corpus = corpus or corpus_at(options.corpus, toolchain, options.meanwhile)
    cases = select_cases(
        corpus.cases,
        options.expression,
        options.families,
        options.cases,
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
    of_change = () if options.corpus else _run_what_changed(subjects, sites, progress)
    plan = _chosen(plan, options, subjects, expected, of_change)
    _refuse_candidate_unasked(plan, subjects)
    if options.shard is not None:
        plan = shard(plan, *options.shard)
    provenance = _provenance(options, corpus, subjects)
    if options.budget_s is not None:
        provenance = dataclasses.replace(
            provenance, budget_s=options.budget_s, budget_cells=len(plan)
        )
    before = RunFolder.find(LATEST, options.out)
    folder = RunFolder.create(options.out, provenance, plan)
    try:
        with folder:
            keep_candidates(folder.path, subjects)
            python = toolchain.python
            keep_cases(folder, corpus.places, corpus.files, corpus.cases, python)
            return execute(
                folder, options, toolchain, expected, progress, subjects, sites, on_split
            )
    except UsageError:
        # A later command is not to take it for a run. Of a wrong model no verdict says anything.
        if on_split is not None or not folder.records():
            folder.discard(before)
        raise


def corpus_at(
    places: Sequence[str], toolchain: Toolchain, meanwhile: Callable[[], object] = lambda: None
) -> Corpus:
    """The cases of these places, read while the facts of the rig's Python are asked for.

    Args:
        meanwhile: is done here while others work.

    Raises:
        UsageError, SurroundingsError: as `read_corpus`.
    """
    with ThreadPoolExecutor(2) as beside:
        # Two processes import torch at once; an error shows where the facts are needed.
        beside.submit(toolchain.python_env)
        corpus = beside.submit(read_corpus, toolchain.python, places, toolchain.cache)
        meanwhile()
        return corpus.result()


def _refuse_candidate_unasked(plan: Sequence[PlannedCell], subjects: Sequence[SubjectSpec]) -> None:
    """Raise UsageError where nothing at all is asked of a candidate: that would look green."""
    asked = {cell.key.subject for cell in plan}
    for spec in subjects:
        if spec.kind.brought and spec.subject not in asked:
            raise UsageError(
                f"{spec.subject}: nothing is asked of it in these lanes, with these builders, "
                "routes and cases",
                "leave out --lane, --builder, --routes or -k, or choose others",
            )


def _chosen(
    plan: tuple[PlannedCell, ...],
    options: RunOptions,
    subjects: Sequence[SubjectSpec],
    expected: Expected,
    of_change: Sequence[CellKey],
) -> tuple[PlannedCell, ...]:
    """The cells that a user asks for; those that find most come first where he waits for them.

    Args:
        of_change: the cells that run what a candidate changes, which come before all others.
    """
    order = () if options.corpus else read_order()
    if options.quick:
        quick = quick_cells(order)
        more = [cell for cell in of_change if cell not in quick]
        plan = only(plan, quick.union(more[:CELLS_OF_A_CHANGE]))
    if options.failed:
        plan = only(plan, red_cells(options.failed_in, options.out, subjects, expected))
    if not plan:
        raise UsageError(
            "nothing to run: no cell that is asked for is "
            f"{'a quick one' if options.quick else 'one that was red'}"
        )
    waited_for = options.budget_s is not None or any(spec.kind.brought for spec in subjects)
    first = [Ranked(cell, 0.0) for cell in of_change]
    return in_order(plan, [*first, *order]) if waited_for else plan


def _run_what_changed(
    subjects: Sequence[SubjectSpec], sites: Sites, progress: Progress
) -> tuple[CellKey, ...]:
    """The cells of the package lane that run what candidates change; what none runs is told."""
    against = likes(subjects)
    # A checkout's base is held against its release as well, and nobody asks what it breaks.
    candidates = against.keys() - {*against.values()}
    if not candidates:
        return ()
    known = read_lines_run()
    release = sites.get((known.release, SEGMENT))
    cells: list[CellKey] = []
    for candidate in sorted(candidates):
        names = candidate, against[candidate]
        site, base = (sites.get((name, SEGMENT)) for name in names)
        if not (site and base and release):
            continue
        changed = changed_in(*(each.folder / _PACKAGE for each in (base, site, release)))
        cells += cells_of_change(known, changed)
        if unrun := never_run(known, changed):
            progress.say(
                f"{candidate}: with emulated engines no case runs {listed(unrun)} of "
                f"{known.release}, which it changes"
            )
    return tuple(dict.fromkeys(cells))


def resume(
    which: str, options: RunOptions, toolchain: Toolchain, catalogue: Catalogue, progress: Progress
) -> JudgedRun:
    """Finish what is missing of a run, with its own subjects and seed.

    Raises:
        UsageError: no such run, or it was made of another corpus, inliner or torch.
        SurroundingsError, Unavailable: as `run`.
    """
    with RunFolder.open(which, options.out) as folder:
        before, kept = folder.provenance(), kept_cases(folder)
        if kept is not None:
            toolchain = dataclasses.replace(toolchain, python=kept.interpreter)
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
        packages = any(cell.key.lane is not Lane.GRAPH for cell in folder.plan())
        options = dataclasses.replace(options, corpus=before.corpus)
        with warmed(options, toolchain.python, packages=packages):
            return execute(folder, options, toolchain, expected, progress, subjects, sites)


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
