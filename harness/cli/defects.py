"""`defects`: what is broken, since when, and what to do; from the committed data alone."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any, Final

import typer

from harness.base.errors import ExitCode, UsageError
from harness.base.program import PROGRAM
from harness.cli import options as option
from harness.cli.common import tell
from harness.expectations import EXPECTATIONS
from harness.gate.known import changes_in
from harness.register.defects import Defect
from harness.register.facts import NONSTRICT
from harness.register.standing import Standing, Standings, State, is_ordinary, read_expectations
from harness.wire.routes import USER_CALLS, Route


def defects_command(
    name: Annotated[str, typer.Argument(help="A defect's id, for all that is known of it.")] = "",
    release: Annotated[str, typer.Option(help="Those of this release; the newest else.")] = "",
    call: Annotated[
        str, typer.Option(help=f"Those that a call meets: {', '.join(USER_CALLS)}, or a route.")
    ] = "",
    new_in: Annotated[str, typer.Option("--new-in", help="What came and went with it.")] = "",
    alive: Annotated[
        bool, typer.Option("--alive", help="Those that the newest release has or hides.")
    ] = False,
    all_of_them: Annotated[bool, typer.Option("--all", help="Those of any release.")] = False,
    as_json: option.Json = False,
    folder: option.ExpectationsFolder = EXPECTATIONS,
) -> int:
    """List the known defects of releases, from committed data alone: needs no torch."""
    known = read_expectations(folder, undecided=True)
    standings = Standings(known.register, known.table)
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
            _tell_line(_latest(defect, standings), as_json=as_json)
        return ExitCode.GREEN
    which = newest if alive or not release else _release(release, standings)
    routes = _routes(call) if call else ()
    shown = standings.having(which, State.SHOWN)
    if routes:
        shown = [each for each in shown if set(each.routes) & set(routes)]
    for each in shown:
        _tell_line(each, as_json=as_json)
    hidden = [] if routes else standings.having(which, State.HIDDEN)
    for each in hidden:
        _tell_line(each, as_json=as_json)
    if not as_json:
        met = f" that {call} meets" if call else ""
        more = f", and {len(hidden)} that others hide" if hidden else ""
        tell(f"{which}: {len(shown)} known defects{met}{more}; `defects ID` tells all of one")
    return ExitCode.GREEN


def _release(text: str, standings: Standings) -> str:
    if text not in standings.releases:
        raise UsageError(f"{text}: the table knows {', '.join(standings.releases)}")
    return text


def _routes(call: str) -> tuple[str, ...]:
    if call in list(Route):
        return (call,)
    if call not in USER_CALLS:
        raise UsageError(
            f"--call {call!r}: {', '.join(USER_CALLS)}, or a route: {', '.join(Route)}"
        )
    return USER_CALLS[call]


def _tell_line(each: Standing, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(each)))
        return
    if each.state is State.HIDDEN:
        where = f"hidden behind {', '.join(each.behind)}"
    elif each.state is State.SHOWN:
        where = (
            f"{each.harm + ', ' if each.harm else ''}{each.cells} cells of {len(each.cases)} cases"
        )
    else:
        where = each.state
    tell(f"{each.defect.id}: {each.defect.title}")
    tell(f"    {_life(each.defect)}; {where}")


def _life(defect: Defect) -> str:
    since = f"since {defect.since}" if defect.since else "always"
    fixed = f", fixed in {defect.fixed_in}" if defect.fixed_in else ""
    by = f" by {defect.fixed_by}" if defect.fixed_by else ""
    return f"{since}{fixed}{by}"


def _latest(defect: Defect, standings: Standings) -> Standing:
    """As the newest release shows it that does."""
    found = [standings.of(defect.id, release) for release in reversed(standings.releases)]
    return next((each for each in found if each.state is State.SHOWN), found[0])


def _one(name: str, standings: Standings, *, as_json: bool) -> int:
    defect = standings.register.by_id.get(name)
    if defect is None:
        near = difflib.get_close_matches(name, standings.register.by_id, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(f"no defect is called {name}{hint} `{PROGRAM} defects` lists them")
    if as_json:
        print(json.dumps(_as_json(_latest(defect, standings))))
        return ExitCode.GREEN
    latest = _latest(defect, standings)
    tell(f"{defect.id}: {defect.title}")
    for title, text in (
        ("why", defect.why),
        ("where", "; ".join(defect.where)),
        ("blame", defect.blame),
        ("upstream", ", ".join(defect.upstream)),
        ("life", _life(defect)),
        ("harm", latest.harm),
        ("documented", defect.documented),
        ("workaround", defect.workaround),
        ("avoided by", ", ".join(defect.avoid)),
        ("not visible", defect.not_visible),
        ("no script", defect.no_script),
        ("calls", ", ".join(latest.routes)),
        ("cases", ", ".join(latest.cases)),
    ):
        if text:
            tell(f"  {title + ':':12} {text}")
    for release in standings.releases:
        each = standings.of(name, release)
        behind = f" behind {', '.join(each.behind)}" if each.behind else ""
        cells = f" by {each.cells} cells" if each.cells else ""
        tell(f"  {release + ':':12} {each.state}{cells}{behind}")
    cell = _cell(latest, standings)
    if cell:
        tell(f"  {'show it:':12} {PROGRAM} explain {cell}")
    if cell and not defect.no_script:
        tell(f"  {'script:':12} {PROGRAM} reproduce {cell}")
    return ExitCode.GREEN


def _cell(each: Standing, standings: Standings) -> str:
    """What names to `explain` and `reproduce` the cell that shows a defect best, if one does.

    They ask the pinned environment with segments for engines, and no other.
    """
    found = standings.shown_by(each.defect.id, each.release)
    if not found or not is_ordinary(found[0]):
        return ""
    place = found[0].place
    capture = "" if place.capture == NONSTRICT else f" --capture {place.capture}"
    return f"{place.case} --subject {each.release} --route {place.route}{capture}"


def _new_in(release: str, standings: Standings) -> int:
    changes = changes_in(standings, release)
    if changes is None:
        raise UsageError(f"{release} is the oldest release here; there is nothing to compare")
    for title, of in (
        ("mended", changes.mended),
        ("new", changes.new),
        ("uncovered", changes.uncovered),
        ("now hidden", changes.hidden),
    ):
        for each in of:
            defect = each.defect
            by = f" ({defect.fixed_by})" if title == "mended" and defect.fixed_by else ""
            behind = f" (behind {', '.join(each.behind)})" if title == "now hidden" else ""
            tell(f"{title}: {defect.id}: {defect.title}{by}{behind}")
    tell(f"{changes.before} -> {release}: {changes.kept} defects of both")
    return ExitCode.GREEN


#: The fields of a defect in JSON, in this order.
_WRITTEN: Final = (
    "id", "title", "why", "where", "upstream", "blame", "since", "fixed_in", "fixed_by",
    "documented", "workaround", "no_script", "minimal_case",
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
