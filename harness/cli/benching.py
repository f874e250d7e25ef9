"""`bench`, `compare` and `selftest`: latency."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import command_line
from harness.bench.bench import (
    BenchFolder,
    JudgedBench,
    bench,
    like_recorded,
    refuse_unlike,
    reopen,
    resume,
)
from harness.bench.compare import Comparison, compare, comparison_to_json
from harness.bench.counting import COUNTED, counted
from harness.bench.options import BenchOptions, subjects_of
from harness.bench.plan import BASELINE, CANDIDATE, bands
from harness.bench.samples import pyperf_suite
from harness.bench.selftest import Campaign, SelftestPlan, called_by_us
from harness.bench.selftest_run import SelftestFolder, begin, go_on
from harness.bench.words import comparison_lines, first_screen
from harness.catalogue.releases import Catalogue, load_catalogue
from harness.cli import options as option
from harness.cli.bench_progress import teller
from harness.cli.common import cases_here, listed, mends_in, say, tell, toolchain_for
from harness.cli.interrupted import resume_goes_on
from harness.gate.findings import Gate
from harness.report.benching import write_bench
from harness.subjects.mended import mended_wheel
from harness.subjects.specs import BUILTIN_SUBJECTS
from harness.toolchain import Toolchain
from harness.toolchain.extra_packages import python_with
from harness.toolchain.rig_client import absolute
from harness.wire.builders import SEGMENT
from harness.wire.routes import Lane

_BUDGET_S = 300.0


def bench_command(
    baseline: Annotated[str, typer.Option(help="A release, or a bench that was recorded.")] = "",
    candidate: Annotated[str, typer.Option(help="A release; the newest by default.")] = "",
    exporter: option.Exporter = None,
    like: option.Like = "",
    mended: option.Mended = "",
    only: option.Only = "",
    cases: Annotated[str, typer.Option(help="Cases by name, with commas.")] = "",
    lane: Annotated[
        str,
        typer.Option(
            help="graph, or package: two whole releases, with torch_tensorrt.save, load and import "
            "as a user calls them. By default graph; with --corpus both, half of the budget each."
        ),
    ] = "",
    builder: Annotated[
        str, typer.Option(help="Of the package lane: segment, or tensorrt-rtx as `run` has it.")
    ] = SEGMENT,
    python: Annotated[
        list[str] | None,
        typer.Option(
            help="RELEASE=PATH, in the package lane: the Python of that release, with a torch of "
            "its own; of a bench that is gone on with, too."
        ),
    ] = None,
    routes: Annotated[
        str,
        typer.Option(
            help="legacy, export; in the package lane no-retrace, no-retrace-export, retrace, and "
            "two for dynamic cases; with commas. By default those that both have."
        ),
    ] = "",
    stages: Annotated[str, typer.Option(help="What is measured; all by default.")] = "",
    gating: Annotated[str, typer.Option("--gate", help="What of it gates.")] = "",
    sweep: Annotated[
        str, typer.Option(help="steps, fan-out, ballast, parameters; or sizes: steps=10/50.")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="The largest sizes too.")] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=1.0, help=f"Seconds of measuring; {_BUDGET_S:g} by default."),
    ] = None,
    max_slowdown: Annotated[
        str, typer.Option(help="Put up with: 5%, or 5%,save=3%,real architectures/export=10%.")
    ] = "5%",
    seed: Annotated[int, typer.Option(help="Another order, other weights and inputs.")] = 0,
    spawn: Annotated[
        bool, typer.Option("--spawn", help="A fresh process for each worker, not a fork.")
    ] = False,
    resume_run: Annotated[
        str, typer.Option("--resume", help="Go on with a bench; --budget is its whole one.")
    ] = "",
    allow_mismatch: option.AllowMismatch = False,
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help="Count the lines of Python that compile, save and load of whole packages run, and "
            "measure no time: exact on a busy machine.",
        ),
    ] = False,
    pyperf: Annotated[
        Path | None, typer.Option(help="The candidate as a pyperf suite; the baseline beside it.")
    ] = None,
    corpus: option.CorpusPlaces = None,
    with_: option.With = None,
    out_dir: option.Out = option.RESULTS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Measure the latency of a candidate against a baseline, with an A/A control."""
    if count:
        _refuse_times(
            {
                "--lane": lane,
                "--builder": builder != SEGMENT,
                "--routes": routes,
                "--stages": stages,
                "--gate": gating,
                "--sweep": sweep,
                "--full": full,
                "--budget": budget,
                "--seed": seed,
                "--spawn": spawn,
                "--python": python,
                "--pyperf": pyperf,
                "--resume": resume_run,
            }
        )
    toolchain = python_with(toolchain_for(wheelhouse, offline), "", with_)
    catalogue = load_catalogue()
    brought = [("--python", value) for value in python or ()]
    brought += [("--with", value) for value in with_ or ()]
    goes_on = partial(resume_goes_on, BenchFolder, resume_run, out_dir, *chain(*brought))
    if resume_run:
        pythons = tuple(python or ())
        with goes_on():
            judged = resume(resume_run, out_dir, toolchain, catalogue, teller(), budget, pythons)
        return show(judged, pyperf)
    wheel = None
    mends = mends_in(mended, only)
    if mended:
        if candidate or exporter or like:
            raise UsageError("--mended is the candidate of this bench; name no other one")
        wheel, like, baseline = mended_wheel(mended, mends, toolchain), mended, baseline or mended
    recorded = _recorded(baseline, out_dir)
    # Stages and routes are of one lane, as a candidate's file and a recorded bench are.
    of_one = lane or exporter or sweep or stages or gating or routes or pyperf or recorded
    lanes = [lane or Lane.GRAPH] if of_one or not corpus else _lanes_of(absolute(corpus), toolchain)
    options = BenchOptions(
        baseline=baseline or catalogue.releases[-2].version,
        candidate=candidate,
        exporter=exporter,
        wheel=wheel,
        like=like,
        cases=listed(cases),
        routes=listed(routes),
        stages=stages,
        gating=gating,
        sweeps=listed(sweep),
        full=full,
        budget_s=(budget or _BUDGET_S) / len(lanes),
        max_slowdown=max_slowdown,
        seed=seed,
        spawn=spawn,
        corpus=absolute(corpus or ()),
        lane=lanes[0],
        builder=builder,
        pythons=tuple(python or ()),
        out=out_dir,
        command_line=command_line(places=False),
    )
    if count:
        if recorded is not None:
            raise UsageError(f"--count of {baseline}: a bench has times; name a release")
        return _count(options, toolchain, catalogue)
    if recorded is not None:
        options = like_recorded(options, recorded)
        # With Pythons of their own the releases have to be opened before their torch is known.
        if not allow_mismatch and not options.pythons:
            refuse_unlike(options, recorded)  # now, and not after minutes of measuring
    codes = []
    for each in (options, *(dataclasses.replace(options, lane=other) for other in lanes[1:])):
        with goes_on():
            judged = bench(each, toolchain, catalogue, teller())
        codes.append(show(judged, pyperf))
    code = ExitCode.RED if ExitCode.RED in codes else max(codes)
    if recorded is None:
        return code
    return _show_comparison(compare(recorded, judged, allow_mismatch=allow_mismatch), judged)


def _refuse_times(given: Mapping[str, object]) -> None:
    """Options that say what is timed, and how long, say nothing to `--count`.

    Raises:
        UsageError: one of them is given.
    """
    for name, value in given.items():
        if value:
            raise UsageError(
                f"--count measures no time: it counts all its calls, of whole packages, once; "
                f"leave out {name}"
            )


def _count(options: BenchOptions, toolchain: Toolchain, catalogue: Catalogue) -> ExitCode:
    """The lines of each call of both subjects. Red where the candidate's are too many."""
    asked = bands(options.max_slowdown)
    if asked.particular:
        of_stages = ", ".join(name for name, _ in asked.particular)
        raise UsageError(
            f"--count holds all calls to one share: --max-slowdown without {of_stages}"
        )
    allowed = asked.default
    pair = subjects_of(options, toolchain, catalogue)
    slower = False
    for case in options.cases or (COUNTED,):
        tell(f"{case}: lines of Python, {pair[0].subject} → {pair[1].subject}")
        for each in counted(pair, toolchain, catalogue, case, options.corpus):
            tell(f"  {each.call:22} {each.before:>11,} → {each.after:>11,}  {each.percent:+.2f} %")
            slower |= each.percent > allowed
    gate = Gate.RED if slower else Gate.GREEN
    tell(f"gate: {gate}: {'a' if slower else 'no'} call runs over {allowed:g} % more lines")
    return gate.exit_code


def _lanes_of(places: Sequence[str], toolchain: Toolchain) -> list[str]:
    """The lanes that some case of a user's corpus goes through."""
    cases = cases_here(places, toolchain.python).cases
    return [lane for lane in (Lane.GRAPH, Lane.PACKAGE) if any(lane in of.lanes for of in cases)]


def compare_command(
    base: Annotated[str, typer.Argument(help="A bench's folder or id.")],
    cand: Annotated[str, typer.Argument(help="The one that is held against it.")] = "latest",
    allow_mismatch: option.AllowMismatch = False,
    out_dir: option.Out = option.RESULTS,
) -> int:
    """Compare the candidates of two benches that have one baseline."""
    benches = reopen(base, out_dir), reopen(cand, out_dir)
    return _show_comparison(compare(*benches, allow_mismatch=allow_mismatch), benches[1])


def selftest_command(
    campaigns: Annotated[int, typer.Option(min=0, help="A/A campaigns.")] = 300,
    power_campaigns: Annotated[int, typer.Option(min=0, help="Campaigns with a delay.")] = 100,
    seconds: Annotated[float, typer.Option(min=1.0, help="Of an A/A campaign.")] = 15.0,
    power_seconds: Annotated[float, typer.Option(min=1.0, help="Of one with a delay.")] = 20.0,
    session: Annotated[float, typer.Option(help="Seconds after which to stop for now.")] = 1e9,
    release: Annotated[str, typer.Option(help="Measured against itself; the newest.")] = "",
    case: Annotated[str, typer.Option(help="The case of the A/A campaigns.")] = "llama_linear",
    slower_cases: Annotated[
        str, typer.Option(help="The cases whose save, and whose load, are delayed.")
    ] = "chain_of_forty,yolo_chunk",
    route: Annotated[str, typer.Option(help="legacy or export.")] = "legacy",
    seed: Annotated[int, typer.Option(help="Another order.")] = 0,
    resume_run: Annotated[str, typer.Option("--resume", help="Go on with a selftest.")] = "",
    out_dir: option.Out = option.RESULTS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> None:
    """Measure how often the bench is wrong, by campaigns whose answer is known."""
    toolchain, catalogue = toolchain_for(wheelhouse, offline), load_catalogue()
    if resume_run:
        folder = SelftestFolder.open(resume_run, out_dir)
    else:
        slow = listed(slower_cases)
        if len(slow) != 2:
            raise UsageError(f"--slower-cases {slower_cases!r}: two, one for save and one for load")
        plan = SelftestPlan(
            subject=release or catalogue.newest.version,
            case=case,
            route=route,
            metrics=("save", "load-warm"),
            slower_cases=slow,
            campaigns=campaigns,
            power_campaigns=power_campaigns,
            seconds=seconds,
            power_seconds=power_seconds,
            seed=seed,
        )
        folder = begin(plan, out_dir, command_line(), toolchain, catalogue)
    for line in go_on(folder, toolchain, catalogue, _tell_campaign, session):
        tell(line)
    tell(f"selftest: {folder.path}")


def _tell_campaign(campaign: Campaign) -> None:
    called = "called" if called_by_us(campaign) else "not called"
    blocks = len(campaign.cell.blocks)
    say(f"{campaign.number} {campaign.kind}: {blocks} blocks, {called}")


def show(judged: JudgedBench, pyperf: Path | None = None) -> int:
    """The verdicts, where they lie, and the exit code."""
    pages = write_bench(judged)
    for arm in (CANDIDATE, BASELINE):
        if pyperf is not None:
            suite = pyperf_suite(judged.samples, judged.provenance, arm)
            replace_file(_beside(pyperf, arm), suite.encode())
    for line in first_screen(judged.plan, judged.report):
        tell(line)
    tell(f"report: {pages[0]}")
    return int(judged.report.gate.exit_code)


def _beside(path: Path, arm: str) -> Path:
    """`FILE.json` for the candidate, `FILE-baseline.json` for the baseline."""
    return path if arm == CANDIDATE else path.with_stem(f"{path.stem}-{arm}")


def _show_comparison(comparison: Comparison, cand: JudgedBench) -> int:
    name = "comparison.json"
    cand.folder.write(name, json.loads(json.dumps(comparison_to_json(comparison))))
    for line in comparison_lines(comparison):
        tell(line)
    tell(f"comparison: {cand.folder.path / name}")
    return int(comparison.gate.exit_code)


def _recorded(baseline: str, out_dir: Path) -> JudgedBench | None:
    """The recorded bench that a baseline names, or None if it names a subject."""
    if not baseline or baseline in (*load_catalogue().versions, *BUILTIN_SUBJECTS):
        return None
    # Neither: the catalogue says best what there is.
    return reopen(baseline, out_dir) if BenchFolder.find(baseline, out_dir) else None
