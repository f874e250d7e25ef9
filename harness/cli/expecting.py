"""`expected`: the table of expected failures, written from a run, and its change told."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, SurroundingsError, UsageError
from harness.cli import options as option
from harness.cli.common import committed, tell
from harness.expectations import EXPECTATIONS
from harness.register.absorb import absorb, accepted
from harness.register.defects import DEFECTS_FILE, read_register
from harness.register.expected import TABLE_FOLDER
from harness.register.facts import place_of
from harness.register.faults import faults_of
from harness.register.review import review
from harness.register.table import Table
from harness.register.table_files import read_table, write_table
from harness.runs.run_folder import RunFolder


def expected_command(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Runs' folders or ids, one after the other.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write into the table what the runs show.")
    ] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take every proposal that names a single defect.")
    ] = False,
    reviewing: Annotated[
        bool, typer.Option("--review", help="Tell the change by defects; writes nothing.")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Forget the rows of cases that the runs do not have.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(help="Review: a folder with an earlier table, such as a checkout's."),
    ] = None,
    out_dir: option.Out = option.RESULTS,
    folder: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """Write the table of expected failures from runs, or tell what that would change.

    Without a run, check table and register against each other. Exit code 1: something is undecided,
    or the two contradict each other.
    """
    if update and reviewing:
        raise UsageError("--update writes, --review writes nothing; give one of them")
    if update and not runs and not accept:
        raise UsageError("--update: name a run, or give --accept to take what is proposed")
    own = folder / DEFECTS_FILE.name
    register = read_register(own if own.is_file() else DEFECTS_FILE)
    rows = folder / TABLE_FOLDER
    table = read_table(rows, undecided=True) if rows.is_dir() else Table()
    before = read_table(against, undecided=True) if against else table
    after = table
    kept: set[tuple[str, str]] = set()
    for name in runs or ():
        run = RunFolder.open(name, out_dir)
        if run.provenance().ran_out(run.plan()):
            raise UsageError(f"{run.run_id} had a budget and asked a part; make a run without")
        records = run.records().values()
        kept |= {(place.lane, place.case) for place in (place_of(r.key) for r in records)}
        after = absorb(after, register, records, run.provenance().subjects)
    if anew:
        after = _of_cases(after, kept)
    if accept:
        after = accepted(after)
    if update or runs:
        invisible = frozenset(defect.id for defect in register.defects if defect.not_visible)
        after = dataclasses.replace(after, without_rows=invisible)
    if update:
        if folder == EXPECTATIONS:
            committed(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_table(after, rows)
        _check_read_back(rows, after)
    if update or reviewing or runs:
        for line in review(before, after, register):
            tell(line)
    faults = faults_of(register, after)
    for fault in [] if after.undecided else faults:
        tell(f"not exact: {fault.reason}")
    undecided = len(after.undecided)
    if undecided:
        tell(f"{undecided} facts are not decided; the gate refuses the table until they are")
        return ExitCode.RED
    tell(f"{len(after.entries)} facts, {len(register.defects)} defects, {len(faults)} faults")
    return ExitCode.RED if faults else ExitCode.GREEN


def _of_cases(table: Table, kept: Collection[tuple[str, str]]) -> Table:
    """Only the entries of some cases, by lane and name."""
    entries = {
        entry: subjects
        for entry, subjects in table.entries.items()
        if (entry.place.lane, entry.place.case) in kept
    }
    return Table(entries, table.asked)


def _check_read_back(rows: Path, table: Table) -> None:
    """Raises SurroundingsError if what was written is not what is read."""
    if read_table(rows, undecided=True) != table:
        raise SurroundingsError(f"{rows}: reads back otherwise than it was written; a bug")
