"""`defects`: what is broken, since when, and what to do; from the committed data alone."""

from __future__ import annotations

import difflib
import functools
import json
import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.files import replace_file, written_to
from harness.base.program import PROGRAM
from harness.base.words import plural
from harness.catalogue.releases import load_catalogue
from harness.cli import options as option
from harness.cli.common import tell, tells_scripts, toolchain_for
from harness.expectations import EXPECTATIONS
from harness.gate.defect_table import own_torch_words
from harness.gate.findings import titled
from harness.gate.known import changes_in
from harness.gate.signs import CANNOT_BE_SEEN, NOT_SEEN_NOW, SEEN_FIRST_NOW
from harness.mends.all import mend_of
from harness.mends.judged import mend_costs, read_judged, read_work
from harness.register.defects import Defect
from harness.register.expected import read_expectations
from harness.register.facts import NONSTRICT, Place
from harness.register.standing import Standing, Standings, State, is_ordinary
from harness.runs.gpu_evidence import CONTRIBUTED, contributed, seen_on_gpus
from harness.toolchain import Toolchain
from harness.toolchain.environment import PROJECT_ROOT
from harness.wire.routes import USER_CALLS, Lane, Route


def defects_command(
    name: Annotated[str, typer.Argument(help="A defect's id, for all that is known of it.")] = "",
    release: Annotated[str, typer.Option(help="Those of this release; the newest else.")] = "",
    call: Annotated[
        str, typer.Option(help=f"Those that a call meets: {', '.join(USER_CALLS)}, or a route.")
    ] = "",
    new_in: Annotated[str, typer.Option("--new-in", help="What came and went with it.")] = "",
    alive: Annotated[
        bool, typer.Option("--alive", help="Those that the newest release has.")
    ] = False,
    all_of_them: Annotated[bool, typer.Option("--all", help="Those of any release.")] = False,
    issue: Annotated[
        bool,
        typer.Option(
            "--issue", help="An issue for upstream on the one defect, with a script; needs torch."
        ),
    ] = False,
    export_tests: Annotated[
        Path | None,
        typer.Option(
            help="Write upstream a strict-xfail pytest of each defect to this folder; needs torch."
        ),
    ] = None,
    as_json: option.Json = False,
    wheelhouse: option.Wheelhouse = None,
    offline: option.Offline = False,
    folder: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """List the known defects of releases, from committed data alone: needs no torch.

    With --issue and --export-tests scripts are made and tried, which takes torch and a wheel.
    """
    known = read_expectations(folder, undecided=True)
    standings = known.standings
    if issue or export_tests is not None:
        toolchain = toolchain_for(wheelhouse, offline)
        if export_tests is not None:
            return _export_tests(export_tests, release, name, standings, toolchain)
        return _issue(name, release, standings, toolchain)
    if name:
        return _one(name, standings, as_json=as_json)
    if not standings.releases:
        tell(f"the table is empty: {PROGRAM} expected --update RUN")
        return ExitCode.GREEN
    newest = standings.releases[-1]
    if new_in:
        return _new_in(_release(new_in, standings), standings)
    if all_of_them:
        for defect in known.register.defects:
            _tell_line(_latest(defect, standings), standings, as_json=as_json)
        return ExitCode.GREEN
    which = newest if alive or not release else _release(release, standings)
    routes = _routes(call) if call else ()
    shown = standings.having(which, State.SHOWN)
    if routes:
        shown = [each for each in shown if standings.meets(each, routes)]
    for each in shown:
        _tell_line(each, standings, as_json=as_json)
    hidden = [] if routes else standings.having(which, State.HIDDEN)
    for each in hidden:
        _tell_line(each, standings, as_json=as_json)
    if not as_json:
        met = f" that {call} meets" if call else ""
        more = f", and {len(hidden)} that {CANNOT_BE_SEEN}" if hidden else ""
        count = plural(len(shown), "known defect")
        tell(f"{which}: {count}{met}{more}; `defects ID` tells all of one")
    return ExitCode.GREEN


def _issue(name: str, release: str, standings: Standings, toolchain: Toolchain) -> int:
    from harness.report import upstream

    defect = _known(name, standings)
    asked = _release(release, standings) if release else _latest(defect, standings).release
    print(upstream.issue_text(defect, standings, toolchain, load_catalogue().get(asked)), end="")
    return ExitCode.GREEN


def _export_tests(
    place: Path, release: str, name: str, standings: Standings, toolchain: Toolchain
) -> int:
    """Write the tests, and tell of which defects there is none, and why."""
    from harness.report.exported_tests import files_of_tests, left_out, to_export
    from harness.report.upstream_scripts import findings

    asked = load_catalogue().get(_release(release or standings.releases[-1], standings))
    shown, without = to_export(standings, asked), left_out(standings, asked)
    if name:
        _known(name, standings)
        shown = [each for each in shown if each.defect.id == name]
        without = [(each, why) for each, why in without if each.defect.id == name]
    if not shown and not without:
        state = f"does not show {name}" if name else "shows no known defect"
        raise UsageError(f"there is nothing to export: {asked.version} {state}")
    heard = tells_scripts(plural(len(shown), "defect"))
    found = findings(shown, standings, toolchain, asked, heard=heard)
    without += [(each.standing, each.script.why_not) for each in found if not each.script.test]
    files = files_of_tests(found, without, asked)
    with written_to(place):
        place.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        replace_file(place / file, text.encode())
    for standing, why in without:
        tell(f"no test: {standing.defect.title} ({standing.defect.id})")
        tell(f"    {why}")
    tests = len(files) - 1
    tell(f"{place}: tests of {tests} of {tests + len(without)} defects of {asked.version}")
    return ExitCode.GREEN if tests else ExitCode.INCONCLUSIVE


def _release(text: str, standings: Standings) -> str:
    if text not in standings.releases:
        raise UsageError(f"{text}: the table knows {', '.join(standings.releases)}")
    return text


def _routes(call: str) -> tuple[Route, ...]:
    if call in list(Route):
        return (Route(call),)
    for name, routes in USER_CALLS.items():
        if _brief(call) == _brief(name):
            return routes
    raise UsageError(f"--call {call!r}: {', '.join(USER_CALLS)}, or a route: {', '.join(Route)}")


def _brief(call: str) -> str:
    """A call without module and file, which every call is given: ``save`` for ``save(m, f)``."""
    return re.sub(r"\bm,f,?", "", re.sub(r"\s", "", call)).replace("()", "")


def _tell_line(each: Standing, standings: Standings, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(each)))
        return
    if each.state is State.HIDDEN:
        where = _behind(each, standings)
    elif each.state is State.SHOWN:
        count = f"{plural(each.cells, 'cell')} of {plural(len(each.cases), 'case')}"
        where = f"{each.harm}, {count}" if each.harm else count
    else:
        where = each.state
    tell(f"{each.defect.id}: {each.defect.title}")
    own = _own_torch(each, standings)
    tell(f"    {_life(each.defect)}; {where}{f'; {own}' if own else ''}")


def _behind(each: Standing, standings: Standings) -> str:
    """That other defects stop the cases of this one, and which."""
    names = each.behind or each.broken_by
    others = " and ".join(titled(name, standings.register.titles) for name in names)
    return f"cannot be seen, as its cases fail by {others}"


def _own_torch(each: Standing, standings: Standings) -> str:
    """What it does with the torch that the release pins, where that is less than it does here."""
    return own_torch_words(standings, each, _torches())


@functools.cache
def _torches() -> dict[str, str]:
    return load_catalogue().torches


def _life(defect: Defect) -> str:
    since = f"since {defect.since}" if defect.since else "always"
    by = f" by {defect.fixed_by}" if defect.fixed_by else ""
    fixed = f", fixed in {defect.fixed_in}" if defect.fixed_in else ", fixed upstream" if by else ""
    by += "" if defect.fixed_in or not by else ", in no release yet"
    return f"{since}{fixed}{by}"


def _latest(defect: Defect, standings: Standings) -> Standing:
    """As the newest release shows it that does."""
    return standings.newest_with(defect.id) or standings.of(defect.id, standings.releases[-1])


def _known(name: str, standings: Standings) -> Defect:
    defect = standings.register.by_id.get(name)
    if defect is None:
        near = difflib.get_close_matches(name, standings.register.by_id, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(
            f"no defect is called {name or 'nothing'}{hint} `{PROGRAM} defects` lists them"
        )
    return defect


def _one(name: str, standings: Standings, *, as_json: bool) -> int:
    defect = _known(name, standings)
    if as_json:
        print(json.dumps(_as_json(_latest(defect, standings))))
        return ExitCode.GREEN
    latest = _latest(defect, standings)
    place = _place(latest, standings)
    # A script can call the exporter in any cell; why none calls the package, the defect says.
    scripted = place is not None and (not defect.no_script or place.lane == Lane.GRAPH)
    tell(f"{defect.id}: {defect.title}")
    for title, text in (
        ("why", defect.why),
        ("where", "; ".join(defect.where)),
        ("blame", defect.blame),
        ("upstream", ", ".join(defect.upstream)),
        ("brought by", defect.brought_by),
        ("life", _life(defect)),
        ("harm", latest.harm),
        ("own torch", _own_torch(latest, standings)),
        ("documented", defect.documented),
        ("workaround", defect.workaround),
        ("avoided by", ", ".join(defect.avoid)),
        ("not visible", defect.not_visible),
        ("no script", "" if scripted else defect.no_script),
        ("seen on a GPU", "; ".join(seen_on_gpus(contributed(PROJECT_ROOT / CONTRIBUTED), name))),
        ("calls", ", ".join(latest.routes)),
        ("cases", ", ".join(latest.cases)),
    ):
        if text:
            tell(f"  {title + ':':12} {text}")
    for release in standings.releases:
        each = standings.of(name, release)
        cells = f" by {each.cells} cells" if each.cells else ""
        unseen = each.state is State.HIDDEN or each.broken_by
        told = _behind(each, standings) if unseen else f"{each.state}{cells}"
        tell(f"  {release + ':':12} {told}")
    if latest.state is State.SHOWN:
        tell(f"  {'issue:':12} {PROGRAM} defects {name} --issue")
    mend = mend_of(name)
    if mend is not None:
        names = ",".join((name, *mend.goes_with))
        tell(f"  {'mend:':12} {PROGRAM} mend --only {names}: {mend.idea}")
        if name in mend.in_part:
            tell(f"  {'not mended:':12} {mend.uncovered}")
        if judged := read_judged().get(mend.name):
            tell(f"  {'judged:':12} the mend alone, on a CPU: {judged.told_of(mend.digest)}")
        if work := read_work().get(mend.name):
            tell(f"  {'costs:':12} lines of Python, by {work[0].case}: {mend_costs(work)}")
    if place is not None:
        tell(f"  {'show it:':12} {PROGRAM} explain {_cell(place, latest.release)}")
    if place is not None and scripted:
        tell(f"  {'script:':12} {PROGRAM} reproduce {_cell(place, latest.release)}")
    return ExitCode.GREEN


def _place(each: Standing, standings: Standings) -> Place | None:
    """The place that shows a defect best, where `explain` and `reproduce` can ask it.

    They ask the pinned environment with segments for engines, and no other.
    """
    found = standings.shown_by(each.defect.id, each.release)
    return found[0].place if found and is_ordinary(found[0]) else None


def _cell(place: Place, release: str) -> str:
    """What names a place's cell to `explain` and `reproduce`."""
    capture = "" if place.capture == NONSTRICT else f" --capture {place.capture}"
    return f"{place.case} --subject {release} --route {place.route}{capture}"


def _new_in(release: str, standings: Standings) -> int:
    changes = changes_in(standings, release)
    if changes is None:
        raise UsageError(f"{release} is the oldest release here; there is nothing to compare")
    for title, of in (
        ("fixed", changes.fixed),
        ("new", changes.new),
        (SEEN_FIRST_NOW, changes.uncovered),
        (NOT_SEEN_NOW, changes.hidden),
    ):
        for each in of:
            defect = each.defect
            by = f" ({defect.fixed_by})" if title == "fixed" and defect.fixed_by else ""
            behind = f" ({_behind(each, standings)})" if title == NOT_SEEN_NOW else ""
            tell(f"{title}: {defect.id}: {defect.title}{by}{behind}")
    tell(f"{changes.before} -> {release}: {changes.kept} defects of both")
    return ExitCode.GREEN


#: The fields of a defect in JSON, in this order.
_WRITTEN: Final = (
    "id", "title", "why", "where", "upstream", "blame", "since", "brought_by", "fixed_in",
    "fixed_by", "documented", "workaround", "no_script", "minimal_case",
)  # fmt: skip


def _as_json(each: Standing) -> dict[str, Any]:
    return {
        **{name: getattr(each.defect, name) for name in _WRITTEN},
        "release": each.release,
        "state": each.state,
        "harm": each.harm,
        "hidden_behind": list(each.behind),
        "cells": each.cells,
        "cases": list(each.cases),
        "routes": list(each.routes),
    }
