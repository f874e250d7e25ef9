"""Findings that leave the house: a script and a test of each defect, and an issue's text.

Both are of a user's calls of one release's package, and name nothing of this project but a
defect's id. The rig writes each script and tries it over emulated engines before it is given out.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from harness.base.errors import UsageError
from harness.base.words import spans
from harness.catalogue.releases import Release
from harness.mends.all import WRITTEN_FOR, mend_of
from harness.register.defects import Defect
from harness.register.facts import NONSTRICT, Place
from harness.register.standing import Standing, Standings, State, is_ordinary, worst_harm
from harness.register.table import Entry
from harness.register.where import TORCH
from harness.report.reproduction import Wanted, package_scripts_for, scripts_for
from harness.report.sections.causes import Script
from harness.report.sections.defects import call_of
from harness.report.text import listed, reference
from harness.subjects.specs import release_subject
from harness.toolchain import Toolchain
from harness.wire.builders import Builder
from harness.wire.oracles import Oracle
from harness.wire.records import SubjectSpec
from harness.wire.routes import Lane, Route

BY_DESIGN: Final = "by design"
_TRIED: Final = 4  # cells of a defect that are tried, the one that shows it best first
_TOLD_BY_CALLS: Final = (Oracle.VALUES, Oracle.COMPLETION, Oracle.STRUCTURE, Oracle.WIRING)
_ASKED: Final = "its package is asked, and not its inliner alone"
_NOT_RUN: Final = re.compile("not in (a wheel|the torch of the tests): ")
_OF_RELEASE: Final = re.compile(r", [\d.]+\)$")


@dataclass(frozen=True)
class Cell:
    """A place where a defect shows, and the facts by which it does."""

    place: Place
    facts: tuple[Entry, ...]


@dataclass(frozen=True)
class Finding:
    """A defect in a release, and the script of a user's calls that shows it, if there is one.

    ``harm`` is what the script's cell does to its user, which may be less than the worst.
    """

    standing: Standing
    script: Script
    place: Place | None = None
    harm: str = ""


def findings(
    shown: Sequence[Standing],
    standings: Standings,
    toolchain: Toolchain,
    release: Release,
    *,
    with_cause: bool = True,
) -> list[Finding]:
    """Each defect with a script of a user's calls that was seen to show it, or why there is none.

    Args:
        with_cause: whether script and test say why it is so; an issue does that itself.
    """
    spec = release_subject(release, None, _ASKED)
    cells = {each.defect.id: _cells(each, standings) for each in shown}
    found = {
        each.defect.id: Finding(each, _without("no call of a user tells it apart"))
        for each in shown
    }
    for turn in range(_TRIED):
        asked = [
            (each, cells[each.defect.id][turn])
            for each in shown
            if not found[each.defect.id].script.text and turn < len(cells[each.defect.id])
        ]
        wanted = []
        for each, cell in asked:
            told = told_of(each.defect, standings) if with_cause else [_sentence(each.defect.title)]
            wanted.append(_wanted(each, cell, spec, told, standings))
        scripts = package_scripts_for(wanted, toolchain, release) if wanted else []
        for (each, cell), script in zip(asked, scripts, strict=True):
            harm = _harm(cell.facts, each.defect)
            found[each.defect.id] = Finding(each, script, cell.place, harm)
    return list(found.values())


def _harm(facts: Sequence[Entry], defect: Defect) -> str:
    return worst_harm((entry.fact.harm for entry in facts), defect)


def _cells(standing: Standing, standings: Standings) -> list[Cell]:
    """The cells of the package lane that show a defect.

    Those that harm as the defect does at its worst come first, then what a user sees at once.
    """
    places: dict[Place, list[Entry]] = {}
    for entry in standings.shown_by(standing.defect.id, standing.release):
        told = Oracle(entry.fact.oracle) in _TOLD_BY_CALLS
        if told and is_ordinary(entry) and entry.place.lane == Lane.PACKAGE:
            places.setdefault(entry.place, []).append(entry)

    cases = [*dict.fromkeys(place.case for place in places)]

    def order(place: Place) -> tuple[object, ...]:
        oracles = (Oracle(entry.fact.oracle) for entry in places[place])
        return (
            _harm(places[place], standing.defect) != standing.harm,
            min(each.row.script_place for each in oracles),
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
    return [_sentence(defect.title), _by_title(defect.why, standings), where]


def _by_title(text: str, standings: Standings) -> str:
    """A text for who has not the register: what it calls by an id, it calls by its title."""
    for name, defect in standings.register.by_id.items():
        if "-" in name:
            title = f'"{defect.title}"'.replace("\\", r"\\")
            text = re.sub(rf"(?<![\w-]){name}(?![\w-])", title, text)
    return text


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _without(why: str) -> Script:
    return Script("", "", "", why, "")


def issue_text(
    defect: Defect,
    standings: Standings,
    toolchain: Toolchain,
    release: Release,
) -> str:
    """The text of an upstream issue, in the sections of upstream's own template for bugs.

    Raises UsageError where the release does not have the defect.
    """
    standing = standings.of(defect.id, release.version)
    if standing.state is not State.SHOWN:
        raise UsageError(f"{release.version} does not show {defect.id}: {standing.state}")
    (found,) = findings([standing], standings, toolchain, release, with_cause=False)
    if not found.script.text:
        found = _by_cell(standing, standings, toolchain, release)
    return "\n\n".join(_sections(found, standings, release)) + "\n"


def _by_cell(
    standing: Standing, standings: Standings, toolchain: Toolchain, release: Release
) -> Finding:
    """A defect that no call of a user shows, with a script that looks into what `save` made."""
    shown = standings.shown_by(standing.defect.id, standing.release)
    entry = next(filter(is_ordinary, shown), None)
    if entry is None:
        return _by_real_engines(standing, standings, toolchain, release)
    spec = release_subject(release, toolchain.wheel(release))
    labels = ((entry.fact.oracle, entry.fact.fails),)
    place = entry.place
    wanted = Wanted(
        place.case, place.capture, (place.route,), spec, standing.defect.title, labels=labels
    )
    if place.lane == Lane.PACKAGE:
        (script,) = package_scripts_for([wanted], toolchain, release)
    else:
        (script,) = scripts_for([wanted], toolchain)
    return Finding(standing, script, place, entry.fact.harm)


def _by_real_engines(
    standing: Standing, standings: Standings, toolchain: Toolchain, release: Release
) -> Finding:
    """A defect that shows only with engines of TensorRT-RTX, and a script that has them built."""
    shown = standings.shown_by(standing.defect.id, standing.release)
    real = (each for each in shown if Builder(each.place.builder).real)
    entry = next(real, None)
    if entry is None:
        return Finding(standing, _without("only another environment shows it"))
    site = toolchain.package_site(release, Builder(entry.place.builder).kind)
    cell = Cell(entry.place, (entry,))
    told = [_sentence(standing.defect.title)]
    wanted = _wanted(standing, cell, release_subject(release, None, _ASKED), told, standings)
    (script,) = package_scripts_for([wanted], toolchain, site)
    return Finding(standing, script, entry.place, entry.fact.harm)


def _sections(found: Finding, standings: Standings, release: Release) -> Iterator[str]:
    defect, script = found.standing.defect, found.script
    yield f"# {defect.title}"
    yield f"## Bug Description\n\n{description(found)}"
    if script.text:
        yield f"## To Reproduce\n\n```python\n{script.text.strip()}\n```"
        yield f"It prints:\n\n```text\n{shortened(script.printed or script.said)}\n```"
    else:
        yield f"## To Reproduce\n\nThere is no script: {script.why_not}."
    if script.expected:
        yield f"## Expected behavior\n\n{script.expected}"
    lines = "\n\n".join(lines_of(defect, release.version, standings.releases[-1]))
    yield f"## Cause\n\n{_by_title(defect.why, standings)}\n\n{lines}"
    yield f"## Environment\n\n{_environment(release, found.place)}"
    yield "## Additional context\n\n" + "\n".join(_context(found.standing, standings))


def description(found: Finding) -> str:
    """How a user meets it."""
    harms = {
        "silent": "There is neither an error nor a warning.",
        "warned": "There is a warning and no error.",
        "error": "It raises.",
        "interface": "The numbers are right; how they are packed, or what may be given, is not.",
        "cosmetic": "Only who reads the exported program's metadata sees it.",
    }
    call = Route(found.place.route).row.call if found.place else ""
    met = f"The script below meets it by `{call}`. " if call else ""
    harm, worst = found.harm or found.standing.harm, found.standing.harm
    worse = " Other models meet it worse: " if harm != worst else ""
    also = f"{worse}{harms[worst][:1].lower()}{harms[worst][1:]}" if worse else ""
    defect = found.standing.defect
    fixed = ""
    if defect.fixed_by and not defect.fixed_in:
        fixed = f"\n\n{reference(defect.fixed_by)} fixes it, which is in no release yet."
    return f"{_sentence(defect.title)} {met}{harms.get(harm, '')}{also}{fixed}"


def lines_of(defect: Defect, release: str, newest: str) -> Iterator[str]:
    """Upstream's functions and lines by source, in the release asked for, or else the newest."""
    elsewhere = [each for each in defect.where if "(torch/" in each or _NOT_RUN.match(each)]
    own = [each for each in defect.where if each not in elsewhere]
    asked = [each for each in own if each.endswith(f", {release})")]
    today = [each for each in own if not _OF_RELEASE.search(each)]
    version_told = release if asked else newest if today else ""
    lists = {
        f"In torch_tensorrt {version_told}".rstrip(): [
            each.replace(f", {release})", ")") for each in asked or today or own
        ],
        f"In torch {TORCH}": [each for each in elsewhere if not _NOT_RUN.match(each)],
        "In sources that were read and not run": [
            _NOT_RUN.sub("", each) for each in elsewhere if _NOT_RUN.match(each)
        ],
    }
    for source, places in lists.items():
        if places:
            told = (re.sub(r"^([\w.]+) \(", r"`\1` (", each) for each in places)
            yield "\n".join([f"{source}:\n", *(f"- {each}" for each in told)])


def _environment(release: Release, place: Place | None) -> str:
    pins = release.pins
    builder = Builder(place.builder) if place else None
    if builder and builder.real:
        ran = f"Engines were built by {builder}, not by TensorRT {pins.tensorrt}, without a GPU"
    else:
        ran = "Seen with emulated engines on a CPU"
    return (
        f"- torch-tensorrt {release.version} (its wheel pins torch {pins.torch} and TensorRT "
        f"{pins.tensorrt})\n"
        f"- torch {version('torch')}, which is what ran, Python {platform.python_version()}, Linux "
        "x86-64\n"
        f"- {ran}; nothing ran on a GPU. All Python that ran is the release's own."
    )


def _context(standing: Standing, standings: Standings) -> Iterator[str]:
    defect = standing.defect
    if defect.blame == BY_DESIGN:
        yield "- It looks intended: upstream's code does so on purpose."
    tried = [standings.of(defect.id, release) for release in standings.releases]
    having = [each.release for each in tried if each.state is State.SHOWN]
    absent = [each for each in tried if each.state is State.ABSENT]
    otherwise = [each for each in tried if each.broken_by or each.behind]
    without = [each.release for each in absent if not each.broken_by]
    seen = ", ".join(spans(having, standings.releases))
    yield f"- Releases that were seen to have it: {seen}."
    if without:
        yield f"- Tried and without it: {', '.join(spans(without, standings.releases))}."
    if otherwise:
        others = dict.fromkeys(name for each in otherwise for name in each.broken_by or each.behind)
        titles = (f'"{standings.register.by_id[name].title}"' for name in others)
        releases = ", ".join(spans([each.release for each in otherwise], standings.releases))
        yield f"- In {releases} the same models are wrong too, by another cause: {listed(titles)}."
    if defect.since:
        brought = f"; {reference(defect.brought_by)} brought it" if defect.brought_by else ""
        yield f"- The first release that has it is {defect.since}{brought}."
    by = f" by {reference(defect.fixed_by)}" if defect.fixed_by else ""
    if defect.fixed_in:
        yield f"- It is fixed in {defect.fixed_in}{by}."
    if defect.upstream:
        related = reference(", ".join(defect.upstream))  # as upstream says
        yield f"- Related: {related}."
    if defect.documented:
        yield f"- Documented: {_sentence(defect.documented)}"
    if defect.avoid:
        calls = dict.fromkeys(map(call_of, defect.avoid))
        yield f"- Right for the same models: {', '.join(f'`{call}`' for call in calls)}."
    mend = mend_of(defect.id)
    if mend is not None:
        yield f"- A change that mends it in {WRITTEN_FOR}, tried on a CPU alone: {mend.idea}"
        yield f"- The test that is missing: {mend.test}"
    if defect.workaround:
        yield f"- Workaround: {_sentence(_by_title(defect.workaround, standings))}"


def shortened(text: str, first: int = 4, last: int = 7) -> str:
    """What a script prints, without the places of this machine: its first lines, and its last."""
    found = re.sub(r"/tmp/[\w.-]+/|(?<=[\s\"'])/\S*/site-packages/", "", text.strip()).splitlines()
    if len(found) <= first + last + 1:
        return "\n".join(found)
    return "\n".join([*found[:first], "...", *found[-last:]])
