"""`mutants`: a release's own code with one thing wrong at a time; does the corpus find it?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, Unavailable, UsageError
from harness.campaigns.mutant_report import MutantReport, report_of
from harness.campaigns.mutants import MutantCampaign, Mutating
from harness.campaigns.mutation import mutants_of
from harness.campaigns.own_mutants import ask_tests, own_mutants
from harness.catalogue.releases import EXPORTER_MODULE, load_catalogue
from harness.cli import options as option
from harness.cli.clusters import graph_setup, package_setup, workers_on
from harness.cli.common import lanes, listed, release_file, tell, toolchain_for
from harness.cli.interrupted import same_command_goes_on
from harness.mends.all import MENDS
from harness.register.facts import NONSTRICT
from harness.run.order import in_order, read_order
from harness.runs.case_filter import select_cases
from harness.runs.plan import make_plan
from harness.subjects.choosing import choose_subjects
from harness.subjects.mended import mended_subject
from harness.subjects.packages import with_packages
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.extra_packages import python_with
from harness.toolchain.rig_client import Corpus, read_corpus
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane
from harness.workers.jobs import Job, make_jobs
from harness.workers.process import Setup

#: What the package imports to compile is run anew for every mutant; these two only save.
_SAVES = (EXPORTER_MODULE, "torch_tensorrt/_compile.py")


def mutants_command(
    release: Annotated[str, typer.Option(help="Whose code.")] = "2.14.0",
    mended: option.Mended = "",
    file: Annotated[str, typer.Option(help="Which of its files, as in the wheel.")] = (
        EXPORTER_MODULE
    ),
    lane: Annotated[str, typer.Option(help="graph, package, or both in this order.")] = "",
    functions: Annotated[str, typer.Option(help="Mutants of these functions alone.")] = "",
    every: Annotated[int, typer.Option(min=1, help="Of the mutants each N-th alone.")] = 1,
    minutes: Annotated[float, typer.Option(min=0.0, help="When to stop.")] = 60.0,
    ours: Annotated[
        bool, typer.Option("--ours", help="Mutants of our oracles and gate, by our own tests.")
    ] = False,
    expression: option.Expression = "",
    full: Annotated[
        bool, typer.Option("--full", help="All cases, and all models through the package.")
    ] = False,
    with_: option.With = None,
    on: option.On = "",
    jobs: option.WorkerCount = None,
    out: Annotated[
        Path, typer.Option(help="The campaign's folder; one that has a journal is gone on with.")
    ] = option.RESULTS / "mutants",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Make mutants of a release's own code, and see which of them the corpus finds.

    Exit code 1 says that one survived without a reason that is listed, and 3 that time was up.
    """
    if ours and on:
        raise UsageError("--ours asks the tests, on this machine; leave out --on")
    if ours:
        asked_of = own_mutants(PROJECT_ROOT, every)
        ledger = ask_tests(asked_of, PROJECT_ROOT, out, jobs or option.CPUS, tell)
        return _told(
            report_of("our oracles and gate", [each.mutant for each in asked_of], ledger, True), out
        )
    toolchain = python_with(toolchain_for(wheelhouse, offline), "", with_)
    spec = (
        mended_subject(mended, MENDS, toolchain)
        if mended
        else choose_subjects(toolchain, load_catalogue(), releases=release, built_in=False)[0]
    )
    source = release_file(spec, file)
    wanted = listed(functions)
    mutants = [each for each in mutants_of(source) if not wanted or each.function in wanted]
    mutants = mutants[::every]
    if not mutants:
        raise UsageError(f"--functions {functions}: {file} has no such function")
    asked = lanes(lane) if lane else _lanes_of(file)
    if Lane.GRAPH in asked and file != EXPORTER_MODULE:
        raise UsageError(f"--lane graph: it runs {EXPORTER_MODULE} alone; leave it out")
    corpus = read_corpus(toolchain.python, (), toolchain.cache)
    complete, seconds_left = True, minutes * 60
    with same_command_goes_on(), workers_on(on, toolchain, jobs) as (launcher, count):
        campaign = MutantCampaign(mutants, out, tell, launcher, " ".join(with_ or ()))
        for each in asked:
            cases = select_cases(corpus.cases, expression, full=full, lanes=[Lane(each)])
            of, cells = _setup(toolchain, corpus, spec, Lane(each), cases, out)
            module = file.removesuffix(".py").replace("/", ".")
            setup = Mutating.around(of, module, campaign.places, compiles=file not in _SAVES)
            spent = campaign.run(setup, cells, count, seconds_left)
            seconds_left -= spent.seconds
            complete = complete and spent.complete
    whose = f"the mended {mended}" if mended else release
    title = f"{whose}'s {Path(file).name}"
    gone = {name for mend in MENDS if mended for name in mend.defects if name not in mend.in_part}
    return _told(report_of(title, mutants, campaign.ledger, complete, gone), out)


def _told(report: MutantReport, out: Path) -> int:
    for line in report.lines:
        tell(line)
    tell(f"page: {report.write(out)}")
    if not report.complete:
        return ExitCode.INCONCLUSIVE
    return ExitCode.RED if report.unexplained else ExitCode.GREEN


def _lanes_of(file: str) -> tuple[str, ...]:
    return (Lane.GRAPH, Lane.PACKAGE) if file == EXPORTER_MODULE else (Lane.PACKAGE,)


def _setup(
    toolchain: Toolchain,
    corpus: Corpus,
    spec: SubjectSpec,
    lane: Lane,
    cases: Sequence[CaseInfo],
    folder: Path,
) -> tuple[Setup, list[Job]]:
    """A worker's setup for one lane, and its cases: those that find most come first."""
    logs = folder / "logs" / lane
    if lane is Lane.GRAPH:
        setup: Setup = graph_setup([spec], toolchain, logs, corpus.digest)
    else:
        (spec,), sites = with_packages([spec], toolchain, load_catalogue())
        if not spec.packages:
            raise Unavailable(f"{spec.subject} has no package lane: the lane begins with 2.7.0")
        setup = package_setup(spec, spec.packages[0], sites, toolchain, logs, corpus.digest)
    return setup, make_jobs(in_order(make_plan(cases, [spec], (NONSTRICT,)), read_order()))
