"""A candidate asked again after each save: when there is something to ask, and what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.base.words import plural
from harness.gate.findings import Finding
from harness.gate.pairs import without_subject
from harness.run.judged_run import JudgedRun
from harness.run.red_before import red_findings
from harness.subjects.choosing import likes
from harness.toolchain.checkout import SOURCES
from harness.toolchain.fingerprint import signature_of, states_of
from harness.wire.records import CellKey

_SHOWN: Final = 5


def saved_state(place: Path) -> str:
    """Another text as soon as a candidate's files were written, made or removed.

    Args:
        place: a file, or the root of a working tree.
    """
    try:
        return signature_of(states_of(place / SOURCES if place.is_dir() else place))
    except OSError:  # an editor puts another file in its place, or git another branch
        return ""


def changes_since(before: JudgedRun | None, now: JudgedRun) -> Iterator[str]:
    """What has become of the cells that two turns asked, one after the other."""
    if before is None:
        return
    was, is_now = _red(before), _red(now)
    both = _asked(before) & _asked(now)
    mended = sorted(key for key in both if key in was and key not in is_now)
    broken = sorted(key for key in both if key in is_now and key not in was)
    still = sum(key in was and key in is_now for key in both)
    yield (
        f"since the last turn: {plural(len(mended), 'cell')} red no more, "
        f"{plural(len(broken), 'cell')} newly red, {still:,} still red, of {len(both):,} in both"
    )
    yield from _told("red no more", mended, was)
    yield from _told("newly red", broken, is_now)


def _told(word: str, keys: list[CellKey], findings: dict[CellKey, Finding]) -> Iterator[str]:
    for key in keys[:_SHOWN]:
        finding = findings[key]
        yield f"  {word}: {key.case} by {key.route}, {finding.oracle}: {finding.reason}"
    if len(keys) > _SHOWN:
        yield f"  {word}: {plural(len(keys) - _SHOWN, 'more cell')}"


def _red(run: JudgedRun) -> dict[CellKey, Finding]:
    return {without_subject(each.key): each for each in reversed(red_findings(run.report))}


def _asked(run: JudgedRun) -> set[CellKey]:
    candidates = likes(run.subjects)
    return {without_subject(cell.key) for cell in run.plan if cell.key.subject in candidates}
