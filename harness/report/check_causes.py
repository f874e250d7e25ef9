"""What fails of a user's own model, in words: the calls, what they show, and what to do instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.program import PROGRAM
from harness.base.words import listed, spans
from harness.gate.model_answer import PACKED, SAVES, CallAnswer, Cause, ModelAnswer, Standing
from harness.register.defects import Defect
from harness.register.facts import parsed_version
from harness.report.call_words import call_words
from harness.run.checked import Checked
from harness.wire.builders import SEGMENT
from harness.wire.routes import Route

_MOST_SAID: Final = 160
_UPGRADE: Final = re.compile(r"Upgrade to (\d+(?:\.\d+)*)")
_STATE: Final = re.compile(r"changed (\[.*\]), should be (\[.*\])")
_QUOTED: Final = re.compile(r"'[^']*'")
_TUPLE_OF_ONE: Final = re.compile(r"TreeSpec\((\w+), None, \[\*\]\), should be \*")
_CALL: Final = re.compile(r"^call (\d+): ")


@dataclass(frozen=True)
class Told:
    """Some calls that fail for one cause, ready to be shown.

    Attributes:
        release, route: of the first of them.
        calls: such as ``save(), save(retrace=False) in 2.12.0 to 2.14.0``.
        title: of the known defect, or of those that it may be, or by whom it is refused; empty
            where nothing is known.
        like: the same in a sentence behind the standing.
        instead: what a user does instead.
        shows: where the program of the first differs, and by how much.
    """

    release: str
    route: Route
    calls: str
    standing: Standing
    title: str
    like: str
    says: str
    instead: str
    command: str
    shows: str = ""


def causes_told(checked: Checked, answer: ModelAnswer) -> list[Told]:
    """What fails, the worst first: a row a cause, with the calls and releases that have it."""
    order = list(reversed(answer.releases))
    grouped: dict[tuple[str, ...], list[tuple[CallAnswer, Cause]]] = {}
    for call in answer.failing:
        for cause in call.causes:
            ids = tuple(defect.id for defect in cause.defects)
            grouped.setdefault((call.standing, *(ids or (cause.says,))), []).append((call, cause))
    told = []
    for found in grouped.values():
        (call, cause), of = found[0], dict[tuple[str, ...], list[str]]()
        for route in dict.fromkeys(each.route for each, _ in found):
            names = [each.release for each, _ in found if each.route is route]
            for told_as, with_saves in _with_saves(answer, route, names).items():
                of.setdefault(tuple(spans(with_saves, order)), []).append(told_as)
        calls = "; ".join(
            f"{', '.join(failing)} in {', '.join(names)}" for names, failing in of.items()
        )
        title = " or ".join(f"{defect.title} ({defect.id})" for defect in cause.defects)
        elsewhere = dict.fromkeys(
            said
            for each, why in found
            for defect in why.defects
            if (said := checked.own_torch.get((defect.id, each.release), ""))
        )
        title += f"; {' and '.join(elsewhere)}" if elsewhere else ""
        like = f"as the known defect: {title}" if title else "as no known defect"
        routes = {each.route for each, _ in found}
        instead = " Or: ".join(
            dict.fromkeys(_advice(answer, defect, routes, call.release) for defect in cause.defects)
        )
        if cause.refusal is not None:
            title, instead = cause.refusal.title, cause.refusal.instead
            like = f"as {title}"
        says = _shortened(cause.says)
        # A program takes the place of its model in what is reduced, and none was given here.
        reduced = not title and not checked.case_of(answer).module_of
        words = ["reduce" if reduced else "explain", answer.model, "--subject", call.release]
        # That a program is packed otherwise than eager is seen of the compiled module alone.
        seen_by = Route.COMPILE if cause.says == PACKED else call.route
        words += ["--route", seen_by, "--run", str(checked.run_of(call.release).folder.path)]
        words += [] if checked.builder == SEGMENT else ["--builder", checked.builder]
        told.append(
            Told(
                call.release,
                call.route,
                calls,
                call.standing,
                title,
                like,
                says,
                instead,
                f"{PROGRAM} {shlex.join(words)}",
                ""
                if call.standing is Standing.ERROR
                else _shortened(difference_words(cause.shows, cause.says)),
            )
        )
    return sorted(told, key=lambda each: -list(Standing).index(each.standing))


def _advice(answer: ModelAnswer, defect: Defect, routes: Collection[Route], release: str) -> str:
    """What to do instead; it is said where that is a release or call which fails the model, too."""
    workaround, calls = defect.workaround, answer.calls.values()
    avoiding = _all_failing(
        each for each in calls if each.release == release and defect.is_avoided_by(each.route)
    )
    if avoiding:
        names = listed(dict.fromkeys(each.route.row.call for each in avoiding))
        return f"{workaround} But for this model that fails in {release}, too: {names}."
    named = _UPGRADE.match(workaround)
    since = parsed_version(named[1]) if named else None
    newer = _all_failing(
        each
        for each in calls
        if since is not None
        and each.route in routes
        and (version := parsed_version(each.release)) is not None
        and version >= since
    )
    if not newer:
        return workaround
    names = listed(spans({each.release for each in newer}, list(reversed(answer.releases))))
    return f"{workaround} That mends this one, and the call fails in {names} all the same."


def _all_failing(calls: Iterable[CallAnswer]) -> list[CallAnswer]:
    """The calls that were asked, or none of them if the numbers of one are right."""
    asked = [each for each in calls if each.standing is not Standing.NOT_ASKED]
    return [] if any(each.standing.numbers_right for each in asked) else asked


def difference_words(shows: str, of: str = "") -> str:
    """What the evidence of a cell says, for who has not read how it is written.

    Args:
        of: the finding that it is the evidence of, which says what a bare number counts.
    """
    if shows[:1].isdigit():
        return f"{of}: {shows}"
    if state := _STATE.fullmatch(shows):
        did, should = (len(_QUOTED.findall(each)) for each in state.groups())
        return f"of the model's own tensors {should} should have changed, and {did or 'none'} did"
    told = _TUPLE_OF_ONE.sub(r"a \1 of one tensor, should be the tensor itself", shows)
    return _CALL.sub(lambda found: f"call {int(found[1]) + 1}: ", told)


def _shortened(said: str) -> str:
    return said if len(said) < _MOST_SAID else f"{said[:_MOST_SAID]} ..."


def _with_saves(answer: ModelAnswer, route: Route, releases: Sequence[str]) -> dict[str, list[str]]:
    """A call, with the saves that write down what `compile` made wrong, and its releases."""
    told: dict[str, list[str]] = {}
    for release in releases:
        call = call_words(route, *releases)
        if route is Route.COMPILE:
            saves = [each for each in SAVES if (release, each) in answer.calls]
            same = [each for each in saves if _shares_the_end(answer, release, each)]
            named = (
                ["every save"] if same == saves else [call_words(each, *releases) for each in same]
            )
            call += f", and so {', '.join(named)}," if same else ""
        told.setdefault(call, []).append(release)
    return told


def _shares_the_end(answer: ModelAnswer, release: str, save: Route) -> bool:
    """Whether a save ends as `compile` does, whatever else it may end by."""
    compiled, saved = answer.calls[release, Route.COMPILE], answer.calls[release, save]
    return saved.standing is compiled.standing and (saved.since_compile or not saved.causes)
