"""The text of an issue for upstream on a defect: it names nothing of this project."""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Final

from harness.base.errors import UsageError
from harness.base.words import spans
from harness.catalogue.environments import series_name
from harness.catalogue.releases import Release
from harness.gate.defect_table import own_torch_words
from harness.mends.all import WRITTEN_FOR, mend_of
from harness.register.defects import MODELS, Defect
from harness.register.standing import Standing, Standings, State
from harness.register.where import TORCH
from harness.report.sections.defects import call_of
from harness.report.text import listed, reference
from harness.report.upstream_scripts import (
    Finding,
    by_other_calls,
    by_title,
    findings,
    sentence,
)
from harness.toolchain import Toolchain
from harness.wire.builders import Builder
from harness.wire.routes import Route

BY_DESIGN: Final = "by design"
_NOT_RUN: Final = re.compile("not in (a wheel|the torch of the tests): ")
_OF_RELEASE: Final = re.compile(r", [\d.]+\)$")


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
    return text_of(by_other_calls(found, standings, toolchain, release), standings, release)


def text_of(found: Finding, standings: Standings, release: Release) -> str:
    """The text of an issue on a defect whose script is there."""
    return "\n\n".join(_sections(found, standings, release)) + "\n"


def _sections(found: Finding, standings: Standings, release: Release) -> Iterator[str]:
    defect, script = found.standing.defect, found.script
    yield f"# {defect.title}"
    yield f"## Bug Description\n\n{description(found)}"
    if script.text:
        yield f"## To Reproduce\n\n```python\n{script.text.strip()}\n```"
        printed = shortened(script.printed or script.said)
        yield f"It prints:\n\n```text\n{printed}\n```" if printed else _untried(found)
    else:
        why = defect.no_script or f"{script.why_not[0].upper()}{script.why_not[1:]}"
        yield f"## To Reproduce\n\nThere is no script. {sentence(why)}"
    if script.expected:
        yield f"## Expected behavior\n\n{script.expected}"
    lines = "\n\n".join(lines_of(defect, release.version, standings.releases[-1]))
    yield f"## Cause\n\n{by_title(defect.why, standings)}\n\n{lines}"
    yield f"## Environment\n\n{_environment(release, found, standings)}"
    yield "## Additional context\n\n" + "\n".join(_context(found.standing, standings, release))


def _untried(found: Finding) -> str:
    assert found.place is not None
    return (
        f"This script was not run as it stands, because it takes {_torch(found)}. The calls that "
        f"it makes were seen there to end in {found.seen}."
    )


def description(found: Finding) -> str:
    """Who meets it, by which call, and how, beside what the title says."""
    harms = {
        "silent": "the result is wrong, and there is neither an error nor a warning",
        "warned": "the result is wrong, which a warning or the documentation announces",
        "error": "it raises an exception",
        "interface": "the numbers are right; how they are packed, or what the program says of "
        "itself, is not",
        "cosmetic": "only the metadata of the program in memory has it",
    }
    defect = found.standing.defect
    call = Route(found.place.route).row.call if found.place else ""
    kinds = [each for each in defect.models if each != "fallbacks"] or defect.models
    who = f"a model that {', or that '.join(MODELS[each] for each in kinds)}"
    if len(kinds) < len(defect.models):
        who += " and leaves ops in PyTorch"
    harm, worst = found.harm or found.standing.harm, found.standing.harm
    by = "In the script below it shows by" if found.script.text else "It shows by"
    met = f"{by} `{call}`: {harms[harm]}." if call else ""
    met = met or f"{harms[harm][0].upper()}{harms[harm][1:]}."
    also = f" Other models fare worse: {harms[worst]}." if harm != worst else ""
    fixed = ""
    if defect.fixed_by and not defect.fixed_in:
        fixed = f"\n\n{reference(defect.fixed_by)} fixes it, which is in no release yet."
    who = "any model" if "any" in defect.models else who
    return f"This can affect {who}. {met}{also}{fixed}"


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


def _torch(found: Finding) -> str:
    """The torch with which it was seen."""
    if found.seen and found.place is not None:
        return found.place.environment.replace("-", " ")
    return f"torch {version('torch')}"


def _environment(release: Release, found: Finding, standings: Standings) -> str:
    pins, place = release.pins, found.place
    builder = Builder(place.builder) if place else None
    if builder and builder.real:
        ran = f"Engines were built by {builder}, not by TensorRT {pins.tensorrt}, without a GPU"
    else:
        ran = "Seen with emulated engines on a CPU"
    with_own = None
    if place is not None and not found.seen:
        own = dataclasses.replace(place, environment=series_name(pins.torch))
        with_own = standings.shows_at(found.standing.defect.id, release.version, own)
    told = {None: "", True: " shows it, too", False: " does not show it with this model"}[with_own]
    return (
        f"- torch-tensorrt {release.version} (its wheel pins torch {pins.torch} and TensorRT "
        f"{pins.tensorrt})\n"
        f"- {_torch(found)}, which is what ran"
        f"{f'; torch {pins.torch}{told}' if told else ''}\n"
        f"- Python {platform.python_version()}, Linux x86-64\n"
        f"- {ran}; nothing ran on a GPU. The Python code of torch_tensorrt is the wheel's own."
    )


def _context(standing: Standing, standings: Standings, release: Release) -> Iterator[str]:
    defect = standing.defect
    own = own_torch_words(standings, standing, {release.version: release.pins.torch})
    if own:
        yield f"- At its worst with torch {version('torch')}; {own}."
    if defect.blame == BY_DESIGN:
        yield "- It may be intended: the code does so on purpose."
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
        # The first is by what most of its models fail; the others may be of one model alone.
        others = dict.fromkeys((each.broken_by or each.behind)[0] for each in otherwise)
        titles = (f'"{standings.register.by_id[name].title}"' for name in others)
        releases = ", ".join(spans([each.release for each in otherwise], standings.releases))
        yield (
            f"- In {releases} the same models fail for another reason, most often: "
            f"{listed(titles)}."
        )
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
        yield f"- Documented: {sentence(defect.documented)}"
    if defect.avoid:
        calls = dict.fromkeys(map(call_of, defect.avoid))
        yield f"- Right for the same models: {', '.join(f'`{call}`' for call in calls)}."
    mend = mend_of(defect.id)
    if mend is not None:
        yield f"- A change that fixes it in {WRITTEN_FOR}, tried on a CPU only: {mend.idea}"
        yield f"- A test that would have found it: {mend.test}"
    if defect.workaround:
        yield f"- Workaround: {sentence(by_title(defect.workaround, standings))}"


def shortened(text: str, first: int = 4, last: int = 7) -> str:
    """What a script prints, without the places of this machine: its first lines, and its last."""
    found = re.sub(r"/tmp/[\w.-]+/|[^\s\"']*/site-packages/", "", text.strip()).splitlines()
    if len(found) <= first + last + 1:
        return "\n".join(found)
    return "\n".join([*found[:first], "...", *found[-last:]])
