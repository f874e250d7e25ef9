"""`check`: which release and which call are safe for a user's own model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from harness.base.errors import ExitCode, SurroundingsError, Unavailable, UsageError
from harness.base.program import command_line
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import err, say, tell, toolchain_for
from harness.cli.reducing import reduce_call
from harness.expectations import EXPECTATIONS
from harness.gate.model_answer import ModelAnswer, Standing, packs_otherwise, standing_of
from harness.gate.signature import Known
from harness.report.check_causes import Told, causes_told
from harness.report.check_report import write_check
from harness.report.check_words import answer_lines, first_line, upgrade_answer
from harness.run.check import check, check_here, releases_to_ask
from harness.run.checked import Checked
from harness.run.options import Progress, RunOptions
from harness.run.progress import progress_for
from harness.run.stated_models import ModelOptions, models_place
from harness.runs.gpu_evidence import CONTRIBUTED
from harness.toolchain import Toolchain
from harness.toolchain.extra_packages import python_with
from harness.wire.builders import SEGMENT
from harness.wire.records import CaseInfo, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState

#: For so many seconds a failure that is no known defect is reduced.
REDUCED_S: Final = 60.0


def check_command(
    model: Annotated[
        str,
        typer.Argument(
            help="FILE.py:CLASS or FILE.py:FUNCTION, an archive FILE.pt2, or several in FILE.toml."
        ),
    ],
    inputs: Annotated[
        str,
        typer.Option(
            help="FILE.py:FUNCTION, or a FUNCTION beside the model, that returns what it is given; "
            "`example` by default."
        ),
    ] = "",
    fallback: Annotated[
        list[str] | None,
        typer.Option(help="An op that stays in PyTorch, as torch_executed_ops takes it; often."),
    ] = None,
    dynamic: Annotated[
        list[str] | None,
        typer.Option(
            help="INPUT:DIMENSION=LOW:HIGH, or FILE.py:FUNCTION of torch.export's; often."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of torch_tensorrt.dynamo.compile; often.")
    ] = None,
    releases: option.Releases = "",
    first: Annotated[str, typer.Option("--from", help="The release in use, of an upgrade.")] = "",
    last: Annotated[str, typer.Option("--to", help="The release to go to.")] = "",
    builder: option.OneBuilder = SEGMENT,
    python: option.Python = "",
    with_: option.With = None,
    here: Annotated[
        bool,
        typer.Option(
            "--here", help="Ask the torch_tensorrt that is installed, its engines on the GPU."
        ),
    ] = False,
    reduce: Annotated[
        bool, typer.Option(help="Reduce a failure that is no known defect, to a short script.")
    ] = True,
    expectations: option.ExpectationsFolder = EXPECTATIONS,
    save_case: Annotated[
        Path | None,
        typer.Option(help="Keep what is asked as a models file of this name, to be run again."),
    ] = None,
    jobs: option.Jobs = option.CPUS,
    timeout: option.Timeout = 120.0,
    seed: option.Seed = 0,
    out_dir: option.NewOut = option.RESULTS,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
) -> int:
    """Say which release and which call are safe for a model of yours, and why.

    Takes the model through the whole package of the newest releases by every way of saving. The
    exit code is 0 where some call of the newest release is right, and 1 where none is.
    """
    stated = ModelOptions(
        model, inputs, tuple(fallback or ()), tuple(dynamic or ()), tuple(setting or ())
    )
    if here and (releases or first or last or builder != SEGMENT):
        raise UsageError("--here asks the package that is installed; leave out which others")
    catalogue = load_catalogue()
    asked = releases_to_ask(catalogue, releases, first, last)
    place, new = models_place(stated, out_dir, save_case)
    progress = _Shown(asked[0])
    if place == Path(model):
        say(f"reading the models of {place}")
    options = RunOptions(
        builders=(builder,),
        jobs=jobs,
        timeout_s=timeout,
        seed=seed,
        out=out_dir,
        expectations=expectations,
        command_line=command_line(),
    )
    try:
        toolchain = python_with(toolchain_for(wheelhouse, offline), python, with_)
        if here:
            checked = check_here(place, options, toolchain, catalogue, progress.of)
        else:
            back = not (releases or first)
            checked = check(place, asked, options, toolchain, catalogue, progress.of, go_back=back)
    except (UsageError, Unavailable):  # before anything was run
        if new:
            _remove(place, out_dir)
        raise
    finally:
        progress.close()
    code = _tell(checked, first, last)
    if reduce:
        _reduce_unknown(checked, toolchain, seed)
    return code


def _remove(place: Path, out: Path) -> None:
    """Take away the models file of what was wrong, and the folders that were made for it."""
    place.unlink()
    for folder in (out / "models", out):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _tell(checked: Checked, first: str, last: str) -> int:
    page = write_check(checked, first, last)
    checked.runs[0].folder.be_latest()  # the page lies there; older releases were asked later
    if len(checked.answers) > 1:
        if first:
            tell(upgrade_answer(checked.answers, first, last))
        for answer in checked.answers:
            tell(first_line(checked, answer, first, last))
            for told in _unknown(checked, answer)[:1]:
                tell(f"  {told.calls}: {told.standing}, {told.like}; {told.command}")
    else:
        for line in answer_lines(checked, checked.answers[0], first, last):
            tell(line)
    tell(f"page: {page}")
    if checked.installed is not None:
        tell(f"what it showed, to be contributed to {CONTRIBUTED}: {page.parent}/evidence*.json")
    if any(answer.wrong for answer in checked.answers):
        return ExitCode.USAGE
    if any(answer.could_not_be_asked for answer in checked.answers):
        return ExitCode.INCONCLUSIVE
    safe = all(answer.newest_is_safe for answer in checked.answers)
    return ExitCode.GREEN if safe else ExitCode.RED


def _unknown(checked: Checked, answer: ModelAnswer) -> list[Told]:
    """What fails of a model and is no known defect, the worst first."""
    return [told for told in causes_told(checked, answer) if not told.title]


def _reduce_unknown(checked: Checked, toolchain: Toolchain, seed: int) -> None:
    """Reduce the worst failure of a model that is no known defect, beside the page."""
    answer, run = checked.answers[0], checked.runs[0]
    unknown = _unknown(checked, answer)
    if len(checked.answers) > 1 or not unknown or checked.installed is not None:
        return
    worst, known = unknown[0], run.expectations
    say(
        f"reducing what is no known defect, for {REDUCED_S:.0f} s at most; "
        "Ctrl-C ends it with the smallest so far"
    )
    try:
        reduce_call(
            checked.case_of(answer),
            worst.release,
            worst.route,
            checked.builder,
            checked.place,
            Known(known.table, known.register),
            toolchain,
            seed,
            run.folder.path / f"reduced_{answer.model}.py",
            REDUCED_S,
        )
    except KeyboardInterrupt:
        tell(f"no script: interrupted before anything was smaller; {worst.command} reduces it")
    except (UsageError, SurroundingsError) as error:
        tell(f"no script: {error}")


class _Shown:
    """Shows progress, and of one model each call of the newest release as soon as it has ended."""

    def __init__(self, newest: str) -> None:
        self._newest = newest
        self._alone = False
        self._packs_otherwise = False
        self._bar = progress_for(err)

    def of(self, models: Sequence[CaseInfo]) -> Progress:
        self._bar.close()
        self._bar = progress_for(err)
        self._alone = len(models) == 1
        return self

    def start(self, total: int, done: int) -> None:
        self._bar.start(total, done)

    def ended(self, record: CellRecord) -> None:
        self._bar.ended(record)
        of_package = record.key.lane is not Lane.GRAPH and record.state is CellState.ENDED
        if self._alone and of_package and record.key.subject == self._newest:
            self._packs_otherwise |= packs_otherwise(record)
            standing = standing_of(record)
            packed = self._packs_otherwise and record.key.route.by_compile
            if standing is Standing.RIGHT and packed:
                standing = Standing.OTHER_FORM
            self._bar.say(f"{self._newest} {record.key.route.row.call}: {standing}")

    def say(self, line: str) -> None:
        self._bar.say(line)

    def close(self) -> None:
        self._bar.close()
