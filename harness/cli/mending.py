"""`mend`: a release's own files with mends in them, and the diff for a pull request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.bench.counting import COUNTED, lines_by_call
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import committed, listed, tell, toolchain_for
from harness.gate.qualify import summed
from harness.mends.all import WRITTEN_FOR, mends_of
from harness.mends.judged import (
    JUDGED,
    TOGETHER,
    WORK,
    Judged,
    Work,
    mend_costs,
    read_judged,
    read_work,
    rows_text,
)
from harness.mends.mend import Mend, Read, difference, mended, those_that_fit
from harness.run.judged_run import JudgedRun, reopen
from harness.subjects.mended import files_of, mended_subject
from harness.toolchain import Toolchain
from harness.toolchain.checkout import SOURCES


def mend_command(
    release: Annotated[str, typer.Option(help="Whose files.")] = WRITTEN_FOR,
    checkout: Annotated[
        Path | None, typer.Option(help="A Torch-TensorRT working tree, in place of a release.")
    ] = None,
    only: Annotated[str, typer.Option(help="Mends of these defects alone, by id.")] = "",
    out: Annotated[Path, typer.Option(help="Where the mended files and the diff go.")] = (
        option.RESULTS / "mended"
    ),
    fitting: Annotated[
        bool,
        typer.Option("--fitting", help="Leave out what does not fit, and say which and where."),
    ] = False,
    record: Annotated[
        str, typer.Option(help="Write down what these runs of one mend each have shown.")
    ] = "",
    count: Annotated[
        bool,
        typer.Option(
            "--count",
            help="Write down how many lines of Python calls run with each mend alone, and, "
            "without --only, with all together.",
        ),
    ] = False,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Mend a release's Python: small changes, one for each defect, as files and as one diff.

    Exit code 2 says that a mend does not fit a file, and where. Nothing is written then; with
    --fitting, if none fits.
    """
    if record:
        return _record(listed(record))
    mends, toolchain = mends_of(listed(only)), toolchain_for(wheelhouse, offline)
    if count:
        return _count(mends, toolchain, together=not only)
    read = files_of(release, toolchain)[0] if checkout is None else _files_in(checkout)
    left_out = set[str]()
    fit, misfits = those_that_fit(read, mends) if fitting else ([], [])
    if fit:  # where none does, `mended` says so
        left_out = {defect for mend in mends if mend not in fit for defect in mend.defects}
        mends = tuple(fit)
        for text in misfits:
            tell(f"left out: {text}")
    files = mended(read, mends)
    for name, text in files.items():
        place = out / name
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, text.encode())
    diff = out / "mends.diff"
    replace_file(diff, difference(read, files).encode())
    for mend in mends:
        tell(f"{', '.join(mend.defects)}: {mend.idea}")
    chosen = {defect for mend in mends for defect in mend.defects}
    for defect in dict.fromkeys(other for mend in mends for other in mend.goes_with):
        if defect not in chosen:
            those = ", ".join(mend.name for mend in mends if defect in mend.goes_with)
            advice = "which is left out" if defect in left_out else "name that with --only, too"
            tell(f"what {those} mends meets {defect} next: {advice}")
    tell(f"mended files ({len(files)}): {out}")
    tell(f"diff for the pull request, against {checkout or release}: {diff}")
    named = f" --only {','.join(mend.name for mend in mends)}" if only or fitting else ""
    judge = f"run --mended {release} --lane graph,package{named}"
    if checkout is not None:
        judge = f"run --checkout {checkout} # when `git apply` has taken the diff there"
    if checkout is not None or release != WRITTEN_FOR:
        tell(f"the mends were judged in the place of {WRITTEN_FOR} alone: judge them here, too")
    tell(f"judge it: {PROGRAM} {judge}")
    return ExitCode.GREEN


def _record(runs: Sequence[str]) -> ExitCode:
    """Put what runs have shown into the committed file, one row a mend; a later run counts.

    Raises UsageError, before anything is written, for a run of none or of several mends.
    """
    catalogue, toolchain = load_catalogue(), toolchain_for()
    rows = read_judged()
    for run in runs:
        row = judged_by(reopen(run, option.RESULTS, toolchain, catalogue))
        rows[row.mend] = row
        tell(f"{row.mend}: {row.words}")
    replace_file(JUDGED, rows_text(Judged, rows.values()).encode())
    return ExitCode.GREEN


def _count(mends: Sequence[Mend], toolchain: Toolchain, together: bool) -> ExitCode:
    """Put the lines that calls run with each of these mends alone into the committed file.

    Args:
        together: put those that calls run with all of them there, too.
    """
    place, rows = committed(WORK), read_work()

    def lines_with(chosen: Sequence[Mend]) -> dict[str, int]:
        spec = mended_subject(WRITTEN_FOR, chosen, toolchain)
        return lines_by_call(spec, toolchain, load_catalogue(), COUNTED)

    torch = toolchain.python_env().torch_version
    counted = {mend.name: [mend] for mend in mends}
    if together:
        counted[TOGETHER] = list(mends)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        before = lines_with(())
        for name, after in zip(counted, pool.map(lines_with, counted.values()), strict=True):
            rows[name] = [
                Work(name, WRITTEN_FOR, torch, COUNTED, call, before[call], after[call])
                for call in before
            ]
            tell(f"{name}: {mend_costs(rows[name])}")
            every = (row for of_a_mend in rows.values() for row in of_a_mend)
            replace_file(place, rows_text(Work, every).encode())
    return ExitCode.GREEN


def judged_by(judged: JudgedRun) -> Judged:
    """What a run says of the one mend that its candidate has.

    Raises UsageError where it has none, or several, or did not ask the whole corpus.
    """
    words = judged.provenance.command_line
    only = words[words.index("--only") + 1] if "--only" in words and "--mended" in words else ""
    mends = mends_of(listed(only)) if only else ()
    if len(mends) != 1 or len(judged.qualifications) != 1 or judged.scope:
        raise UsageError(
            f"{judged.folder.run_id} is no run of one mend over the whole corpus in both lanes; "
            f"make one with {PROGRAM} run --mended {WRITTEN_FOR} --only ID --lane graph,package"
        )
    (mend,), (held,) = mends, judged.qualifications
    calls = summed(tally for (whole, _), tally in held.tallies.items() if whole)
    splits = summed(tally for (whole, _), tally in held.tallies.items() if not whole)
    return Judged(
        mend=mend.name,
        digest=mend.digest,
        release=held.baseline.subject,
        run=judged.folder.run_id,
        cells=held.compared,
        calls=calls.fixed,
        splits=splits.fixed,
        regressed=calls.regressed + splits.regressed,
        worse=sum(change.after > change.before for change in held.changes),
        left=sum(
            each.defect in mend.defects and each.key.subject == held.candidate.subject
            for each in judged.shown
        ),
    )


def _files_in(checkout: Path) -> Read:
    if not (checkout / SOURCES).is_dir():
        raise UsageError(f"--checkout {checkout}: it has no {SOURCES}")

    def read(name: str) -> str | None:
        place = checkout / "py" / name
        return place.read_text() if place.is_file() else None

    return read
