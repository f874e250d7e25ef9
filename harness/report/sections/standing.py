"""What each release gets wrong on the routes that its users reach: one short table.

It is written into every run's folder as ``standing.md``; `docs/standing.md` holds that of the
newest published run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from harness.base.words import span
from harness.gate.verdict import HARMS, ReachOf, Remaining, remaining
from harness.report import text
from harness.report.sections.package_lane import CALLS, called
from harness.wire.builders import SEGMENT
from harness.wire.records import CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import Reach, SubjectKind

Name = TypeVar("Name")
_COUNTS: Final = "right | silently wrong | announced | error | interface |"
HEADS: Final[Mapping[Lane, tuple[str, str]]] = {
    Lane.GRAPH: (
        f"| release | routes of its users | splits | {_COUNTS}",
        "|---|---|---|---|---|---|---|---|",
    ),
    Lane.PACKAGE: (f"| package | what its users call | {_COUNTS}", "|---|---|---|---|---|---|---|"),
    Lane.ENGINE: (f"| on a GPU | what its users call | {_COUNTS}", "|---|---|---|---|---|---|---|"),
}
NOTE = (
    "Cells: a case by a route. Silently wrong: it runs without a warning and computes something "
    "else; announced: the same, with a warning. Interface: the numbers are right, and how they are "
    "packed, what may be given, or what of it can be trained or saved again is not."
)


def standing(
    records: Iterable[CellRecord], subjects: Sequence[SubjectSpec], reach_of: ReachOf
) -> str:
    """The tables as Markdown, one a lane of the run; neighbours that are alike share a row."""
    by_lane: dict[str, list[CellRecord]] = {}
    for record in records:
        by_lane.setdefault(record.key.lane, []).append(record)
    tables = []
    if Lane.GRAPH in by_lane:
        rows = [row for reach in Reach for row in _inliners(by_lane, subjects, reach_of, reach)]
        tables.append("\n".join((*HEADS[Lane.GRAPH], *rows)))
    for lane in (Lane.PACKAGE, Lane.ENGINE):
        if lane in by_lane:
            whole = _together(_package_rows(by_lane[lane], subjects, reach_of))
            tables.append("\n".join((*HEADS[lane], *whole)))
    return "\n\n".join((*tables, NOTE)) + "\n"


def _inliners(
    by_lane: Mapping[str, Sequence[CellRecord]],
    subjects: Sequence[SubjectSpec],
    reach_of: ReachOf,
    reach: Reach,
) -> list[str]:
    """The rows of the splits of one reach; none if no cell has it."""
    here = [record for record in by_lane[Lane.GRAPH] if reach_of(record.key) is reach]
    return list(_together(_inliner_rows(here, subjects, reach_of, reach))) if here else []


def _inliner_rows(
    records: Sequence[CellRecord],
    subjects: Sequence[SubjectSpec],
    reach_of: ReachOf,
    reach: Reach,
) -> Iterator[tuple[str, str]]:
    """One row for each release, all of its routes together."""
    of = _by(records, lambda key: key.subject)
    for spec in subjects:
        if spec.kind is SubjectKind.RELEASE:
            routes = [route for route in spec.routes if route not in spec.hypothetical_routes]
            left = remaining(of.get(spec.subject, ()), [spec], reach_of)
            yield spec.subject, _row(f"{text.joined(routes)} | {reach}", left)


def _package_rows(
    records: Sequence[CellRecord], subjects: Sequence[SubjectSpec], reach_of: ReachOf
) -> Iterator[tuple[str, str]]:
    """The releases call by call, since a user makes one call."""
    of = _by(records, lambda key: (key.subject, key.route))
    for route in CALLS:
        for spec in subjects:
            here = of.get((spec.subject, route), [])
            builders = {record.key.builder for record in here}
            for builder in sorted(builders, key=lambda name: (name != SEGMENT, name)):
                mine = [record for record in here if record.key.builder == builder]
                left = remaining(mine, [spec], reach_of, mine[0].key.lane)
                yield called(spec.subject, builder), _row(f"`{CALLS[route]}`", left)


def _by(
    records: Iterable[CellRecord], name: Callable[[CellKey], Name]
) -> dict[Name, list[CellRecord]]:
    """The records grouped by a part of their key, in their order."""
    found: dict[Name, list[CellRecord]] = {}
    for record in records:
        found.setdefault(name(record.key), []).append(record)
    return found


def _together(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for row, group in itertools.groupby(rows, key=lambda pair: pair[1]):
        yield f"| {span([name for name, _ in group])} {row}"


def _row(what: str, left: Sequence[Remaining]) -> str:
    return f"| {what} | {'not asked | | | |' if not left else _counts(left[0])} |"


def _counts(left: Remaining) -> str:
    harms = " | ".join(str(left.harms.get(harm, 0)) for harm in HARMS)
    return f"{left.right} of {left.asked} | {harms}"
