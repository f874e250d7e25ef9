"""What each release gets wrong on the routes that its users reach: one short table.

It is written into every run's folder as ``standing.md``; the README holds that of the newest
published run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from harness.rig.records import CellRecord, SubjectKind, SubjectSpec
from harness.verdict import Remaining, remaining

HEAD = (
    "| release | routes of its users | right | silently wrong | error | lesser |",
    "|---|---|---|---|---|---|",
)
NOTE = (
    "Cells: a case by a route. Silently wrong: it runs, and computes something else. Lesser: the "
    "numbers are right, and structure, signature, state or metadata is not."
)


def standing(records: Iterable[CellRecord], subjects: Sequence[SubjectSpec]) -> str:
    """The table as Markdown; releases in the order given, neighbours alike in one row."""
    by_subject: dict[str, list[CellRecord]] = {}
    for record in records:
        by_subject.setdefault(record.key.subject, []).append(record)
    rows = [
        (spec.subject, _row(by_subject.get(spec.subject, []), spec))
        for spec in subjects
        if spec.kind is SubjectKind.RELEASE
    ]
    lines = [
        f"| {_span([name for name, _ in group])} {row}"
        for row, group in (
            (row, list(found)) for row, found in itertools.groupby(rows, key=lambda pair: pair[1])
        )
    ]
    return "\n".join((*HEAD, *lines, "", NOTE)) + "\n"


def _row(records: Sequence[CellRecord], spec: SubjectSpec) -> str:
    left = remaining(records, [spec])
    routes = [route for route in spec.routes if route not in spec.hypothetical_routes]
    if left is None:
        return f"| {' and '.join(routes)} | not asked | | | |"
    return f"| {' and '.join(routes)} | {_counts(left)} |"


def _counts(left: Remaining) -> str:
    right = left.asked - left.failing
    return f"{right} of {left.asked} | {left.silent} | {left.loud} | {left.lesser}"


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def block(text: str, name: str) -> str:
    """What stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Raises:
        ValueError: there is no such block.
    """
    _, begun, rest = text.partition(f"<!-- {name} -->\n")
    inside, ended, _ = rest.partition(f"<!-- /{name} -->")
    if not (begun and ended):
        raise ValueError(f"no block {name}")
    return inside
