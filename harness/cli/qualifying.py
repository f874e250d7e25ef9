"""`qualify`: whether a candidate may be shipped in the place of a baseline."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM, command_line
from harness.bench.at_sizes import (
    BUDGET_S,
    AtSizes,
    at_sizes,
    common_route,
    plan_at_sizes,
    unmeasured,
)
from harness.bench.bench import BenchFolder, measure
from harness.bench.workers import inliner_workers
from harness.catalogue.releases import Catalogue, load_catalogue
from harness.cli import options as option
from harness.cli.bench_progress import teller
from harness.cli.common import shown, tell, toolchain_for
from harness.cli.running import kept_options, seen_through
from harness.gate.attribution import Difference, difference
from harness.gate.difference_words import difference_parts
from harness.gate.findings import Gate, gate_line
from harness.gate.plain_words import plain
from harness.gate.qualify import Decision, Qualification
from harness.gate.qualify_words import stopped_by_lines, tally_lines
from harness.report.benching import write_bench
from harness.report.pages.qualify_page import (
    Supplement,
    qualification_html,
    qualification_markdown,
    same_inliner,
    sizes_sentence,
    verdict_of,
)
from harness.run.defect_lines import difference_lines, kept_words
from harness.run.judged_run import JudgedRun, raise_if_nothing_ran
from harness.run.options import RunOptions
from harness.runs.gpu_runs import last_gpu_run
from harness.runs.provenance import provenance_to_json
from harness.runs.run_folder import read_summary
from harness.subjects.choosing import found_again
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.builders import SEGMENT, BuilderKind
from harness.wire.routes import Lane

_EXIT_CODES = {
    Decision.SHIP: ExitCode.GREEN,
    Decision.DO_NOT_SHIP: ExitCode.RED,
    Decision.OPEN: ExitCode.INCONCLUSIVE,
}
_SHOWN = 8
_NAMED = 3  # defects of one kind of difference


def qualify_command(
    baseline: Annotated[str, typer.Option(help="The release that users have today.")] = "",
    candidate: Annotated[str, typer.Option(help="The release that may take its place.")] = "",
    exporter: option.Exporter = None,
    wheel: option.Wheel = None,
    expression: option.Expression = "",
    full: Annotated[bool, typer.Option("--full", help="All cases.")] = False,
    jobs: option.Jobs = option.CPUS,
    timeout: option.Timeout = 120.0,
    budget: Annotated[
        float,
        typer.Option(
            min=0.0, help="Seconds of measuring size, memory and load time; 0: leave that out."
        ),
    ] = BUDGET_S,
    rerun: option.Rerun = False,
    out_dir: option.NewOut = option.RESULTS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Say whether one release may take the place of another: ship, or do not ship."""
    files = exporter is not None or wheel is not None
    if not baseline or (not candidate) == (not files):
        raise UsageError(
            "give --baseline RELEASE and one of --candidate RELEASE, --exporter FILE, --wheel FILE"
        )
    catalogue = load_catalogue()
    catalogue.get(baseline)
    if candidate and catalogue.get(candidate).version == baseline:
        raise UsageError(f"baseline and candidate are both {baseline}; nothing would be compared")
    asked = RunOptions(
        releases=f"{baseline},{candidate}" if candidate else baseline,
        exporter=exporter,
        wheel=wheel,
        like=baseline if files else "",
        baseline="" if files else baseline,
        expression=expression,
        full=full,
        lanes=(Lane.GRAPH, Lane.PACKAGE),
        builders=(SEGMENT, BuilderKind.RTX),
        jobs=jobs,
        timeout_s=timeout,
        kept=kept_options(rerun, "", None),
        out=out_dir,
        command_line=command_line(),
    )
    toolchain = toolchain_for(wheelhouse, offline)
    judged = seen_through(asked, toolchain)
    raise_if_nothing_ran(judged)
    (q,) = judged.qualifications
    sizes = _measured(judged, q, toolchain, catalogue, budget) if budget else None
    gpu, unread = last_gpu_run((out_dir, PROJECT_ROOT / option.RESULTS))
    told = _in_defects(judged, q)
    parts = difference_parts(told, q.baseline.subject, judged.expectations.register.titles)
    kept = kept_words(read_summary(judged.folder.path) or {})
    supplement = Supplement(sizes, gpu, unread, expression, parts, _red_gate(judged), kept)
    return _written_verdict(judged, q, supplement, told)


def _red_gate(judged: JudgedRun) -> str:
    """What is not as the table of expected failures says, and where to read it."""
    if judged.report.gate is not Gate.RED:
        return ""
    line = gate_line(judged.report)
    return (
        f"The {line}; {PROGRAM} report {shown(judged.folder.path)} writes the page that says why."
    )


def _in_defects(judged: JudgedRun, q: Qualification) -> Difference:
    """What the candidate does otherwise than the baseline."""
    names, known = (q.candidate.subject, q.baseline.subject), judged.expectations
    return difference(*names, judged.records.values(), known.table, known.register)


def _measured(
    judged: JudgedRun,
    q: Qualification,
    toolchain: Toolchain,
    catalogue: Catalogue,
    budget_s: float,
) -> AtSizes:
    """A bench of the two, in the run's folder. One that cannot be made is told on the page."""
    route = common_route(q.baseline, q.candidate)
    if route is None:
        return unmeasured("none", "the two have no route in common")
    missing = [spec.unavailable for spec in (q.baseline, q.candidate) if spec.unavailable]
    if missing:
        return unmeasured(route, "; ".join(missing))
    names = q.baseline.subject, q.candidate.subject
    provenance = dataclasses.replace(judged.provenance, subjects=(q.baseline, q.candidate))
    plan = plan_at_sizes(*names, route, budget_s, provenance.seeds[0])
    try:
        found = {spec.subject: spec for spec in found_again(provenance, toolchain, catalogue)}
        folder = BenchFolder.create(judged.folder.path, provenance, plan)
        workers = inliner_workers((found[names[0]], found[names[1]]), toolchain)
        bench = measure(folder, workers, teller())
    except SurroundingsError as error:
        return unmeasured(route, str(error))
    write_bench(bench)
    return at_sizes(bench)


def _written_verdict(
    judged: JudgedRun, q: Qualification, supplement: Supplement, told_in_defects: Difference
) -> int:
    """Write the page, tell its first lines, and give the exit code."""
    folder, provenance = judged.folder.path, provenance_to_json(judged.provenance)
    replace_file(folder / "qualify.md", qualification_markdown(q, provenance, supplement).encode())
    replace_file(folder / "qualify.html", qualification_html(q, provenance, supplement).encode())
    verdict = verdict_of(q)
    tell(f"{verdict.words}, {verdict.evidence}")
    tell(verdict.why)
    for line in stopped_by_lines(q):
        tell(line)
    for asked, told in tally_lines(q):
        tell(f"  {asked}: {told}")
    titles = judged.expectations.register.titles
    parts = difference_parts(told_in_defects, q.baseline.subject, titles, _NAMED)
    for line in difference_lines(q.candidate.subject, parts):
        tell(line)
    if supplement.kept:
        tell(f"kept: {supplement.kept}")
    tell(sizes_sentence(supplement.sizes))
    if same_inliner(q):
        tell(same_inliner(q))
    first = {change.key.case: change for change in reversed(q.stoppers or q.warnings)}
    for change in list(reversed(first.values()))[:_SHOWN]:
        where = f"{change.key.case} [{change.key.lane}: {change.key.route}]"
        tell(f"  {where}: {plain(change.message)[:160]}")
        tell(f"      {change.command}")
    if supplement.gate:
        tell(supplement.gate)
    page, ticket = (shown(folder / name) for name in ("qualify.html", "qualify.md"))
    tell(f"page: {page}; for a ticket: {ticket}")
    if judged.report.gate is Gate.FAILED:
        return int(ExitCode.FAILED)
    return int(_EXIT_CODES[q.decision])
