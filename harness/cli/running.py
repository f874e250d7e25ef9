"""`run` and `acceptance`: whole runs, made, and held against each other."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.garbage import no_collections
from harness.base.program import command_line
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.clusters import workers_on
from harness.cli.common import (
    add_step_summary,
    captures,
    err,
    lanes,
    listed,
    mends_in,
    say,
    say_error,
    shown,
    tell,
    toolchain_for,
)
from harness.cli.interrupted import resume_goes_on
from harness.cli.results import summary_by_todays_expectations, tell_gate
from harness.expectations import EXPECTATIONS
from harness.run.acceptance import whole_run_differences
from harness.run.defect_lines import kept_words
from harness.run.judged_run import JudgedRun, raise_if_nothing_ran
from harness.run.keeping import KeptOptions
from harness.run.options import RunOptions
from harness.run.progress import progress_for
from harness.run.run import resume, run
from harness.run.turns import changes_since, saved_state
from harness.runs.kept_store import FILE
from harness.runs.run_folder import RunFolder, read_summary
from harness.subjects.choosing import choose_subjects
from harness.subjects.mended import mended_wheel
from harness.toolchain import Toolchain
from harness.toolchain.checkout import checkout_at
from harness.toolchain.extra_packages import python_with
from harness.toolchain.rig_client import absolute
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.records import CellRecord
from harness.wire.routes import Lane

WATCH_EVERY_S = 0.3
ON_RESUME = frozenset(
    (
        "on",
        "jobs",
        "timeout",
        "share",
        "resume_run",
        "out_dir",
        "wheelhouse",
        "offline",
        "expectations",
        "rerun",
        "audit",
        "kept",
    )
)
"""What a resumed run can be given; all else it has from its folder."""


def run_command(
    context: typer.Context,
    releases: option.Releases = "",
    exporter: option.Exporter = None,
    wheel: option.Wheel = None,
    checkout: option.Checkout = None,
    base: option.Base = "",
    like: option.Like = "",
    mended: option.Mended = "",
    only: option.Only = "",
    expression: option.Expression = "",
    family: option.Families = None,
    cases: Annotated[
        str, typer.Option(help="Only these cases, by their whole names, with commas; see `plan`.")
    ] = "",
    quick: option.Quick = False,
    budget: Annotated[
        float | None,
        typer.Option(min=1.0, help="Seconds to ask in; the cells that find most come first."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only what was red in the candidate's last run.")
    ] = False,
    failed_in: Annotated[str, typer.Option("--run", help="With --failed: red in this run.")] = "",
    watch: Annotated[
        bool, typer.Option("--watch", help="Ask again after each save of the candidate's files.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="All cases, and all models through all packages: about an hour."
        ),
    ] = False,
    corpus: option.CorpusPlaces = None,
    python: option.Python = "",
    with_: option.With = None,
    lane: Annotated[
        str,
        typer.Option(
            help="graph, package (whole packages), or both; engine (the package that "
            "is installed here, its engines on the GPU). By default graph; both with --corpus and "
            "--checkout, and of a candidate with --quick."
        ),
    ] = "",
    builder: Annotated[
        str,
        typer.Option(
            help="Of the package lane: segment, tensorrt-rtx (real engines, of the newest two "
            "releases), tensorrt-rtx-VERSION or tensorrt-rtx-* (of all that name any); with commas."
        ),
    ] = SEGMENT,
    environment: Annotated[
        str,
        typer.Option(help="pinned, or matched: the releases that pin the torch installed here."),
    ] = PINNED,
    routes: Annotated[str, typer.Option(help="Such as legacy, export, direct; with commas.")] = "",
    capture: Annotated[str, typer.Option(help="nonstrict, strict, or both, with a comma.")] = (
        "nonstrict"
    ),
    on: option.On = "",
    jobs: option.WorkerCount = None,
    timeout: option.Timeout = 120.0,
    seed: option.Seed = 0,
    share: Annotated[
        bool, typer.Option(help="Export, save, load and judge equal programs once.")
    ] = True,
    resume_run: Annotated[
        str, typer.Option("--resume", help="Finish a run that was cut off.")
    ] = "",
    shard: Annotated[str, typer.Option(help="I/N: the I-th of N parts of the corpus.")] = "",
    rerun: option.Rerun = False,
    audit: option.Audit = "",
    kept: option.KeptOfOthers = None,
    out_dir: option.NewOut = option.RESULTS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    expectations: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """Take the corpus through releases, judge every cell, and write the report.

    The exit code is the gate's: 0 green, 1 red, 3 where something could not be asked.
    """
    if base and not checkout:
        raise UsageError("--base says what --checkout is held against; give that one too")
    if mended and (exporter or wheel or checkout or like):
        raise UsageError("--mended is a candidate and what it is held against; name no other one")
    mends = mends_in(mended, only)
    if quick and full:
        raise UsageError("--quick and --full ask for opposite things; give one of them")
    if failed_in and not failed:
        raise UsageError("--run says whose red cells --failed asks; give that one too")
    if watch and not (exporter or wheel or checkout):
        raise UsageError("--watch waits for a candidate's files; give --exporter or --checkout")
    if resume_run:
        _refuse_choices(context)
    toolchain = python_with(toolchain_for(wheelhouse, offline), python, with_)
    if mended:
        wheel, like = mended_wheel(mended, mends, toolchain), mended
    # One file and a wheel are asked for quickly; what is quick has a few cells of either lane.
    file = exporter or (wheel if not mended else None)
    both = file or checkout or mended if quick else not file and (corpus or checkout or mended)
    options = RunOptions(
        releases=releases,
        exporter=exporter,
        wheel=wheel,
        checkout=checkout,
        base=base,
        like=like,
        expression=expression,
        families=tuple(family or ()),
        cases=listed(cases),
        quick=quick,
        budget_s=budget,
        failed=failed,
        failed_in=failed_in,
        full=full,
        corpus=absolute(corpus or ()),
        routes=listed(routes),
        lanes=lanes(lane or (f"{Lane.GRAPH},{Lane.PACKAGE}" if both else Lane.GRAPH)),
        builders=listed(builder) or (SEGMENT,),
        environment=environment,
        captures=captures(capture),
        timeout_s=timeout,
        seed=seed,
        share=share,
        shard=_shard(shard),
        kept=kept_options(rerun, audit, kept),
        out=out_dir,
        expectations=expectations,
        command_line=command_line(),
    )
    with workers_on(on, toolchain, jobs) as (launcher, count):
        options = dataclasses.replace(
            options, launcher=launcher, jobs=count, meanwhile=_import_what_draws_pages
        )
        if watch:
            return watched(lambda: seen_through(options, toolchain), options)
        more = ("--expectations", str(expectations)) if expectations != EXPECTATIONS else ()
        with resume_goes_on(RunFolder, resume_run, out_dir, *more):
            judged = seen_through(options, toolchain, resume_run)
    return show_verdict(judged)


def _import_what_draws_pages() -> None:
    import_module("harness.report.run_report")


def seen_through(options: RunOptions, toolchain: Toolchain, resume_run: str = "") -> JudgedRun:
    """A run, a new one or one that goes on, with its progress told."""
    with closing(progress_for(err)) as progress:
        if resume_run:
            return resume(resume_run, options, toolchain, load_catalogue(), progress)
        return run(options, toolchain, load_catalogue(), progress)


def watched(ask: Callable[[], JudgedRun], options: RunOptions) -> int:
    """A run after each save of a candidate's files, until Ctrl-C; the last verdict's exit code.

    What is wrong with a file, such as a typo, is told, and the next save is waited for.
    """
    place = options.exporter or options.wheel
    if place is None:
        assert options.checkout is not None
        place = checkout_at(options.checkout, options.base).root
    code, last = int(ExitCode.INTERRUPTED), None
    try:
        while True:
            seen = saved_state(place)
            try:
                judged = ask()
                code = show_verdict(judged)
                for line in changes_since(last, judged):
                    tell(line)
                last = judged
            except UsageError as error:
                code = int(ExitCode.USAGE)
                say_error(str(error))
            say(f"waiting for a save of {place}; Ctrl-C ends")
            while saved_state(place) == seen:
                sleep(WATCH_EVERY_S)
    except KeyboardInterrupt:
        return code


@no_collections()
def show_verdict(judged: JudgedRun) -> int:
    """The first screen, then the report, and the exit code."""
    raise_if_nothing_ran(judged)
    code = tell_gate(judged)
    folder = judged.folder.path
    summary = read_summary(folder)
    if summary and (told := kept_words(summary)):
        tell(f"kept: {told}")
    # Here: who waits for the answer need not wait until what draws pages is imported.
    from harness.report.run_report import write_run_report

    write_run_report(judged, summary or summary_by_todays_expectations(judged))
    add_step_summary(folder)
    tell(f"report: {shown(folder / 'report.html')}")
    return int(code)


def _refuse_choices(context: typer.Context) -> None:
    """Raises UsageError where a resumed run is asked for other cells than it has."""
    given = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in ON_RESUME and source and source.name == "COMMANDLINE":
            given.append(parameter.opts[0])
    if given:
        raise UsageError(
            f"{', '.join(given)} with --resume: a run that goes on has its own subjects, cases and "
            "seed; leave it out, or start a new run without --resume"
        )


def kept_options(rerun: bool, audit: str, other: Path | None) -> KeptOptions | None:
    """What is asked of kept verdicts; None where the environment says that nothing is kept."""
    if rerun and (audit or other):
        raise UsageError("--rerun takes no kept verdict; leave out --audit and --kept")
    if other is not None and not other.is_dir():
        raise UsageError(f"--kept {other}: no such folder; name one that holds {FILE}")
    asked = KeptOptions(rerun, _percent(audit), other)
    return None if os.environ.get("INLINER_REGRESS_KEPT") == "no" else asked


def _percent(text: str) -> float:
    if not text:
        return 0.0
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not text.endswith("%") or not 0 <= share <= 1:
        raise UsageError(f"--audit {text!r}: a share of the kept verdicts, such as 2%")
    return share


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit()):
        raise UsageError(f"--shard {text!r}: I/N, such as 1/4")
    return int(index), int(count)


def acceptance_command(
    releases: option.Releases = "",
    expression: option.Expression = "",
    quick: option.Quick = False,
    jobs: option.Jobs = option.CPUS,
    out_dir: Annotated[Path, typer.Option("--out", help="Where to make the run folders.")] = Path(
        "results/acceptance"
    ),
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Check that verdicts depend neither on the order of subjects nor on their company.

    Whole runs of the graph lane are held against each other, cell by cell.
    """
    toolchain = toolchain_for(wheelhouse, offline)
    options = RunOptions(
        releases=releases,
        expression=expression,
        quick=quick,
        jobs=jobs,
        out=out_dir,
        command_line=command_line(),
    )

    def records_of(subjects: Sequence[str]) -> Mapping[str, CellRecord]:
        judged = seen_through(dataclasses.replace(options, subjects=tuple(subjects)), toolchain)
        raise_if_nothing_ran(judged)
        return judged.records

    chosen = choose_subjects(toolchain, load_catalogue(), releases=releases)
    subjects = [spec.subject for spec in chosen]
    different = 0
    for each in whole_run_differences(subjects, records_of):  # told at once: the runs take long
        different += 1
        tell(each.line)
    runs = len(subjects) + 2
    tell(f"{len(subjects)} subjects, {runs} runs: {different} cells end in another way")
    return ExitCode.RED if different else ExitCode.GREEN
