"""The corpus: its lock, its coverage of the space, its order, and its recordings."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.base.words import plural
from harness.campaigns.mutant_report import found_in
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, cases_here, committed, say, tell, toolchain_for
from harness.corpus_checks.coverage import cover, read_extraction, to_json, to_lines
from harness.corpus_checks.lock import (
    LOCK_FILE,
    CorpusLock,
    Seen,
    differences,
    lock_of,
    read_lock,
    renewed,
    write_lock,
)
from harness.run.judged_run import reopen
from harness.run.lines_run import LINES_FILE, lines_run_by, lines_run_text
from harness.run.order import (
    ORDER_FILE,
    Seconds,
    found_by,
    order_text,
    ordered,
    quick_cells,
    read_order,
    seconds_in,
)
from harness.run.wrong_edits import WRONG_EDITS, read_wrong_edits, wrong_edits_text
from harness.runs.case_filter import select_cases
from harness.toolchain import PackageSite
from harness.toolchain.cache import CHOOSE, guarded
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import answers_of, ask_rig, package_lane
from harness.wire.records import CaseInfo, CellKey
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SplitSeen, SubjectKind

RECORDED = PROJECT_ROOT / "corpus" / "recorded"
BOTH = "nonstrict,strict"
Captures = Annotated[str, typer.Option("--capture", help="nonstrict, strict, or both.")]


def verify_command(expression: option.Expression = "", capture: Captures = BOTH) -> int:
    """Check that this machine builds every case as the corpus lock says.

    Each difference is told with its cause: another torch, a changed case, other arithmetic.
    """
    modes = captures(capture)
    locked = read_lock()
    corpus = cases_here()
    known = corpus.of_lane(Lane.GRAPH)  # what a package makes of a model is each release's own
    names = {case.name for case in select_cases(known, expression)}
    gone = set() if expression else {name for name, _ in locked.cases} - names
    asked = {key: row for key, row in locked.cases.items() if key[1] in modes}
    expected = CorpusLock(
        locked.torch_version, {key: row for key, row in asked.items() if key[0] in names | gone}
    )
    now = _describe(sorted(names), modes)
    found = list(differences(expected, now))
    for difference in found:
        tell(f"{difference.case} [{difference.capture}]: {difference.what}")
    if found:
        tell(f"{len(found)} differences from the lock of torch {locked.torch_version}")
        tell(f"if they are meant: {PROGRAM} lock")
        return int(ExitCode.RED)
    tell(f"{len(now.cases)} programs as locked, torch {now.torch_version}")
    return int(ExitCode.GREEN)


def lock_command(expression: option.Expression = "") -> int:
    """Write the corpus lock anew, from this machine.

    A program that is as locked keeps its line, even where this machine rounds its numbers
    otherwise. `-k` builds some cases alone, such as a new one; it takes seconds, all cases minutes.
    """
    committed(LOCK_FILE)
    known = cases_here().of_lane(Lane.GRAPH)
    chosen = select_cases(known, expression)
    described = _describe([case.name for case in chosen], captures(BOTH))
    before = read_lock() if LOCK_FILE.exists() else lock_of(described.torch_version, ())
    cases = renewed(before, described, {case.name for case in known})
    lock = _with_seen(cases, before.seen, known)
    write_lock(lock)
    tell(f"{len(lock.cases)} programs locked, torch {lock.torch_version}")
    return int(ExitCode.GREEN)


def reach_command(
    expression: option.Expression = "",
    releases: option.Releases = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Change nothing; say what is not as locked.")
    ] = False,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Write into the corpus lock which releases split a model as the graph lane does.

    It takes a second or two a case and release, and goes on where it was: the lock is written
    behind every release. `-k` asks for some cases anew; without it those are asked that the lock
    does not have.
    """
    if not verify:
        committed(LOCK_FILE)
    catalogue, toolchain = load_catalogue(), toolchain_for(wheelhouse, offline)
    known = [case for case in cases_here().of_lane(Lane.GRAPH) if Lane.PACKAGE in case.lanes]
    chosen = [case.name for case in select_cases(known, expression)]
    differ = 0
    for release in catalogue.select(releases) if releases else tuple(catalogue):
        if not release.package_routes:
            continue
        lock = read_lock()
        told = {name: seen.get(release.version) for name, seen in lock.seen.items()}
        asked = [name for name in chosen if expression or verify or told.get(name) is None]
        if not asked:
            continue
        say(f"{release.version}: {len(asked)} models")
        now = _seen(toolchain.package_site(release), asked)
        if verify:
            for name in (name for name in asked if told.get(name) is not now[name]):
                differ += 1
                was = told.get(name) or "not asked"
                tell(f"{name} [{release.version}]: {now[name]}, locked {was}")
            continue
        seen = {name: {**lock.seen.get(name, {}), release.version: now[name]} for name in asked}
        write_lock(_with_seen(lock, {**lock.seen, **seen}, known))
    tell(f"{differ} differences" if verify else f"{len(read_lock().seen)} models in the lock")
    return int(ExitCode.RED if differ else ExitCode.GREEN)


def _seen(site: PackageSite, cases: Sequence[str]) -> dict[str, SplitSeen]:
    """What a release's package makes of some models."""
    answers = ask_rig(sys.executable, "splits", **package_lane(site), cases=list(cases))
    return {each["case"]: SplitSeen(each["seen"]) for each in answers}


def _with_seen(lock: CorpusLock, seen: Seen, known: Sequence[CaseInfo]) -> CorpusLock:
    """The lock with what packages make of those models that are still cases."""
    asked = {release for of_case in seen.values() for release in of_case}
    names = {case.name for case in known}
    return dataclasses.replace(
        lock,
        releases=tuple(each.version for each in load_catalogue() if each.version in asked),
        seen={name: of_case for name, of_case in seen.items() if name in names},
    )


def _describe(names: Sequence[str], modes: Sequence[str]) -> CorpusLock:
    say(f"building {len(names)} cases, {' and '.join(modes)}")
    rows = ask_rig(sys.executable, "lock", cases=list(names), captures=list(modes))
    # Without the build's suffix: +cpu and +cu130 capture the same graphs.
    version = toolchain_for().python_env().torch_version.partition("+")[0]
    return lock_of(version, rows)


def coverage_command(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    missing: Annotated[bool, typer.Option("--missing", help="Name every missing pair.")] = False,
) -> int:
    """Show how much of the space of split programs the cases cover, and what is missing."""
    space, cases = read_extraction(_extraction(toolchain_for().cache))
    coverage = cover(space, cases)
    if as_json:
        print(json.dumps(to_json(coverage)))
    else:
        for line in to_lines(coverage, all_missing=missing):
            tell(line)
    return int(ExitCode.GREEN if coverage.enough else ExitCode.RED)


def _extraction(cache: Path) -> dict[str, Any]:
    """Each case's values, read again only when what it depends on has changed."""
    (digest,) = ask_rig(sys.executable, "coverage_digest")
    path = cache / "coverage" / f"{digest}.json"
    with guarded(path):
        text = path.read_text() if path.is_file() else ""
    if not text:
        say("reading every case's split module; this takes half a minute")
        text = json.dumps(*ask_rig(sys.executable, "coverage"))
        try:
            with guarded(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, text.encode(), CHOOSE)
        except SurroundingsError as error:  # the answer is there, and took its time
            say(f"not kept for the next time: {error}")
    found: dict[str, Any] = json.loads(text)
    return found


def order_command(
    runs: Annotated[
        list[str],
        typer.Argument(help="A run that asked all anew, then candidates' runs: folders or ids."),
    ],
    mutants: Annotated[
        list[Path] | None, typer.Option(help="Campaigns of mutants, which say what cells find too.")
    ] = None,
    out_dir: option.Out = option.RESULTS,
) -> int:
    """Write anew in which order a candidate is asked, those cells first that find most.

    What a cell finds is known from the runs, from mutants, and from the space of split programs.
    What a candidate of a run is worse in is written down, and counts in each later order.
    """
    committed(ORDER_FILE)
    catalogue = load_catalogue()
    _, values = read_extraction(_extraction(toolchain_for().cache))
    found: dict[CellKey, set[str]] = defaultdict(set)
    seconds, edits = Seconds(), read_wrong_edits()
    for name in runs:
        run = reopen(name, out_dir, toolchain_for(), catalogue)
        edited = {spec.subject for spec in run.subjects if spec.kind is SubjectKind.FILE}
        for cell, things in found_by(run).items():
            found[cell] |= things
            if things & edited:
                edits.setdefault(cell, set()).update(things & edited)
        # The first run counts that has a cell's seconds: the others may have run beside other work.
        seconds = seconds_in(run.records.values(), catalogue.newest.version) | seconds
    first = set().union(*edits.values())
    for cell, things in edits.items():
        found[cell] |= things
    for folder in mutants or ():
        for cell, things in found_in(folder).items():
            found[cell] |= things
            first |= things
    for cell in seconds.own:
        if cell.lane == Lane.GRAPH:
            found[cell] |= {f"{value} by {cell.route}" for value in values.get(cell.case, ())}
    order = ordered(found, seconds, first)
    if not order:
        raise UsageError(
            f"{', '.join(runs)}: no cell of {catalogue.newest.version} has its seconds",
            "give a run of all releases that was made with --rerun",
        )
    replace_file(ORDER_FILE, order_text(order).encode())
    replace_file(WRONG_EDITS, wrong_edits_text(edits).encode())
    quick = quick_cells(order)
    tell(f"{plural(len(order), 'cell')} in order, {len(quick)} of them quick, in {ORDER_FILE}")
    return int(ExitCode.GREEN)


def lines_command(
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Write anew which cells run which lines of the newest release's package.

    By that a candidate is asked first what runs the lines that it changes. It takes minutes, since
    every model of the package lane is compiled, saved by every call and loaded, and watched.
    """
    committed(LINES_FILE)
    release, toolchain = load_catalogue().newest, toolchain_for(wheelhouse, offline)
    chosen = select_cases(cases_here().cases, full=False, lanes=[Lane.PACKAGE])
    cells = {
        case.name: [route for route in release.package_routes if case.fits(route)]
        for case in chosen
    }
    lane = package_lane(toolchain.package_site(release))
    say(f"{release.version}: {plural(len(cells), 'model')}")
    answers, begun = [], set()
    for answer in answers_of(sys.executable, "lines_run", **lane, cells=cells):
        answers.append(answer)
        begun.add(answer["case"])
        if answer["route"] == Route.COMPILE and len(begun) % 10 == 0:
            say(f"{len(begun)} of {plural(len(cells), 'model')}")
    known = lines_run_by(release.version, answers, read_order())
    replace_file(LINES_FILE, lines_run_text(known).encode())
    lines = sum(map(len, known.by_file.values()))
    tell(f"{lines:,} lines of {len(known.by_file)} files in {LINES_FILE}")
    return int(ExitCode.GREEN)


def record_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Recordings; all of corpus/recorded/to_record.py by default."),
    ] = None,
    release: Annotated[str, typer.Option(help="Whose package; the newest by default.")] = "",
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Where the files go; corpus/recorded by default.")
    ] = None,
) -> int:
    """Record how a release's package splits models, for the graph lane to run.

    What `dynamo.compile` hands to its splitter and what comes out is written to one file a model.
    """
    out_dir = out_dir or committed(RECORDED)
    catalogue = load_catalogue()
    site = toolchain_for(wheelhouse, offline).package_site(
        catalogue.get(release) if release else catalogue.newest
    )
    say(f"compiling with torch_tensorrt {site.release}")
    answers = ask_rig(sys.executable, "recordings", **package_lane(site), names=names or [])
    for answer in answers:
        if "text" in answer:
            out_dir.mkdir(parents=True, exist_ok=True)
            replace_file(out_dir / f"{answer['name']}.json", answer["text"].encode())
        else:
            tell(f"{answer['name']}: not recorded: {answer['refused']}")
    written = sum("text" in answer for answer in answers)
    tell(f"{written} of {len(answers)} splits of {site.release} written to {out_dir}")
    return int(ExitCode.GREEN if written == len(answers) else ExitCode.RED)
