"""A run in defects: what each candidate does otherwise, and what the newest release has."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.base.program import PROGRAM
from harness.base.words import listed, plural
from harness.catalogue.releases import version_of
from harness.gate.attribution import deviation, difference
from harness.gate.breakage import as_known
from harness.gate.case_matrix import GATE_ASKS_MORE, matrix_lines, note_lines, own_answer
from harness.gate.difference_words import difference_parts
from harness.gate.findings import Gate, failing_of_asked, finding_lines, first_screen, mistake
from harness.gate.known import known_lines
from harness.gate.own_torch import own_torch_lines
from harness.gate.plain_words import plain
from harness.gate.qualify_words import (
    answering,
    decision_words,
    evidence_words,
    stopped_by_lines,
    tally_lines,
    why_words,
)
from harness.gate.signs import LOOKS_LIKE
from harness.run.judged_run import JudgedRun
from harness.subjects.choosing import around, likes
from harness.wire.vocabulary import SubjectKind

#: How many releases are told one by one, and on the console defects of one kind of difference.
_MOST: Final = 3
_ALL: Final = sys.maxsize
_MOST_BREAKAGES: Final = 6


def screen_of(judged: JudgedRun) -> list[str]:
    """The first screen of a run, as the console shows it."""
    lines = defect_lines(judged, breakage_lines(judged))
    if judged.known is not None and not likes(judged.subjects):
        lines[-1] += f"; all: {PROGRAM} defects --release {judged.known.release}"
    report, own_cases = judged.report, None
    first: list[str] = []
    titles, places = judged.expectations.register.titles, judged.places
    told = {each.smallest.subject for each in judged.breakages}
    if judged.own_cases is not None:
        planned = (cell.key for cell in judged.plan)
        own_cases = failing_of_asked(planned, report.classes, judged.cases)
        wrong = {each.case for each in report.findings if mistake(each, places)}
        matrix = judged.own_cases.without(wrong)
        if not likes(judged.subjects) and (answer := own_answer(judged.own_cases)):
            first = [answer.words, answer.calls]
            if answer.newest_is_right and report.gate is Gate.RED:
                lines.insert(0, f"  {GATE_ASKS_MORE}")
        lines += [*matrix_lines(matrix, places), *note_lines(report.notes, titles)]
        # These lines tell what a release does wrong.
        told |= {spec.subject for spec in judged.subjects if spec.kind is SubjectKind.RELEASE}
    rest = (each for each in report.findings if each.subject not in told or not each.verdict)
    report = dataclasses.replace(report, findings=tuple(rest))
    screen = first_screen(
        report,
        lines,
        run=judged.folder.run_id,
        places=places,
        own_cases=own_cases,
        titles=titles,
        answered=not first and answering(judged.upgrades, judged.report.gate) is not None,
    )
    return [*first, *screen]


def defect_lines(judged: JudgedRun, breaks: Sequence[str] = ()) -> list[str]:
    """What stands between the gate and the cells, on the console and on the page alike.

    Args:
        breaks: the lines on what candidates break, which the page tells in its own way.
    """
    releases = _told(_releases(judged, _MOST))
    more = len(releases) - _MOST
    rest = [f"and {more} more releases are not as expected"] if more > 0 else []
    compared = [*_own_torch(judged), *_upgrades(judged)]
    candidates = _told(_candidates(judged, _MOST))
    told = (line for of in (*candidates, *releases[:_MOST]) for line in of)
    lines = [*compared, *breaks, *told, *rest]
    if likes(judged.subjects):
        return lines  # what releases have is not the question
    if judged.known is not None:
        return [*lines, *known_lines(judged.known, judged.scope)]
    return lines


def differences(judged: JudgedRun) -> dict[str, list[str]]:
    """What each candidate does otherwise, and each release that is not as expected; by subject.

    The parts are those of `difference_parts`, with every defect. Candidates come first, then the
    newest release.
    """
    return {**_candidates(judged, _ALL), **_releases(judged, _ALL)}


def own_torch_of(judged: JudgedRun) -> list[tuple[str, str, tuple[str, ...]]]:
    """What each release does with the torch that it pins, and how that is unlike the pinned one."""
    if judged.report.gate is Gate.FAILED:
        return []
    return own_torch_lines(judged.own_torches, judged.expectations.register.titles)


def _own_torch(judged: JudgedRun) -> Iterator[str]:
    for release, told, unlike in own_torch_of(judged):
        yield f"{release}: {told}"
        yield from (f"  {each}" for each in unlike)


def _upgrades(judged: JudgedRun) -> list[str]:
    """Whether the newest release may take the place of the one before it, and in what numbers."""
    if judged.report.gate not in (Gate.GREEN, Gate.RED):
        return []  # what was not asked cannot be compared
    lines = []
    red = {finding.subject for finding in judged.report.findings}
    for q in judged.upgrades:
        lines.append(f"{decision_words(q, red)}, {evidence_words(q)}")
        lines += [f"  {why}" for why in (why_words(q),) if why]
        lines += stopped_by_lines(q) if not judged.breakages else []
        lines += [f"  {asked}: {told}" for asked, told in tally_lines(q)]
    return lines


def _told(parts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    return [difference_lines(name, of) for name, of in parts.items()]


def difference_lines(name: str, parts: Sequence[str]) -> list[str]:
    """What a subject does otherwise, as the console tells it: a line a defect."""
    if len(parts) == 1:
        return [f"{name}: {plain(parts[0])}"]
    return [f"{name}:", *(f"  {plain(part)}" for part in parts)]


def _candidates(judged: JudgedRun, most: int) -> dict[str, list[str]]:
    known, records = judged.expectations, list(judged.records.values())
    near = around(judged.subjects)
    told = {}
    for subject, like in sorted(likes(judged.subjects).items()):
        found = difference(subject, like, records, known.table, known.register, near)
        mine = [each for each in judged.breakages if each.smallest.subject == subject]
        if mine:  # told by their causes, with what these are like
            like_known = {name for each in mine for name in each.like}
            kept = {
                name: count
                for name, count in found.brought_back.items()
                if name.partition(" ")[0] not in like_known
            }
            found = dataclasses.replace(found, broken={}, brought_back=kept)
        parts = difference_parts(found, like, known.register.titles, most)
        besides = mine and found.compared
        told[subject] = [*parts[:-1], f"all else as {like}"] if besides else parts
    return told


def breakage_lines(judged: JudgedRun) -> list[str]:
    """What candidates break, by cause: cells and cases, and the smallest case with its command."""
    register, lines = judged.expectations.register, []
    for each in judged.breakages[:_MOST_BREAKAGES]:
        known = listed(as_known(each.like, register), 1)
        lines.append(plain(f"  breaks: {each.words}{f'; {LOOKS_LIKE} {known}' if known else ''}"))
        smallest = dataclasses.replace(each.smallest, defects=())  # which are told above
        lines += finding_lines(smallest, each.wire, judged.places)
    more = len(judged.breakages) - _MOST_BREAKAGES
    return [*lines, *([f"  and breaks {more} more"] if more > 0 else [])]


def _releases(judged: JudgedRun, most: int) -> dict[str, list[str]]:
    """Releases that the table does not know, and those that are not as it says, the newest first.

    What the table says of a release that it does not know is what it says of the one before.
    """
    known = judged.expectations
    if not known.table.releases:
        return {}
    found = {finding.subject for finding in judged.report.findings}
    told = {}
    for spec in sorted(judged.subjects, key=lambda spec: version_of(spec.subject), reverse=True):
        like = known.table.stands_for(spec.subject)
        if spec.kind is not SubjectKind.RELEASE or (like == spec.subject not in found):
            continue
        deviates = deviation(spec.subject, judged.records.values(), known.table, known.register)
        if not deviates.compared:
            continue  # as the count of cells tells
        expected = "expected" if like == spec.subject else like
        told[spec.subject] = difference_parts(deviates, expected, known.register.titles, most)
    return told


def kept_words(summary: Mapping[str, Any]) -> str:
    """Which runs asked the cells that this one took, and how many of them; empty if it took none.

    Runs of before anything was kept do not tell.
    """
    kept = summary.get("kept")
    if not kept:
        return ""
    run_here = summary["cells"]["ended"] - kept["cells"]
    first = [f"{count:,} from run {run}" for run, count in list(kept["runs"].items())[:_MOST]]
    more = len(kept["runs"]) - len(first)
    return (
        f"{plural(run_here, 'cell')} of this run, {', '.join(first)}"
        f"{f' and {more} other runs' if more else ''}; {kept['asked_again']:,} that were kept were "
        "asked again and ended alike"
    )
