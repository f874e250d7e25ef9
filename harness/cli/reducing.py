"""`reduce`: a small model, or a small handmade split, that fails in the same way."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file
from harness.base.program import PROGRAM, command_line
from harness.base.words import plural
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import captures, committed, err, tell, toolchain_for
from harness.cli.inspecting import (
    LaneOfCase,
    case_of,
    chosen_routes,
    known_case,
    lane_of,
    lanes_meant,
    packaged_subject,
    routes_of,
    subject_for,
)
from harness.gate.signature import Known
from harness.register.standing import read_expectations
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.run.reducing import CASE, FAILS, Asked, Reduced, Tried, reduce_model
from harness.runs.run_directory import LATEST
from harness.subjects.packages import whole_package
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.toolchain.rig_client import absolute, ask_rig, graph_lane, package_lane
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CaseInfo, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import SubjectKind

FOUND = PROJECT_ROOT / "corpus" / "found"
HANDMADE = "handmade"
_WIDTH = 98
_WITHOUT_LOWERING = (
    "compile() lowers this model to another one, which does not show the failure. The script calls "
    "what stands behind the lowering: the partitioner, the conversion and save()."
)


def reduce_command(
    case: Annotated[str, typer.Argument(help="A case's name, or a defect's id.")],
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
    lane: LaneOfCase = "",
    capture: option.Capture = "nonstrict",
    corpus: option.CorpusPlaces = None,
    builder: option.OneBuilder = SEGMENT,
    seed: option.RunSeed = 0,
    exporter: option.Exporter = None,
    like: option.Like = "",
    run: Annotated[
        str, typer.Option(help="The run that has the candidate: a folder, an id, or `latest`.")
    ] = LATEST,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The script to write; reduced_CASE.py, or corpus/found/NAME.json."),
    ] = None,
) -> int:
    """Shrink a model that fails to a small one that fails in the same way, as a script.

    Beside the script lies the same model as a case for `--corpus`. Ctrl-C keeps the smallest so
    far. A drawn case, which has no model, is shrunk to a case of corpus/found.
    """
    if oracle not in ("", *Oracle):
        raise UsageError(f"--oracle {oracle!r}: {', '.join(Oracle)}")
    if harm not in ("", *Harm):
        raise UsageError(f"--harm {harm!r}: {', '.join(Harm)}")
    places = absolute(corpus or ())
    case = case_of(case)
    info = known_case(case, places)
    toolchain = toolchain_for(wheelhouse, offline)
    mode = captures(capture)[0]
    if info.origin == HANDMADE:
        if check or harm or defect:
            raise UsageError(f"{case} has no model; of a handmade split --oracle alone chooses")
        spec = subject_for(subject, exporter, like, toolchain, option.RESULTS, run)
        _reduce_split(case, spec, route, oracle, mode, places, toolchain, out)
        return ExitCode.GREEN
    expectations = read_expectations(corpus=places, undecided=True)
    if defect and defect not in expectations.register.by_id:
        raise UsageError(f"--defect {defect!r} is no known one; `{PROGRAM} defects` lists them")
    known = Known(expectations.table, expectations.register, like)
    how, out = None, out or Path(f"reduced_{case}.py")
    if check:
        asked = Asked(case, mode, "", (Route.PLAIN,), {"corpus": places, "seed": seed}, check=check)
        done = reduce_model(asked, known, toolchain.python, _Progress())
        return _written(case, done, how, toolchain, known, out, seed)
    lanes = lanes_meant(info, lane, route, subject, bool(places))
    for chosen in lanes:
        which = (subject, chosen, route, builder, exporter, like, run)
        how = _how(info, *which, toolchain, places, seed)
        asked = Asked(case, mode, how.subject, how.routes, how.setup, oracle, harm, defect)
        try:
            done = reduce_model(asked, known, toolchain.python, _Progress())
            break
        except UsageError as error:
            if chosen is lanes[-1]:
                raise
            tell(f"{error.what}; the graph lane, which has the inliner alone, is asked next")
    return _written(case, done, how, toolchain, known, out, seed)


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
    """Reduce what one call of a release shows of a model, and write the script.

    Raises:
        UsageError, SurroundingsError, KeyboardInterrupt: as `reduce_model`.
    """
    which = (release, lane_of(info, "", route), route, builder, None, "", LATEST)
    how = _how(info, *which, toolchain, (place,), seed)
    asked = Asked(info.name, "nonstrict", how.subject, how.routes, how.setup, limit_s=limit_s)
    done = reduce_model(asked, known, toolchain.python, _Progress())
    return _written(info.name, done, how, toolchain, known, out, seed)


@dataclass(frozen=True)
class _How:
    """Of whom a case is asked, and how."""

    spec: SubjectSpec
    routes: tuple[Route, ...]
    setup: Mapping[str, Any]
    lane: Lane
    subject: str
    builder: str


def _how(
    info: CaseInfo,
    subject: str,
    lane: Lane,
    route: str,
    builder: str,
    exporter: Path | None,
    like: str,
    run: str,
    toolchain: Toolchain,
    places: Sequence[str],
    seed: int,
) -> _How:
    if lane is Lane.PACKAGE:
        spec = packaged_subject(subject, exporter, like, toolchain, option.RESULTS, run)
        release, site = whole_package(spec, toolchain, load_catalogue(), builder)
        known = routes_of(info, release.package_routes)
        setup = package_lane(site, places, seed)
    else:
        spec = subject_for(subject, exporter, like, toolchain, option.RESULTS, run)
        known = routes_of(info, spec.routes)
        setup = graph_lane(toolchain.emulated_runtime(), [spec], places, seed)
    routes = chosen_routes(spec.subject, known, route, info.name)
    return _How(spec, tuple(map(Route, routes)), setup, lane, spec.subject, builder)


class _Progress:
    """Tells of every candidate that is kept, but for those that come right behind another one."""

    def __init__(self) -> None:
        self._told_at = 0.0

    def __call__(self, tried: Tried) -> None:
        now = time.monotonic()
        if not tried.kept or now - self._told_at < 1.0:
            return
        self._told_at = now
        err.print(
            f"{tried.seconds:4.0f} s, {tried.number:3} tries: {tried.size}",
            markup=False,
            soft_wrap=True,
        )


def _written(
    case: str,
    done: Reduced,
    how: _How | None,
    toolchain: Toolchain,
    known: Known,
    out: Path,
    seed: int,
) -> int:
    """Write what a reduction came to, and say so."""
    tell(f"{done.before} became {done.after}, by {done.tries} tries in {done.seconds:.0f} s")
    said = _said(case, done, how, known)
    for line in said[1:]:
        tell(line)
    ended = ExitCode.INTERRUPTED if done.interrupted else ExitCode.GREEN
    if not done.text:
        tell(f"no script: {done.why_not}")
        return ExitCode.INCONCLUSIVE
    file = out if how is None else out.with_name(f"{out.stem}_case.py")
    paragraphs = "\n\n".join(textwrap.fill(each, _WIDTH) for each in said)
    docstring = paragraphs.replace("\\", "\\\\").replace('"""', "'''")
    replace_file(file, f'"""{docstring}\n"""\n\n{done.text}'.encode())
    tell(f"{file}: the model as a case for --corpus, named {CASE}")
    if how is None:
        return ended
    script = _script(done, how, toolchain, "\n\n".join(said), file, out.name, seed)
    if not script.text:
        tell(f"no script: {script.why_not}")
        return ExitCode.INCONCLUSIVE
    replace_file(out, script.text.encode())
    # A script is taken only if it ended so when it was tried (`harness.rig.reproduce.trial`).
    lines = plural(len(script.text.splitlines()), "line")
    tell(f"{out}: {lines}, exit code {FAILS}; it says: {script.said}")
    return ended


def _said(case: str, done: Reduced, how: _How | None, known: Known) -> list[str]:
    """What fails, and where it comes from, in paragraphs."""
    origin = f"Reduced from {case}: {done.before} became {done.after}."
    if done.signature is None or done.verdict is None or how is None:
        return [origin]
    found, call = done.signature, Route(done.signature.place.route)
    fails = (
        f"{how.subject}, {call.row.call or f'route {call}'}: {done.verdict.label}, "
        f"{found.harm.word}: {done.verdict.message}"
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
    how: _How,
    toolchain: Toolchain,
    what: str,
    file: Path,
    name: str,
    seed: int,
) -> Script:
    """The script, made of the file as of any case of a user's own."""
    if how.spec.kind in (SubjectKind.BUILTIN, SubjectKind.TORCH):
        return Script("", "", "", f"{how.subject} has no wheel", "")
    assert done.signature is not None
    assert done.verdict is not None
    place = done.signature.place
    wanted = Wanted(
        CASE,
        "nonstrict",
        (place.route,),
        how.spec,
        what=what,
        file=name,
        labels=((done.verdict.oracle, done.verdict.label),),
        options=f" --corpus {file}"
        + ("" if how.builder == SEGMENT else f" --builder {how.builder}"),
    )
    corpus = absolute([str(file)])
    if how.lane is Lane.PACKAGE:
        _, site = whole_package(how.spec, toolchain, load_catalogue(), how.builder)
        (script,) = package_scripts_for([wanted], toolchain, site, corpus, seed)
        return script
    if how.spec.kind is SubjectKind.RELEASE:
        release = load_catalogue().get(how.subject)
        calls = tuple(each for each in release.package_routes if each.reaches is place.route)
        if calls:
            short = dataclasses.replace(wanted, routes=calls)
            parts = dataclasses.replace(
                short,
                what=f"{what}\n\n{_WITHOUT_LOWERING}",
                shown=done.verdict,
                command=shlex.join(command_line()),
            )
            for each in (short, parts):
                (script,) = package_scripts_for([each], toolchain, release, corpus, seed)
                if script.text:
                    return script
    (script,) = scripts_for([wanted], toolchain, corpus, seed)
    return script


def _reduce_split(
    case: str,
    spec: SubjectSpec,
    route: str,
    oracle: str,
    mode: str,
    places: Sequence[str],
    toolchain: Toolchain,
    out: Path | None,
) -> None:
    """Shrink a drawn split, into a file of corpus/found."""
    routes = chosen_routes(spec.subject, spec.routes, route, case)
    words = "_".join(("found", *(part for part in (oracle, spec.subject) if part), case))
    made = out.stem if out else re.sub(r"\W", "_", words)
    (blueprint,) = ask_rig(
        sys.executable,
        "reduce",
        **graph_lane(toolchain.emulated_runtime(), [spec], places),
        subject=spec.subject,
        case=case,
        capture=mode,
        routes=list(routes),
        oracle=oracle,
        name=made,
    )
    path = out or committed(FOUND) / f"{made}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(blueprint, indent=1, sort_keys=True) + "\n").encode())
    tell(f"{made}: {len(blueprint['steps'])} steps: {path}")
    tell(blueprint["catches"])
