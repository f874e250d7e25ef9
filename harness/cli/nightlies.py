"""`trend` and `bisect`, and `releases watch`: nightly wheels, and commits, one after the other."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import sha256_of
from harness.base.program import command_line
from harness.base.words import plural
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import lanes, say, tell, toolchain_for
from harness.cli.running import kept_options, seen_through, show_verdict
from harness.register.expected import Expectations, read_expectations
from harness.run.bisecting import first_showing
from harness.run.judged_run import JudgedRun, reopen
from harness.run.nightlies import (
    new_wheels,
    nightly_of,
    over_nightlies,
    runs_in,
    version_of_wheel,
    wheels_in,
)
from harness.run.options import RunOptions
from harness.subjects.choosing import likes
from harness.toolchain import Toolchain
from harness.toolchain.checkout import commits_between, worktree
from harness.toolchain.released import newest_wheel
from harness.wire.routes import Lane

T = TypeVar("T")
NIGHTLIES: Final = option.RESULTS / "nightlies"
Store = Annotated[Path, typer.Option("--store", help="The folder of the nightlies' runs.")]


def watch(place: str, store: Path, options: RunOptions, toolchain: Toolchain) -> int:
    """Judge the wheels that are new: of a folder all of them, of an index the newest.

    The exit code is the worst of their gates.
    """
    if not place:
        raise UsageError("releases watch: name a folder of wheels, or the address of an index")
    folder = Path(place)
    if "://" in place:
        folder = store / "wheels"
        newest_wheel(toolchain.python, place, folder)
    wheels = wheels_in(folder)
    new = new_wheels(wheels, store)
    say(f"{plural(len(wheels), 'wheel')} in {place}, {len(new)} to judge")
    codes = [
        show_verdict(seen_through(dataclasses.replace(options, wheel=wheel, out=store), toolchain))
        for wheel in new
    ]
    return max(codes, default=int(ExitCode.GREEN))


def trend_command(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Benches' folders or ids, in any order.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="A store of nightlies, with benches beside.")
    ] = None,
    allow_mismatch: option.AllowMismatch = False,
    out_dir: option.Out = option.RESULTS,
) -> None:
    """Show defects over nightlies, and each stage over benches with where its level changed."""
    benches = list(runs or ())
    if store is not None:
        benches += sorted(str(path) for path in store.glob("bench-*") if path.is_dir())
        toolchain, catalogue = toolchain_for(), load_catalogue()
        folders = [folder for folder in runs_in(store) if nightly_of(folder)]
        if not folders and not benches:
            raise UsageError(f"{store}: no run of a nightly", "make some with `releases watch`")
        judged = [reopen(str(folder.path), store, toolchain, catalogue) for folder in folders]
        for line in _over_nightlies(judged):
            tell(line)
        if len(benches) < 2:
            return
    _trend_of_benches(benches, out_dir, allow_mismatch)


def _over_nightlies(judged: Sequence[JudgedRun]) -> Iterator[str]:
    names, seen = over_nightlies(judged)
    if not names:
        return
    yield f"{plural(len(names), 'nightly', 'nightlies')}: {names[0]} to {names[-1]}"
    news = [each for each in seen if each.before]
    for each in [*news, *(each for each in seen if not each.before)]:
        since = (
            f"first seen in {each.first}, not in {each.before}" if each.before else "in the first"
        )
        gone = f"; gone in {each.gone}" if each.gone else ""
        yield f"{each.name}: {each.title}" if each.title != each.name else each.name
        yield f"    {since}{gone}; in {each.shown} of {len(names)}"


def _trend_of_benches(names: Sequence[str], out_dir: Path, allow_mismatch: bool) -> None:
    # Here: who asks for defects need not wait until what measures is imported.
    from harness.bench.bench import reopen as reopen_bench
    from harness.bench.compare import trend
    from harness.bench.words import change

    benches = [reopen_bench(name, out_dir) for name in names]
    for found in trend(benches, allow_mismatch=allow_mismatch):
        levels = ", ".join(change(level) for level in found.levels)
        tell(f"{found.cell_id} {found.stage}: {levels}")
        for point in found.changes:
            tell(
                f"    from {found.runs[point.at]} on: {change(point.before)} → "
                f"{change(point.after)} (p {point.p_value:.3g})"
            )


def bisect_command(
    good: Annotated[str, typer.Option(help="A version, or a revision, that does not show it.")],
    bad: Annotated[str, typer.Option(help="A later one that does.")],
    defect: Annotated[
        str, typer.Option(help="The id of a known defect, or a failure as `trend` tells it.")
    ],
    wheels: Annotated[
        Path | None, typer.Option(help="The folder of nightly wheels; or --checkout.")
    ] = None,
    checkout: Annotated[
        Path | None, typer.Option(help="A clone of Torch-TensorRT, whose commits are asked.")
    ] = None,
    cases: Annotated[
        str, typer.Option(help="The case to ask; that by which the register shows the defect.")
    ] = "",
    lane: Annotated[str, typer.Option(help="graph or package; where the case shows it.")] = "",
    jobs: option.Jobs = option.CPUS,
    store: Store = NIGHTLIES,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Find the first nightly, or commit, that shows a defect, in the least number of runs."""
    if (wheels is None) is (checkout is None):
        raise UsageError("give --wheels FOLDER for nightlies, or --checkout PATH for commits")
    toolchain = toolchain_for(wheelhouse, offline)
    case, where = _asked(defect, cases, lane, read_expectations())
    options = RunOptions(
        cases=(case,), lanes=(where,), jobs=jobs, out=store, command_line=command_line(),
        kept=kept_options(False, "", None),
    )  # fmt: skip
    if wheels is not None:
        _tell_first(_between(wheels, good, bad), _of_wheels(options, defect, toolchain))
        return ExitCode.GREEN
    assert checkout is not None
    commits = commits_between(checkout, good, bad)
    _tell_first(commits, _of_commits(checkout, commits[0], options, defect, toolchain))
    return ExitCode.GREEN


def _asked(defect: str, cases: str, lane: str, known: Expectations) -> tuple[str, str]:
    """The case that shows a defect, and the lane in which it does."""
    entry = known.register.by_id.get(defect)
    case = cases or (entry.minimal_case if entry else "")
    if not case:
        raise UsageError(f"--defect {defect}: no known defect", "name the case with --cases")
    shown = {
        str(e.place.lane) for e in known.table.entries if (e.defect, e.place.case) == (defect, case)
    }
    where = lane or (Lane.PACKAGE if shown == {Lane.PACKAGE} else Lane.GRAPH)
    return case, lanes(where)[0]


def _between(folder: Path, good: str, bad: str) -> list[Path]:
    found = wheels_in(folder)
    by_version = {str(version_of_wheel(wheel)): at for at, wheel in enumerate(found)}
    for name, version in (("--good", good), ("--bad", bad)):
        if version not in by_version:
            raise UsageError(f"{name} {version}: not in {folder}; it has {', '.join(by_version)}")
    if by_version[good] >= by_version[bad]:
        raise UsageError(f"--good {good} is not before --bad {bad}")
    return found[by_version[good] : by_version[bad] + 1]


def _tell_first(items: Sequence[T], shows: Callable[[T], bool | None]) -> None:
    found = first_showing(items, shows)
    tell(f"first: {_name(found.first)}")
    tell(f"last without it: {_name(found.last_good)}")
    for each in found.between:
        tell(f"could not be asked, and may be the first: {_name(each)}")
    tell(f"{plural(found.runs, 'run')} for {len(items)}")


def _name(item: object) -> str:
    return item.name if isinstance(item, Path) else str(item)


def _of_wheels(
    options: RunOptions, defect: str, toolchain: Toolchain
) -> Callable[[Path], bool | None]:
    def shows(wheel: Path) -> bool | None:
        kept = _judged_before(wheel, options, toolchain)
        if kept is not None:
            return _shows(kept, defect)
        return _asked_now(dataclasses.replace(options, wheel=wheel), defect, toolchain, wheel.name)

    return shows


def _judged_before(wheel: Path, options: RunOptions, toolchain: Toolchain) -> JudgedRun | None:
    """A run of the store that asked this wheel for this case."""
    digest = sha256_of(wheel)
    for folder in runs_in(options.out):
        spec = nightly_of(folder)
        if spec is None or spec.wheel_sha256 != digest:
            continue
        asked = {(cell.key.case, cell.key.lane) for cell in folder.plan()}
        if {(case, Lane(options.lanes[0])) for case in options.cases} <= asked:
            return reopen(str(folder.path), options.out, toolchain, load_catalogue())
    return None


def _of_commits(
    checkout: Path, base: str, options: RunOptions, defect: str, toolchain: Toolchain
) -> Callable[[str], bool | None]:
    def shows(commit: str) -> bool | None:
        with (
            tempfile.TemporaryDirectory(prefix="bisect-") as folder,
            worktree(checkout, commit, Path(folder) / "tree") as tree,
        ):
            asked = dataclasses.replace(options, checkout=tree, base=base)
            return _asked_now(asked, defect, toolchain, commit[:10])

    return shows


def _asked_now(options: RunOptions, defect: str, toolchain: Toolchain, name: str) -> bool | None:
    try:
        told = _shows(seen_through(options, toolchain), defect)
    except UsageError as error:
        say(f"{name}: could not be asked: {error}")
        return None
    say(f"{name}: {'shows it' if told else 'does not show it' if told is False else 'not asked'}")
    return told


def _shows(judged: JudgedRun, defect: str) -> bool | None:
    """Whether a run's candidate shows a defect; None where it ended no cell."""
    names = set(likes(judged.subjects))
    if not any(r.key.subject in names and r.verdicts for r in judged.records.values()):
        return None
    return any(
        each.key.subject in names and defect in (each.defect, each.fact.text)
        for each in judged.shown
    )
