"""`corpus`: whether this machine builds the same programs as the corpus lock says."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from harness.cli.common import captures, cases_here, err, tell, toolchain_for
from harness.cli.recording import record_command
from harness.corpus_client import ask_rig, select_cases
from harness.exitcodes import ExitCode
from harness.expectations.corpus_lock import (
    CorpusLock,
    differences,
    lock_of,
    read_lock,
    write_lock,
)
from harness.rig.vocabulary import Lane

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
        tell("if they are meant: python -m harness corpus lock")
        return int(ExitCode.RED)
    tell(f"{len(now.cases)} programs as locked, torch {now.torch_version}")
    return int(ExitCode.GREEN)


@corpus_app.command("lock")
def lock_command() -> int:
    """Write the lock anew, from this machine."""
    names = [case.name for case in cases_here().of_lane(Lane.GRAPH)]
    lock = _describe(names, captures(BOTH))
    write_lock(lock)
    tell(f"{len(lock.cases)} programs locked, torch {lock.torch_version}")
    return int(ExitCode.GREEN)


def _describe(names: Sequence[str], modes: Sequence[str]) -> CorpusLock:
    err.print(f"building {len(names)} cases, {' and '.join(modes)}", markup=False)
    request = json.dumps({"cases": list(names), "captures": list(modes)})
    rows = [
        json.loads(line) for line in ask_rig(sys.executable, "lock", stdin=request).splitlines()
    ]
    # Without the build's suffix: +cpu and +cu130 capture the same graphs.
    version = toolchain_for().python_env().torch_version.partition("+")[0]
    return lock_of(version, rows)
