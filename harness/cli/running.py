"""`run`, `merge` and `acceptance`: whole runs, made, joined, and held against each other."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.program import PROGRAM, command_line
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import (
    INTERRUPTED,
    add_step_summary,
    captures,
    err,
    fail,
    listed,
    tell,
    toolchain_for,
)
from harness.cli.results import summary_now, tell_gate
from harness.expectations import EXPECTATIONS
from harness.run.acceptance import whole_run_differences
from harness.run.defect_lines import kept_words
from harness.run.judged_run import JudgedRun, raise_if_nothing_ran, reopen, summary_of
from harness.run.keeping import KeptOptions
from harness.run.progress import progress_for
from harness.run.run import RunOptions, resume, run
from harness.runs.kept_store import FILE
from harness.runs.merging import Part, merge
from harness.runs.run_directory import LATEST
from harness.runs.run_folder import RunFolder, RunState, read_summary
from harness.subjects.choosing import choose_subjects
from harness.toolchain.rig_client import absolute
from harness.wire.builders import PINNED, SEGMENT
from harness.wire.records import CellRecord
from harness.wire.routes import Lane

ON_RESUME = frozenset(
    (
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
    expression: option.Expression = "",
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    quick: option.Quick = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="All cases, and all models through all packages: 45 minutes."),
    ] = False,
    corpus: option.CorpusPlaces = None,
    lane: Annotated[
        str,
        typer.Option(
            help="graph, package (whole packages), or both; engine (the package that "
            "is installed here, its engines on the GPU). By default graph; both with --corpus and "
            "--checkout."
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
    jobs: option.Jobs = option.CPUS,
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
    if quick and full:
        raise UsageError("--quick and --full ask for opposite things; give one of them")
    if resume_run:
        _refuse_choices(context)
    options = RunOptions(
        releases=releases,
        exporter=exporter,
        wheel=wheel,
        checkout=checkout,
        base=base,
        like=like,
        expression=expression,
        families=tuple(family or ()),
        quick=quick,
        full=full,
        corpus=absolute(corpus or ()),
        routes=listed(routes),
        lanes=_lanes(lane or _default_lanes(bool(corpus or checkout), bool(exporter or wheel))),
        builders=listed(builder) or (SEGMENT,),
        environment=environment,
        captures=captures(capture),
        jobs=jobs,
        timeout_s=timeout,
        seed=seed,
        share=share,
        shard=_shard(shard),
        kept=kept_options(rerun, audit, kept),
        out=out_dir,
        expectations=expectations,
        command_line=command_line(),
    )
    toolchain = toolchain_for(wheelhouse, offline)
    progress = progress_for(err)
    before = _latest(out_dir)
    try:
        if resume_run:
            judged = resume(resume_run, options, toolchain, load_catalogue(), progress)
        else:
            judged = run(options, toolchain, load_catalogue(), progress)
    except KeyboardInterrupt:
        made = _latest(out_dir)
        which = resume_run or (str(made) if made != before else "")
        fail(ExitCode.INTERRUPTED, INTERRUPTED + _how_to_go_on(which, out_dir, expectations))
    finally:
        progress.close()
    return show_verdict(judged)


def show_verdict(judged: JudgedRun) -> int:
    """The first screen, the report, and the exit code."""
    raise_if_nothing_ran(judged)
    # Here: who is refused need not wait until what draws pages is imported.
    from harness.report.run_report import write_run_report

    folder = judged.folder.path
    write_run_report(judged, read_summary(folder) or summary_now(judged))
    add_step_summary(folder)
    code = tell_gate(judged)
    summary = read_summary(folder)
    if summary and (told := kept_words(summary)):
        tell(f"kept: {told}")
    tell(f"report: {folder / 'report.html'}")
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


def _latest(out_dir: Path) -> Path | None:
    """The folder of the newest run, below ``out_dir`` as the user named it."""
    link = out_dir / LATEST
    return out_dir / link.resolve().name if link.exists() else None


def _how_to_go_on(which: str, out_dir: Path, expectations: Path) -> str:
    if not which:
        return ""  # it did not come to a folder of its own
    words = [*PROGRAM.split(), "run", "--resume", which]
    words += ["--out", str(out_dir)] if out_dir != option.RESULTS else []
    words += ["--expectations", str(expectations)] if expectations != EXPECTATIONS else []
    return f"\nresume: {shlex.join(words)}"


def _default_lanes(whole: bool, file: bool) -> str:
    """Both for a checkout and for a user's cases; one file and a wheel are asked for quickly."""
    return f"{Lane.GRAPH},{Lane.PACKAGE}" if whole and not file else Lane.GRAPH


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


def _lanes(text: str) -> tuple[str, ...]:
    asked = listed(text)
    if not asked or set(asked) - set(Lane):
        raise UsageError(f"--lane {text!r}: {', '.join(Lane)}, or several with commas")
    return asked


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit()):
        raise UsageError(f"--shard {text!r}: I/N, such as 1/4")
    return int(index), int(count)


def merge_command(
    runs: Annotated[list[str], typer.Argument(help="Runs' folders or ids, two or more.")],
    allow_mismatch: option.AllowMismatch = False,
    out_dir: option.Out = option.RESULTS,
    expectations: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """Join runs of several environments or machines into a new run, and judge it."""
    parts = [_part(RunFolder.open(name, out_dir)) for name in runs]
    merged = merge(parts, allow_mismatch=allow_mismatch)
    with RunFolder.create(out_dir, merged.provenance, merged.plan) as folder:
        folder.append(*merged.records.values())
    judged = reopen(str(folder.path), out_dir, toolchain_for(), load_catalogue(), expectations)
    _write_results(judged)
    for mismatch in merged.provenance.mismatches:
        tell(f"merged all the same: {mismatch}")
    return show_verdict(judged)


def _part(folder: RunFolder) -> Part:
    return Part(
        name=folder.run_id,
        provenance=folder.provenance(),
        plan=folder.plan(),
        records=folder.records(),
        schema=folder.schema(),
    )


def _write_results(judged: JudgedRun) -> None:
    """As at the end of a run; what it took is told by the sources, not by the whole."""
    summary = summary_of(judged, RunState.COMPLETE, wall_s=None)
    with judged.folder as folder:
        folder.write_results(summary, judged.cases, judged.records)
        folder.write_state(RunState.COMPLETE)


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
    toolchain, catalogue = toolchain_for(wheelhouse, offline), load_catalogue()
    options = RunOptions(
        releases=releases,
        expression=expression,
        quick=quick,
        jobs=jobs,
        out=out_dir,
        command_line=command_line(),
    )

    def records_of(subjects: Sequence[str]) -> Mapping[str, CellRecord]:
        progress = progress_for(err)
        try:
            asked = dataclasses.replace(options, subjects=tuple(subjects))
            judged = run(asked, toolchain, catalogue, progress)
        finally:
            progress.close()
        raise_if_nothing_ran(judged)
        return judged.records

    chosen = choose_subjects(toolchain, catalogue, releases=releases)
    subjects = [spec.subject for spec in chosen]
    different = 0
    for each in whole_run_differences(subjects, records_of):  # told at once: the runs take long
        different += 1
        tell(each.line)
    runs = len(subjects) + 2
    tell(f"{len(subjects)} subjects, {runs} runs: {different} cells end in another way")
    return ExitCode.RED if different else ExitCode.GREEN
