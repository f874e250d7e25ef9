"""`corpus`: whether this machine builds the same programs as the corpus lock says."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from harness.base.exit_codes import ExitCode
from harness.base.program import PROGRAM
from harness.catalogue.releases import load_catalogue
from harness.cli.common import (
    Offline,
    Wheelhouse,
    captures,
    cases_here,
    err,
    tell,
    toolchain_for,
)
from harness.cli.recording import record_command
from harness.corpus_checks.lock import (
    LOCK_FILE,
    CorpusLock,
    Seen,
    differences,
    lock_of,
    read_lock,
    write_lock,
)
from harness.toolchain import PackageSite
from harness.toolchain.rig_client import ask_rig, package_lane, select_cases
from harness.wire.records import CaseInfo
from harness.wire.routes import Lane
from harness.wire.vocabulary import SplitSeen

corpus_app = typer.Typer(help="The corpus lock: the same programs on every machine.")
corpus_app.command("record")(record_command)

BOTH = "nonstrict,strict"
Expression = Annotated[str, typer.Option("-k", help="Only cases that match, as pytest's -k.")]
Captures = Annotated[str, typer.Option("--capture", help="nonstrict, strict, or both.")]


@corpus_app.command("verify")
def verify_command(expression: Expression = "", capture: Captures = BOTH) -> int:
    """Hold every case against the lock; say what differs, and by whose doing."""
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
        tell(f"if they are meant: {PROGRAM} corpus lock")
        return int(ExitCode.RED)
    tell(f"{len(now.cases)} programs as locked, torch {now.torch_version}")
    return int(ExitCode.GREEN)


@corpus_app.command("lock")
def lock_command() -> int:
    """Write the lock anew, from this machine."""
    known = cases_here().of_lane(Lane.GRAPH)
    described = _describe([case.name for case in known], captures(BOTH))
    lock = _with_seen(described, read_lock().seen if LOCK_FILE.exists() else {}, known)
    write_lock(lock)
    tell(f"{len(lock.cases)} programs locked, torch {lock.torch_version}")
    return int(ExitCode.GREEN)


@corpus_app.command("reach")
def reach_command(
    expression: Expression = "",
    releases: Annotated[
        str, typer.Option(help="Versions with commas, or a specifier; all by default.")
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Change nothing; say what is not as locked.")
    ] = False,
    wheelhouse: Wheelhouse = None,
    offline: Offline = False,
) -> int:
    """Write into the lock which releases split a case's model as the graph lane does.

    It takes a second or two a case and release, and goes on where it was: the lock is written
    behind every release. `-k` asks for some cases anew; without it those are asked that the lock
    does not have.
    """
    catalogue, toolchain, corpus = (
        load_catalogue(),
        toolchain_for(wheelhouse, offline),
        cases_here(),
    )
    known = [case for case in corpus.of_lane(Lane.GRAPH) if Lane.PACKAGE in case.lanes]
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
        err.print(f"{release.version}: {len(asked)} models", markup=False)
        now = _seen(toolchain.package_site(release), asked)
        if verify:
            for name in (name for name in asked if told.get(name) is not now[name]):
                differ += 1
                was = told.get(name) or "not asked"
                tell(f"{name} [{release.version}]: {now[name].value}, locked {was}")
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
    err.print(f"building {len(names)} cases, {' and '.join(modes)}", markup=False)
    rows = ask_rig(sys.executable, "lock", cases=list(names), captures=list(modes))
    # Without the build's suffix: +cpu and +cu130 capture the same graphs.
    version = toolchain_for().python_env().torch_version.partition("+")[0]
    return lock_of(version, rows)
