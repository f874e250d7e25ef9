"""`python -m harness`: the thin rim. Only this module prints, reads the environment and exits."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from harness import doctor as checks
from harness.corpus_client import ask_rig, read_corpus, select_cases, split_text
from harness.errors import SurroundingsError, UsageError
from harness.exitcodes import ExitCode
from harness.expectations.ledger import obsolete, stale_selectors, uses
from harness.expectations.ledger_file import LEDGER_FILE, to_toml
from harness.expectations.propose import propose
from harness.findings import first_screen
from harness.progress import progress_for
from harness.releases import Catalogue, load_catalogue
from harness.reporting import read_summary, write_run_report
from harness.rig.records import SubjectSpec, to_json
from harness.run import (
    RUNTIME_SOURCE,
    JudgedRun,
    RunOptions,
    choose_subjects,
    raise_if_nothing_ran,
    reopen,
    resume,
    run,
)
from harness.subjects import BUILTIN_SUBJECTS, TORCH_SUBJECT, builtin_subjects, torch_subject
from harness.summary import summarise
from harness.toolchain import Toolchain, clean
from harness.toolchain.environment import PROJECT_ROOT

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Sends split models through the inliners of Torch-TensorRT and judges what comes back.",
)
releases_app = typer.Typer(invoke_without_command=True, help="The catalogue of releases.")
app.add_typer(releases_app, name="releases")

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

Wheelhouse = Annotated[
    Path | None,
    typer.Option(help="A folder of wheels, in place of the registry."),
]
Offline = Annotated[bool, typer.Option(help="Ask no registry; what is cached is used.")]
Out = Annotated[Path, typer.Option(help="Where run folders are.")]
RunName = Annotated[str, typer.Argument(help="A run's folder or id, or `latest`.")]
Exporter = Annotated[
    Path | None, typer.Option(help="An _exporter.py to judge, with a release's wheel around it.")
]
Like = Annotated[
    str, typer.Option(help="The release that --exporter is held against; the newest by default.")
]
Capture = Annotated[str, typer.Option(help="nonstrict or strict.")]
Ledger = Annotated[Path, typer.Option(help="The ledger of expected failures.")]

RESULTS = Path("results")


def main() -> None:
    """Run the command line; every way to end has its exit code (`harness.exitcodes`)."""
    try:
        # Not standalone: typer would turn every exception into exit code 1, which means red here.
        code = app(standalone_mode=False)
    except (UsageError, typer.BadParameter) as error:
        _fail(ExitCode.USAGE, str(error))
    except SurroundingsError as error:
        _fail(ExitCode.FAILED, str(error))
    except Exception as error:  # noqa: BLE001 - the rim: exit code 1 would mean red
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # click's own wrong-use errors
            error.show()
            sys.exit(ExitCode.USAGE)
        err.print_exception()
        _fail(ExitCode.FAILED, "the harness itself crashed; this says nothing of the subjects")
    if code == ExitCode.INTERRUPTED:  # typer takes the KeyboardInterrupt for itself
        _fail(ExitCode.INTERRUPTED, "interrupted; what has ended is kept")
    sys.exit(code if isinstance(code, int) else ExitCode.GREEN)


def _fail(code: ExitCode, message: str) -> None:
    if code is ExitCode.INTERRUPTED:
        message += f"\nresume: python -m harness run --resume {RESULTS / 'latest'}"
    else:
        message = f"error: {message}"
    err.print(message, markup=False, soft_wrap=True)
    sys.exit(code)


def _toolchain(wheelhouse: Path | None = None, offline: bool = False) -> Toolchain:
    cache = Path(os.environ.get("INLINER_REGRESS_CACHE", PROJECT_ROOT / ".cache"))
    return Toolchain(
        cache=cache,
        python=sys.executable,
        wheelhouse=wheelhouse,
        offline=offline,
        compiler=os.environ.get("CXX", "g++"),
        notify=lambda line: err.print(line, markup=False, soft_wrap=True),
    )


@app.command("run")
def run_command(
    releases: Annotated[
        str, typer.Option(help='Versions with commas, or one specifier such as ">=2.11,<2.14".')
    ] = "",
    exporter: Exporter = None,
    like: Like = "",
    expression: Annotated[
        str, typer.Option("-k", help="Only cases that match, as pytest's -k.")
    ] = "",
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    routes: Annotated[str, typer.Option(help="legacy, export, direct, plain; with commas.")] = "",
    capture: Annotated[str, typer.Option(help="nonstrict, strict, or both, with a comma.")] = (
        "nonstrict"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds for one cell.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Another set of weights and inputs.")] = 0,
    resume_run: Annotated[
        str, typer.Option("--resume", help="Finish a run that was cut off.")
    ] = "",
    shard: Annotated[str, typer.Option(help="I/N: the I-th of N parts of the corpus.")] = "",
    out_dir: Annotated[Path, typer.Option("--out", help="Where to make the run folder.")] = RESULTS,
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
    ledger: Ledger = LEDGER_FILE,
) -> int:
    """Run the corpus through the inliners, judge, gate, and write the report."""
    options = RunOptions(
        releases=releases,
        exporter=exporter,
        like=like,
        expression=expression,
        families=tuple(family or ()),
        routes=_listed(routes),
        captures=_captures(capture),
        jobs=jobs,
        timeout_s=timeout,
        seed=seed,
        shard=_shard(shard),
        out=out_dir,
        ledger=ledger,
        command_line=tuple(sys.argv),
    )
    toolchain = _toolchain(wheelhouse, offline)
    progress = progress_for(err)
    try:
        if resume_run:
            judged = resume(resume_run, options, toolchain, load_catalogue(), progress)
        else:
            judged = run(options, toolchain, load_catalogue(), progress)
    finally:
        progress.close()
    return _show(judged)


@app.command("list")
def list_command(
    expression: Annotated[str, typer.Option("-k", help="Only cases that match.")] = "",
    family: Annotated[list[str] | None, typer.Option(help="Only these families.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The cases, and the defect that each one would catch."""
    corpus = read_corpus(sys.executable)
    cases = select_cases(corpus.cases, expression, tuple(family or ()))
    if as_json:
        for case in cases:
            print(json.dumps(to_json(case)))
        return
    table = Table("case", "family", "origin", "catches", box=None, pad_edge=False)
    for case in cases:
        table.add_row(case.name, case.family, case.origin, case.catches)
    out.print(table)
    families = len({case.family for case in cases})
    out.print(f"{len(cases)} cases in {families} families, corpus {corpus.digest[:12]}")


@app.command("show")
def show_command(
    case: Annotated[str, typer.Argument(help="A case's name.")], capture: Capture = "nonstrict"
) -> None:
    """A case's split graph: what stands in engines, what falls back, what feeds what."""
    _known_case(case)
    print(split_text(sys.executable, case, _captures(capture)[0]), end="")


@app.command("explain")
def explain_command(
    case: Annotated[str, typer.Argument(help="A case's name.")],
    subject: Annotated[str, typer.Option(help="A release, name-matching, positional, torch.")] = "",
    route: Annotated[str, typer.Option(help="One route; all of the subject's by default.")] = "",
    capture: Capture = "nonstrict",
    seed: Annotated[int, typer.Option(help="As in the run.")] = 0,
    exporter: Exporter = None,
    like: Like = "",
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
) -> None:
    """Run one cell again and tell its story: what was wired, what should have been."""
    _known_case(case)
    toolchain = _toolchain(wheelhouse, offline)
    spec = _subject(subject, exporter, like, toolchain)
    if route and route not in spec.routes:
        raise UsageError(f"{spec.subject} has no route {route}; it has {', '.join(spec.routes)}")
    request = {
        "library": str(toolchain.native_runtime(RUNTIME_SOURCE, toolchain.python_env())),
        "subject": to_json(spec),
        "case": case,
        "capture": _captures(capture)[0],
        "routes": [route] if route else list(spec.routes),
        "seed": seed,
    }
    print(ask_rig(sys.executable, "explain", stdin=json.dumps(request)), end="")


@app.command("summary")
def summary_command(
    run_name: RunName = "latest",
    as_json: Annotated[bool, typer.Option("--json", help="summary.json as it is.")] = False,
    out_dir: Annotated[Path, typer.Option("--out", help="Where run folders are.")] = RESULTS,
) -> int:
    """A run in numbers; the exit code is its gate's."""
    judged = reopen(run_name, out_dir, read_corpus(sys.executable))
    summary = read_summary(judged.folder.path) or _summary_now(judged)
    if as_json:
        print(json.dumps(summary, indent=2))
    else:
        _print_summary(judged, summary)
    return int(judged.report.gate.exit_code)


@app.command("report")
def report_command(
    run_name: RunName = "latest",
    out_dir: Annotated[Path, typer.Option("--out", help="Where run folders are.")] = RESULTS,
) -> None:
    """Write a run's report anew, judged by today's ledger."""
    judged = reopen(run_name, out_dir, read_corpus(sys.executable))
    for path in write_run_report(judged, _current_summary(judged)):
        out.print(path, soft_wrap=True)


@app.command("ledger")
def ledger_command(
    run_name: RunName = "latest",
    proposing: Annotated[
        bool, typer.Option("--propose", help="Print entries for what the run showed.")
    ] = False,
    out_dir: Annotated[Path, typer.Option("--out", help="Where run folders are.")] = RESULTS,
    ledger: Ledger = LEDGER_FILE,
) -> None:
    """The ledger against a run: what matched, what no longer does, what is new."""
    corpus = read_corpus(sys.executable)
    judged = reopen(run_name, out_dir, corpus, ledger)
    records = list(judged.records.values())
    new = propose(records, judged.ledger, judged.cases)
    if proposing:
        print(to_toml(new), end="")
        return
    table = Table("entry", "oracle", "as listed", "not so", "why", box=None, pad_edge=False)
    for use in uses(records, judged.ledger, judged.cases):
        counts = (str(len(use.matched)), str(len(use.unmatched)))
        table.add_row(use.entry.id, use.entry.oracle.value, *counts, use.entry.why)
    out.print(table)
    subjects = [*load_catalogue().versions, *BUILTIN_SUBJECTS, TORCH_SUBJECT]
    for line in stale_selectors(judged.ledger, corpus.cases, subjects):
        out.print(f"stale: {line}", markup=False)
    for entry in obsolete(records, judged.ledger, judged.cases):
        out.print(f"to remove: {entry.id}: nothing fails as it says", markup=False)
    for entry in new:
        scope = f"{', '.join(entry.cases)} [{', '.join(entry.subjects)}]"
        out.print(f"to add: {entry.oracle}: {entry.expectation}: {scope}", markup=False)
    if not new:
        out.print("nothing to add")


@releases_app.callback()
def releases_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The releases that can be judged, and which share an inliner."""
    catalogue = load_catalogue()
    if as_json:
        for release in catalogue:
            print(json.dumps({"version": release.version, "inliner_id": release.inliner_id}))
        return
    table = Table(
        "release", "inliner", "torch", "TensorRT", "CUDA", "ABI", "a user reaches", "hypothetical",
        box=None, pad_edge=False,
    )  # fmt: skip
    for release in catalogue:
        table.add_row(
            release.version,
            release.inliner_id[:12],
            release.pins.torch,
            release.pins.tensorrt,
            release.pins.cuda,
            release.abi,
            ", ".join(release.reachable),
            ", ".join(release.hypothetical) or "-",
        )
    out.print(table)
    for group in catalogue.groups():
        if len(group) > 1:
            names = ", ".join(release.version for release in group)
            out.print(f"one inliner: {names}")


@app.command("doctor")
def doctor_command() -> int:
    """Check what a run stands on: Python, pip, compiler, torch, cache, wheels, disk, memory."""
    findings = checks.examine(_toolchain(), tuple(load_catalogue()))
    for finding in findings:
        sign = "ok " if finding.ok else "NOT"
        advice = f" -> {finding.advice}" if finding.advice else ""
        out.print(f"{sign} {finding.name}: {finding.detail}{advice}", markup=False, soft_wrap=True)
    return int(ExitCode.GREEN if all(finding.ok for finding in findings) else ExitCode.FAILED)


@app.command("clean")
def clean_command(
    wheels: Annotated[bool, typer.Option(help="The cached wheels too.")] = True,
    native: Annotated[bool, typer.Option(help="The native builds too.")] = True,
) -> None:
    """Remove what can be made again: cached wheels and native builds. Runs are kept."""
    freed = clean(_toolchain().cache, wheels=wheels, native=native)
    out.print(f"{freed / 1e6:.1f} MB freed")


def _show(judged: JudgedRun) -> int:
    """The first screen, the report, and the exit code."""
    raise_if_nothing_ran(judged)
    folder = judged.folder.path
    write_run_report(judged, _current_summary(judged))
    for line in first_screen(judged.report, run=judged.folder.run_id):
        out.print(line, markup=False, soft_wrap=True)
    out.print(f"report: {folder / 'report.html'}", markup=False, soft_wrap=True)
    return int(judged.report.gate.exit_code)


def _current_summary(judged: JudgedRun) -> dict[str, Any]:
    """The summary by today's ledger, with the times of the run itself."""
    stored = read_summary(judged.folder.path)
    summary = _summary_now(judged)
    if stored is not None:
        summary["seconds"] = stored["seconds"]
    return summary


def _summary_now(judged: JudgedRun) -> dict[str, Any]:
    return summarise(
        state=judged.folder.state().value,
        report=judged.report,
        plan=judged.plan,
        records=judged.records,
        cases=judged.cases,
        provenance=judged.provenance,
        wall_s=0.0,
    )


def _print_summary(judged: JudgedRun, summary: dict[str, Any]) -> None:
    for line in first_screen(judged.report, run=judged.folder.run_id):
        out.print(line, markup=False, soft_wrap=True)
    table = Table("subject", "route", "cells", "ok", "otherwise", box=None, pad_edge=False)
    for row in summary["inliners"]:
        others = [f"{n} {label}" for label, n in row["by_verdict"].items() if label != "ok"]
        subject = str(row.get("subject") or row.get("release"))
        note = " (hypothetical)" if row["hypothetical"] else ""
        counts = (str(row["cells"]), str(row["ok"]))
        table.add_row(subject, f"{row['route']}{note}", *counts, ", ".join(others) or "-")
    out.print(table)


def _known_case(name: str) -> None:
    corpus = read_corpus(sys.executable)
    if name not in corpus.names:
        import difflib

        near = difflib.get_close_matches(name, corpus.names, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(f"no case is named {name}{hint} `python -m harness list` shows them all")


def _subject(name: str, exporter: Path | None, like: str, toolchain: Toolchain) -> SubjectSpec:
    for spec in (*builtin_subjects(), torch_subject()):
        if spec.subject == name:
            return spec
    catalogue: Catalogue = load_catalogue()
    if exporter is None and not name:
        raise UsageError("name a --subject, such as 2.13.0, or give an --exporter")
    releases = name if exporter is None else ""
    options = RunOptions(releases=releases, exporter=exporter, like=like)
    if exporter is None:
        catalogue.get(name)  # a specifier would name several
    wanted: Callable[[SubjectSpec], bool] = (
        (lambda spec: spec.subject == name)
        if exporter is None
        else (lambda spec: spec.exporter_path is not None)
    )
    spec = next(filter(wanted, choose_subjects(options, toolchain, catalogue)))
    if spec.unavailable:
        raise SurroundingsError(f"{spec.subject} cannot be had: {spec.unavailable}")
    return spec


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _captures(text: str) -> tuple[str, ...]:
    modes = _listed(text)
    unknown = [mode for mode in modes if mode not in {"nonstrict", "strict"}]
    if unknown or not modes:
        raise UsageError(f"--capture {text!r}: nonstrict or strict")
    return modes


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, slash, count = text.partition("/")
    if not (slash and index.isdigit() and count.isdigit()):
        raise UsageError(f"--shard {text!r}: I/N, such as 1/4")
    return int(index), int(count)
