"""Releases with the torch that they pin: what their users get, and what the pinned environment,
which has one torch for all, says otherwise. Pure.

What the pinned environment says is in the table of expected failures, cell by cell, whether or not
the run asked it too.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.base.words import listed, most_first, plural
from harness.catalogue.releases import ordered_subjects
from harness.gate.attribution import Attributed
from harness.gate.pairs import calls_and_splits, of_user
from harness.gate.qualify import Severity, severity_by, severity_of
from harness.gate.verdict import ReachOf
from harness.register.facts import UNSUPPORTED, Fact, place_of
from harness.register.table import Table, asked_of
from harness.wire.builders import PINNED
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState, Reach, SubjectKind

_MOST: Final = 3  # defects of one kind of difference
_LANES: Final = (Lane.GRAPH, Lane.PACKAGE)
_HOW: Final = (
    (True, True, "worse than in the pinned environment"),
    (False, True, "better than in the pinned environment"),
    (True, False, "not right with a TensorRT-RTX that the pinned environment does not ask"),
)
_ALWAYS: Final = ("right", "silently wrong")  # told even of none


@dataclass(frozen=True)
class Unlike:
    """A cell that does another harm with the release's own torch, and the defects that do it.

    ``held`` says that the pinned environment was asked with the same builder. Otherwise there is
    nothing that the cell could be unlike: it fails, and segments in its place are right.
    """

    key: CellKey
    worse: bool
    defects: tuple[str, ...]
    held: bool = True


@dataclass(frozen=True)
class OwnTorch:
    """A release in the environment that has the torch which it pins.

    Attributes:
        calls: the user calls that were asked, by what they do to their user, by whichever builder.
        splits: how many cells of the graph lane were asked.
        unlike: the cells of both lanes that the table says other of in the pinned environment,
            or of segments there, where their builder was not asked.
    """

    release: str
    environment: str
    calls: Mapping[Severity, int]
    splits: int
    unlike: tuple[Unlike, ...]

    def of(self, *, worse: bool, held: bool) -> tuple[Unlike, ...]:
        return tuple(each for each in self.unlike if (each.worse, each.held) == (worse, held))


def own_torches(
    records: Iterable[CellRecord],
    subjects: Iterable[SubjectSpec],
    table: Table,
    shown: Iterable[Attributed],
    reach_of: ReachOf,
) -> tuple[OwnTorch, ...]:
    """Each release that was asked with the torch that it pins, the newest first.

    Args:
        shown: the failures of the run, each with its defect.
        reach_of: who makes the split of a cell; splits by hand are left out, as nobody meets them.
    """
    releases = [spec.subject for spec in subjects if spec.kind is SubjectKind.RELEASE]
    causes: dict[CellKey, set[str]] = defaultdict(set)
    for due in shown:
        causes[due.key].add(due.defect)
    asked: dict[tuple[str, str], list[CellRecord]] = defaultdict(list)
    for record in records:
        key = record.key
        made = not record.hypothetical and reach_of(key) is not Reach.HANDMADE
        if made and key.lane in _LANES and key.environment != PINNED:
            asked[key.subject, key.environment].append(record)
    order = [spec.subject for spec in ordered_subjects(subjects)]
    found = sorted(asked, key=lambda which: order.index(which[0]), reverse=True)
    return tuple(
        _own_torch(*which, asked[which], table, causes) for which in found if which[0] in releases
    )


def _own_torch(
    release: str,
    environment: str,
    records: Sequence[CellRecord],
    table: Table,
    causes: Mapping[CellKey, Collection[str]],
) -> OwnTorch:
    ended = [record for record in records if record.state is CellState.ENDED]
    calls: dict[CellKey, Severity] = {}
    for record in ended:
        if record.key.lane is Lane.PACKAGE:
            place, severity = of_user(record.key), severity_of(record)
            calls[place] = max(severity, calls.get(place, severity))
    return OwnTorch(
        release=release,
        environment=environment,
        calls=Counter(calls.values()),
        splits=calls_and_splits(record.key for record in ended)[1],
        unlike=tuple(_unlike(ended, release, table, causes)),
    )


def _unlike(
    records: Iterable[CellRecord],
    release: str,
    table: Table,
    causes: Mapping[CellKey, Collection[str]],
) -> Iterator[Unlike]:
    """The cells that fail here and not there, or the other way about, or do another harm.

    Numbers that are right count as right, however they are packed. What cannot be asked in the
    pinned environment is no difference. With a builder that was not asked there, such as another
    version of TensorRT-RTX, a cell is compared with one of segments, and told only if it fails.
    """
    for record in records:
        place = dataclasses.replace(place_of(record.key), environment=PINNED)
        subject = table.stands_for(release)
        if any(entry.fact.oracle == UNSUPPORTED for entry in table.ends(place, subject)):
            continue
        expected = table.expected(place, subject).values()
        before, after = _expected_severity(entry.fact for entry in expected), severity_of(record)
        if before == after or max(before, after) < Severity.ERROR:
            continue
        worse = after > before
        held = subject in table.asked.get(asked_of(place), ())
        if not held and not worse:
            continue
        here, there = set(causes.get(record.key, ())), {entry.defect for entry in expected}
        named = here - there if worse else there - here
        yield Unlike(record.key, worse, tuple(sorted(named or (here if worse else there))), held)


def _expected_severity(facts: Iterable[Fact]) -> Severity:
    """As `severity_of` an ended cell: what stopped the program, or else what harms most."""
    told = [fact for fact in facts if fact.oracle != UNSUPPORTED]
    stopped = [fact for fact in told if fact.oracle == Oracle.COMPLETION]
    harms = (
        Harm(fact.harm) if fact.harm else Oracle(fact.oracle).row.usual_harm
        for fact in stopped or told
    )
    return max(map(severity_by, harms), default=Severity.NONE)


def own_torch_lines(
    found: Sequence[OwnTorch], titles: Mapping[str, str]
) -> list[tuple[str, str, tuple[str, ...]]]:
    """A line a release: what it is, what its users get, and what is unlike the pinned environment.

    Args:
        titles: of defects, by their ids.
    """
    return [
        (
            f"{each.release} with {each.environment.replace('-', ' ')}",
            _calls(each),
            _kinds(each, titles),
        )
        for each in found
    ]


def _calls(each: OwnTorch) -> str:
    """``38 user calls: 22 right, 14 raise, 2 silently wrong``."""
    asked = sum(each.calls.values())
    if not asked:
        return plural(each.splits, "split")
    right = sum(count for severity, count in each.calls.items() if severity < Severity.ERROR)
    counts = {
        "right": right,
        "raise": each.calls.get(Severity.ERROR, 0),
        "announced as wrong": each.calls.get(Severity.WARNED, 0),
        "silently wrong": each.calls.get(Severity.SILENT, 0),
    }
    told = [f"{count} {what}" for what, count in counts.items() if count or what in _ALWAYS]
    return f"{plural(asked, 'user call')}: {', '.join(told)}"


def _kinds(each: OwnTorch, titles: Mapping[str, str]) -> tuple[str, ...]:
    """How it differs from the pinned environment: the counts, and the defects by their titles."""
    lines = []
    if not any(unlike.held for unlike in each.unlike):
        lines.append("as in the pinned environment, cell by cell")
    for worse, held, how in _HOW:
        cells = each.of(worse=worse, held=held)
        calls, splits = calls_and_splits(one.key for one in cells)
        if not cells:
            continue
        names = Counter(name for unlike in cells for name in unlike.defects)
        told = [titles.get(name, "no known defect") for name in most_first(names)]
        counts = " and ".join(
            plural(count, what)
            for count, what in ((calls, "user call"), (splits, "split"))
            if count
        )
        lines.append(f"{counts} {how}: {listed(told, _MOST, '; ')}")
    return tuple(lines)
