"""`reduce`: a small model that fails in the same way."""

from __future__ import annotations

import dataclasses
import shlex
import textwrap
import time
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM, command_line
from harness.base.words import plural
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, fail, say, tell, toolchain_for
from harness.cli.named_cells import (
    NamedCells,
    NamedSubject,
    case_of,
    lane_of,
    lanes_meant,
    named_cells,
    places_of,
)
from harness.gate.signature import Known
from harness.register.expected import read_expectations
from harness.register.facts import facts_in
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.run.reducing import (
    CASE,
    FAILS,
    Asked,
    NothingToReduce,
    Reduced,
    Tried,
    reduce_model,
)
from harness.runs.run_directory import LATEST
from harness.toolchain import Toolchain
from harness.toolchain.extra_packages import python_with
from harness.toolchain.rig_client import absolute
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CaseInfo
from harness.wire.routes import Route
from harness.wire.vocabulary import SubjectKind

HANDMADE = "handmade"
_WIDTH = 98


def reduce_command(
    case: option.CaseName,
    subject: option.Subject = "",
    route: Annotated[str, typer.Option(help="One route; all that the subject has, else.")] = "",
    oracle: Annotated[str, typer.Option(help="Whose failure; the worst one by default.")] = "",
    harm: Annotated[str, typer.Option(help="Of which grade; the worst by default.")] = "",
    defect: Annotated[str, typer.Option(help="With the signs of this known defect.")] = "",
    check: Annotated[
        str,
        typer.Option(
            help="A command that decides: it is given a file, and exits with 1 where that fails."
        ),
    ] = "",
    lane: option.LaneOfCase = "",
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    python: option.Python = "",
    with_: option.With = None,
    builder: option.OneBuilder = SEGMENT,
    seed: option.RunSeed = 0,
    exporter: option.Exporter = None,
    like: option.Like = "",
    run: option.OfRun = LATEST,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The script to write; reduced_CASE.py by default."),
    ] = None,
) -> int:
    """Shrink a model that fails to a small one that fails in the same way, as a script.

    Beside the script lies the same model as a case for `--corpus`. Ctrl-C keeps the smallest so
    far.
    """
    if oracle not in ("", *Oracle):
        raise UsageError(f"--oracle {oracle!r}: {', '.join(Oracle)}")
    if harm not in ("", *Harm):
        raise UsageError(f"--harm {harm!r}: {', '.join(Harm)}")
    places, its_python = places_of(case, corpus, run, option.RESULTS)
    toolchain = python_with(toolchain_for(wheelhouse, offline, its_python), python, with_)
    info = case_of(case, places, toolchain.python)
    mode = captures(capture)[0]
    named = NamedSubject(subject, exporter, like=like, run=run)
    if info.origin == HANDMADE:
        raise UsageError(
            f"{info.name} is a split without a model, and reduce makes models smaller; "
            f"`{PROGRAM} show {info.name}` shows the split"
        )
    expectations = read_expectations(corpus=places, undecided=True)
    if defect and defect not in expectations.register.by_id:
        raise UsageError(f"--defect {defect!r} is no known one; `{PROGRAM} defects` lists them")
    known = Known(expectations.table, expectations.register, like)
    out = out or Path(f"reduced_{info.name}.py")
    if check:
        asked = Asked(
            info.name, mode, "", (Route.PLAIN,), {"corpus": places, "seed": seed}, check=check
        )
        done = reduced(asked, known, toolchain.python)
        return _written(info.name, done, None, toolchain, known, out, seed)
    lanes = lanes_meant(info, lane, route, subject, bool(places))
    for chosen in lanes:
        cells = named_cells(info, named, chosen, route, builder, toolchain, places, seed)
        asked = Asked(
            info.name, mode, cells.spec.subject, cells.routes, cells.setup, oracle, harm, defect
        )
        try:
            done = reduced(asked, known, toolchain.python)
            break
        except UsageError as error:
            if chosen is lanes[-1] or isinstance(error, NothingToReduce):
                raise
            tell(f"{error.what}; the graph lane, which has the inliner alone, is asked next")
    return _written(info.name, done, cells, toolchain, known, out, seed)


def reduce_call(
    info: CaseInfo,
    release: str,
    route: Route,
    builder: str,
    place: str,
    known: Known,
    toolchain: Toolchain,
    seed: int,
    out: Path,
    limit_s: float,
) -> int:
    """Reduce what one call of a release shows of a model, and write the script."""
    named = NamedSubject(release)
    lane = lane_of(info, "", route)
    cells = named_cells(info, named, lane, route, builder, toolchain, (place,), seed)
    asked = Asked(
        info.name, "nonstrict", cells.spec.subject, cells.routes, cells.setup, limit_s=limit_s
    )
    done = reduce_model(asked, known, toolchain.python, _Progress())
    return _written(info.name, done, cells, toolchain, known, out, seed)


def reduced(asked: Asked, known: Known, python: str) -> Reduced:
    """As `reduce_model`; whoever interrupts it before anything was smaller is told so."""
    try:
        return reduce_model(asked, known, python, _Progress())
    except KeyboardInterrupt:
        fail(ExitCode.INTERRUPTED, "interrupted before anything was smaller; nothing is written")


class _Progress:
    """Tells of every candidate that is kept, but for those that come right behind another one."""

    def __init__(self) -> None:
        self._told_at = 0.0

    def __call__(self, tried: Tried) -> None:
        now = time.monotonic()
        if not tried.kept or now - self._told_at < 1.0:
            return
        self._told_at = now
        say(f"{tried.seconds:4.0f} s, {tried.number:3} tries: {tried.size}")


def _written(
    case: str,
    done: Reduced,
    cells: NamedCells | None,
    toolchain: Toolchain,
    known: Known,
    out: Path,
    seed: int,
) -> int:
    """Write what a reduction came to, and say so."""
    tell(f"{done.before} became {done.after}, by {done.tries} tries in {done.seconds:.0f} s")
    said = _said(case, done, cells, known)
    for line in said[1:]:
        tell(line)
    ended = ExitCode.INTERRUPTED if done.interrupted else ExitCode.GREEN
    if not done.text:
        tell(f"no script: {done.why_not}")
        return ExitCode.INCONCLUSIVE
    file = out if cells is None else out.with_name(f"{out.stem}_case.py")
    paragraphs = "\n\n".join(textwrap.fill(each, _WIDTH) for each in said)
    docstring = paragraphs.replace("\\", "\\\\").replace('"""', "'''")
    replace_file(file, f'"""{docstring}\n"""\n\n{done.text}'.encode())
    tell(f"{file}: the model as a case for --corpus, named {CASE}")
    if cells is None:
        return ended
    script = _script(done, cells, toolchain, "\n\n".join(said), file, out.name, seed)
    if not script.text:
        tell(f"no script: {script.why_not}")
        return ExitCode.INCONCLUSIVE
    replace_file(out, script.text.encode())
    # A script is taken only if it ended so when it was tried (`harness.rig.reproduce.trial`).
    lines = plural(len(script.text.splitlines()), "line")
    tell(f"{out}: {lines}, exit code {FAILS}; it says: {script.said}")
    return ended


def _said(case: str, done: Reduced, cells: NamedCells | None, known: Known) -> list[str]:
    """What fails, and where it comes from, in paragraphs."""
    origin = f"Reduced from {case}: {done.before} became {done.after}."
    if done.signature is None or done.verdict is None or cells is None:
        return [origin]
    found, call = done.signature, Route(done.signature.place.route)
    fails = (
        f"{cells.spec.subject}, {call.row.call or f'route {call}'}: {done.verdict.label}, "
        f"{found.harm.word}: {done.verdict.said}"
    )
    defect = known.register.by_id.get(found.defect)
    named = (
        f"It bears the signs of the known defect {defect.id}: {defect.title}."
        if defect
        else "It bears the signs of no known defect, or of several."
    )
    return [origin, named, fails]


def _script(
    done: Reduced,
    cells: NamedCells,
    toolchain: Toolchain,
    what: str,
    file: Path,
    name: str,
    seed: int,
) -> Script:
    """The script, made of the file as of any case of a user's own."""
    if cells.spec.kind in (SubjectKind.BUILTIN, SubjectKind.TORCH):
        return Script("", "", "", f"{cells.spec.subject} has no wheel", "")
    assert done.signature is not None
    assert done.verdict is not None
    place, meant = done.signature.place, done.signature.harm
    wanted = Wanted(
        CASE,
        "nonstrict",
        (place.route,),
        cells.spec,
        what=what,
        file=name,
        labels=((done.verdict.oracle, done.verdict.label),),
        says=tuple(fact.says for fact in facts_in(done.verdict) if fact.own_harm == meant),
        options=f" --corpus {shlex.quote(str(file))}"
        + ("" if cells.builder == SEGMENT else f" --builder {cells.builder}"),
    )
    corpus = absolute([str(file)])
    if cells.site:
        (script,) = package_scripts_for([wanted], toolchain, cells.site, corpus, seed)
        return script
    if cells.spec.kind is SubjectKind.RELEASE:
        release = load_catalogue().get(cells.spec.subject)
        calls = tuple(each for each in release.package_routes if each.reaches is place.route)
        if calls:
            short = dataclasses.replace(wanted, routes=calls)
            parts = dataclasses.replace(
                short,
                shown=done.verdict,
                command=shlex.join(command_line()),
            )
            for each in (short, parts):
                (script,) = package_scripts_for([each], toolchain, release, corpus, seed)
                if script.text:
                    return script
    (script,) = scripts_for([wanted], toolchain, corpus, seed)
    return script
