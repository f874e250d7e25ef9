"""Scripts and tests of defects that leave the house: a user's calls of one release's package.

They name nothing of this project but a defect's id. The rig writes each and tries it over emulated
engines, or over such as TensorRT-RTX builds, before it is given out.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from harness.base.words import listed
from harness.catalogue.environments import series_name
from harness.catalogue.releases import Release
from harness.register.defects import Defect
from harness.register.facts import NONSTRICT, Place
from harness.register.standing import Standing, Standings, is_ordinary, worst_harm
from harness.register.table import Entry
from harness.report.reproduction import Wanted, package_scripts_for
from harness.report.sections.causes import Script
from harness.subjects.specs import release_subject
from harness.toolchain import Toolchain
from harness.wire.builders import PINNED, Builder, BuilderKind
from harness.wire.oracles import Harm, Oracle, Symptom
from harness.wire.records import SubjectSpec, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import Outcome, Stage

_TRIED: Final = 4  # cells of a defect that are tried, the one that shows it best first
_SPLITS_TRIED: Final = 12  # of these many have no plain form, which is told without a trial
_LONGEST: Final = 200  # lines of a script that anybody reads
IN_MEMORY: Final = "only a program in memory has it, and not the file that is saved"
_ASKED: Final = "its package is asked, and not its inliner alone"


@dataclass(frozen=True)
class Cell:
    """A place where a defect shows, and the facts by which it does."""

    place: Place
    facts: tuple[Entry, ...]


@dataclass(frozen=True)
class Finding:
    """A defect in a release, and the script of a user's calls that shows it, if there is one.

    ``harm`` is what the script's cell does to its user, which may be less than the worst. ``seen``
    is what a script would show that cannot be run here.
    """

    standing: Standing
    script: Script
    place: Place | None = None
    harm: str = ""
    seen: str = ""


def findings(
    shown: Sequence[Standing],
    standings: Standings,
    toolchain: Toolchain,
    release: Release,
    *,
    with_cause: bool = True,
    heard: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Each defect with a script of a user's calls that was seen to show it, or why there is none.

    Args:
        with_cause: whether script and test say why it is so; an issue does that itself.
        heard: called behind each script that was tried.
    """
    spec = release_subject(release, None, _ASKED)
    found = {each.defect.id: Finding(each, _without(why_none(each, standings))) for each in shown}
    cells = {
        each.defect.id: cells_of(each, standings, release)[:_TRIED]
        or real_cells(each, standings)[:1]
        for each in shown
        if each.harm != Harm.COSMETIC
    }
    for turn, kind in itertools.product(range(_TRIED), (BuilderKind.SEGMENT, BuilderKind.RTX)):
        asked = [
            (each, cell)
            for each in shown
            for cell in cells.get(each.defect.id, ())[turn : turn + 1]
            if not found[each.defect.id].script.text and Builder(cell.place.builder).kind is kind
        ]
        if not asked:
            continue
        wanted = []
        for each, cell in asked:
            told = told_of(each.defect, standings) if with_cause else [sentence(each.defect.title)]
            wanted.append(_wanted(each, cell, spec, told, standings))
        site = toolchain.package_site(release, kind)
        for (each, cell), script in zip(
            asked, package_scripts_for(wanted, toolchain, site, heard=heard), strict=True
        ):
            harm = _harm(cell.facts, each.defect)
            found[each.defect.id] = Finding(each, script, cell.place, harm)
    return list(found.values())


def real_cells(standing: Standing, standings: Standings) -> list[Cell]:
    """The cells that show a defect with engines which TensorRT-RTX builds."""
    shown = standings.shown_by(standing.defect.id, standing.release)
    return [Cell(each.place, (each,)) for each in shown if Builder(each.place.builder).real]


def why_none(standing: Standing, standings: Standings) -> str:
    """Why no script of a user's calls is tried."""
    if standing.harm == Harm.COSMETIC:
        return IN_MEMORY
    places = [e.place for e in standings.shown_by(standing.defect.id, standing.release)]
    if any(place.environment == PINNED for place in places):
        return "no model that was compiled shows it, but splits of a module made otherwise"
    torches = dict.fromkeys(place.environment.replace("-", " ") for place in places)
    return f"it shows with {listed([*torches])} alone, and here torch {version('torch')} runs"


def by_other_calls(
    found: Finding, standings: Standings, toolchain: Toolchain, release: Release
) -> Finding:
    """A finding without a script, with one that calls what no user does, or was not run."""
    for otherwise in (_by_split, _not_tried):
        if not found.script.text and found.standing.harm != Harm.COSMETIC:
            found = otherwise(found, standings, toolchain, release)
    return found


def _harm(facts: Sequence[Entry], defect: Defect) -> str:
    return worst_harm((entry.fact.harm for entry in facts), defect)


def shows_with_own_torch(name: str, place: Place, standings: Standings, release: Release) -> bool:
    """Whether the torch that a release pins shows a defect at a place, too, or nobody asked."""
    own = dataclasses.replace(place, environment=series_name(release.pins.torch))
    return standings.shows_at(name, release.version, own) is not False


def cells_of(
    standing: Standing, standings: Standings, release: Release, lane: Lane = Lane.PACKAGE
) -> list[Cell]:
    """The cells of a lane that show a defect.

    Those that the torch shows which the release pins come first, since upstream tries that one;
    then those that harm as the defect does at its worst, and what a user sees at once.
    """
    places: dict[Place, list[Entry]] = {}
    for entry in standings.shown_by(standing.defect.id, standing.release):
        if is_ordinary(entry) and entry.place.lane == lane:
            places.setdefault(entry.place, []).append(entry)

    cases = [*dict.fromkeys(place.case for place in places)]

    def order(place: Place) -> tuple[object, ...]:
        oracles = (entry.fact.oracle for entry in places[place])
        return (
            not shows_with_own_torch(standing.defect.id, place, standings, release),
            _harm(places[place], standing.defect) != standing.harm,
            min(map(_place_of, oracles)),
            place.capture != NONSTRICT,
            cases.index(place.case),  # the smallest first, and then what harms most
            len(Route(place.route).row.save),  # what users write most is short
            "retrace" not in Route(place.route).row.save,
        )

    return [Cell(place, tuple(places[place])) for place in sorted(places, key=order)]


def _wanted(
    shown: Standing, cell: Cell, spec: SubjectSpec, told: Sequence[str], standings: Standings
) -> Wanted:
    defect = shown.defect
    return Wanted(
        case=cell.place.case,
        capture=cell.place.capture,
        routes=(cell.place.route,),
        subject=spec,
        what="\n\n".join(told),
        file=f"{defect.id.replace('-', '_')}.py",
        labels=tuple((entry.fact.oracle, entry.fact.fails) for entry in cell.facts),
        says=tuple(entry.fact.says for entry in cell.facts),
        name=defect.id,
        reason=reason_of(shown, standings),
        raises=standings.raised_from(defect.id, shown.release, cell.place),
    )


def reason_of(shown: Standing, standings: Standings) -> str:
    """Why a test fails, and which other defects end it in the release that is rid of this one."""
    defect = shown.defect
    reason = f"{defect.title} ({defect.id})"
    if defect.fixed_in not in standings.releases:
        return reason
    fixed = standings.of(defect.id, defect.fixed_in)
    titles = [standings.register.by_id[name].title for name in fixed.broken_by or fixed.behind]
    return f"{reason}; where it is fixed, this ends in: {'; '.join(titles)}" if titles else reason


def told_of(defect: Defect, standings: Standings) -> list[str]:
    """What a script and a test say of a defect, as paragraphs."""
    where = f"Where: {'; '.join(defect.where)}."
    return [sentence(defect.title), by_title(defect.why, standings), where]


def by_title(text: str, standings: Standings) -> str:
    """A text for who has not the register: what it calls by an id, it calls by its title."""
    for name, defect in standings.register.by_id.items():
        if "-" in name:
            title = f'"{defect.title}"'.replace("\\", r"\\")
            text = re.sub(rf"(?<![\w-]){name}(?![\w-])", title, text)
    return text


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _without(why: str) -> Script:
    return Script("", "", "", why, "")


def _by_split(
    found: Finding, standings: Standings, toolchain: Toolchain, release: Release
) -> Finding:
    """A defect of splits that `compile` does not make, by what it and `save` do with a split."""
    standing = found.standing
    cells = cells_of(standing, standings, release, Lane.GRAPH)
    for at in range(0, _SPLITS_TRIED, _TRIED):
        some = cells[at : at + _TRIED]
        wanted = [_as_seen(standing, cell, standings, release) for cell in some]
        scripts = package_scripts_for(wanted, toolchain, release) if wanted else []
        tried = [
            Finding(standing, script, cell.place, _harm(cell.facts, standing.defect))
            for cell, script in zip(some, scripts, strict=True)
        ]
        short = [each for each in tried if 0 < each.script.text.count("\n") <= _LONGEST]
        if short:
            return min(short, key=lambda each: len(each.script.text))
        if at == 0 and tried:
            why = tried[0].script.why_not or f"the shortest has more than {_LONGEST} lines"
            found = dataclasses.replace(tried[0], script=_without(why))
    return found


def _not_tried(
    found: Finding, standings: Standings, toolchain: Toolchain, release: Release
) -> Finding:
    """A defect that shows with another torch than is here, and a script that was not run."""
    standing = found.standing
    shown = standings.shown_by(standing.defect.id, standing.release)
    if any(each.place.environment == PINNED for each in shown):
        return found
    cell = Cell(shown[0].place, (shown[0],))
    wanted = _as_seen(standing, cell, standings, release)
    (script,) = package_scripts_for([dataclasses.replace(wanted, tried=False)], toolchain, release)
    fact = shown[0].fact
    return Finding(standing, script, shown[0].place, fact.harm, fact.says.partition(":")[0])


def _as_seen(standing: Standing, cell: Cell, standings: Standings, release: Release) -> Wanted:
    """A script that starts from what a cell was seen to show, by the package's own calls."""
    told = [sentence(standing.defect.title)]
    wanted = _wanted(standing, cell, release_subject(release, None, _ASKED), told, standings)
    best = min((entry.fact for entry in cell.facts), key=lambda fact: _place_of(fact.oracle))
    says = "; ".join(each.fact.says for each in cell.facts if each.fact.fails == best.fails)
    symptom, _, stage = best.fails.partition("@")
    shown = Verdict(Oracle(best.oracle), Outcome.FAILED, Symptom(symptom), Stage(stage), says)
    route = Route(cell.place.route)
    calls = [each for each in release.package_routes if _comes_to(each, route)]
    return dataclasses.replace(wanted, routes=tuple(calls or [route]), says=(), shown=shown)


def _place_of(oracle: str) -> int:
    return Oracle(oracle).row.script_place


def _comes_to(call: Route, route: Route) -> bool:
    return call.reaches is route and call.row.dynamic is route.row.dynamic
