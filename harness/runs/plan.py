"""Which cells a run asks for, decided before the first one starts.

A plan is a tuple of cells in a fixed order. All cells of a case stand side by side, so that a
worker can take a whole case and capture and split it once. Cells that need no execution are planned
too: a cell whose inliner is the same code as another's gets a copy of its record, and a cell of a
subject that is not available ends as unsupported. So a cell without a record is always a fault of
the harness.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.program import PROGRAM
from harness.catalogue.releases import PACKAGE_LANE_SINCE
from harness.wire.builders import PINNED, SEGMENT, Environment
from harness.wire.record_json import (
    SCHEMA,
    UnknownSchema,
    check_schema,
    key_from_json,
    key_to_json,
)
from harness.wire.records import CaseInfo, CellKey, CellRecord, PackageSpec, SubjectSpec
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState

#: How a run can ask for its cases to be captured.
CAPTURES: Final = ("nonstrict", "strict", "functional", "decomposed")


@dataclass(frozen=True)
class PlannedCell:
    """One cell to end: executed, copied from ``measured_as``, or unsupported for a reason."""

    key: CellKey
    hypothetical: bool
    measured_as: str
    unsupported: str = ""

    @property
    def executed(self) -> bool:
        """Whether a worker runs it; otherwise its record follows from others (see `derived`)."""
        return not self.unsupported and self.measured_as == self.key.subject


def judged_cells(cases: Sequence[CaseInfo], subjects: Sequence[SubjectSpec]) -> tuple[CellKey, ...]:
    """Every cell of the pinned environment that any run can judge."""
    first = _first_of_each_inliner(subjects)
    return tuple(
        cell.key
        for case in cases
        for cell in _cells(case, subjects, CAPTURES, first, PINNED)
        if not cell.hypothetical
    )


def make_plan(
    cases: Sequence[CaseInfo],
    subjects: Sequence[SubjectSpec],
    captures: Sequence[str],
    routes: Collection[str] | None = None,
    environment: Environment = PINNED,
) -> tuple[PlannedCell, ...]:
    """Every case, in every capture mode, through every subject and each route that it has.

    A case with a capture mode of its own is tried in that mode alone. The routes to another
    platform, which repeat most of another's work, take only the cases that ask for it, and a
    dynamic route takes only cases with dynamic dimensions. In the package lane a case goes through
    all packages of a subject. It is captured there as a user captures it, in its own mode or in the
    first one, whatever the run asks for.

    The order is case, capture, subject, route, each as given. ``routes`` limits the routes, and
    None asks for all that a subject has. `compile` is always asked, because the other ways to save
    depend on it. All cells run in ``environment``.
    """
    _refuse_unknown_routes(routes)
    first = _first_of_each_inliner(subjects)
    plan = tuple(
        cell
        for case in cases
        for cell in _cells(case, subjects, captures, first, environment)
        if routes is None or cell.key.route in routes or cell.key.route == Route.COMPILE
    )
    if not plan:
        # An empty plan would end, have no failure, and be reported as a success.
        raise UsageError(
            f"nothing to run: {len(cases)} cases, {len(subjects)} subjects, "
            f"{len(captures)} capture modes and routes {sorted(routes) if routes else 'all'} "
            f"leave no cell; see `{PROGRAM} list` and `{PROGRAM} releases`; "
            f"whole packages can be run from {PACKAGE_LANE_SINCE} on"
        )
    _refuse_twins(plan)
    return plan


def shard(plan: Sequence[PlannedCell], i: int, n: int) -> tuple[PlannedCell, ...]:
    """Part ``i`` (from 1) of ``n``: whole cases, dealt out in turn.

    The parts of a plan are disjoint and together are the plan; a cell and what it is measured as
    are in one part, as both have the same case.
    """
    if not 1 <= i <= n:
        raise UsageError(f"shard {i}/{n}: give I/N with 1 <= I <= N")
    names = list(dict.fromkeys(cell.key.case for cell in plan))
    mine = set(names[i - 1 :: n])
    if not mine:
        raise UsageError(f"shard {i}/{n} is empty: there are {len(names)} cases; use a smaller N")
    return tuple(cell for cell in plan if cell.key.case in mine)


def derived(
    plan: Iterable[PlannedCell], records: Mapping[str, CellRecord]
) -> tuple[CellRecord, ...]:
    """The records that are still missing and follow without running anything.

    These are copies for cells whose ``measured_as`` cell has ended, and unsupported cells. A run
    asks for them at its start, as a kill may have come between a record and its copies, and at its
    end.

    Args:
        records: the ended cells by ``cell_id``.
    """
    missing = []
    for cell in plan:
        if cell.executed or cell.key.cell_id in records:
            continue
        if cell.unsupported:
            missing.append(unsupported_record(cell))
            continue
        original = records.get(dataclasses.replace(cell.key, subject=cell.measured_as).cell_id)
        if original is not None:
            missing.append(copied_record(original, cell))
    return tuple(missing)


def copied_record(original: CellRecord, cell: PlannedCell) -> CellRecord:
    """``original`` as the record of ``cell``, whose inliner is the same code."""
    return dataclasses.replace(
        original, key=cell.key, hypothetical=cell.hypothetical, measured_as=cell.measured_as
    )


def unsupported_record(cell: PlannedCell) -> CellRecord:
    """The record of a cell that could not be asked."""
    return CellRecord(
        key=cell.key,
        state=CellState.UNSUPPORTED,
        reason=cell.unsupported,
        hypothetical=cell.hypothetical,
        measured_as=cell.measured_as,
    )


def plan_to_jsonl(plan: Iterable[PlannedCell]) -> str:
    """One line a cell, in the plan's order."""
    return "".join(
        _to_text(
            {
                "schema": SCHEMA,
                "key": key_to_json(cell.key),
                "hypothetical": cell.hypothetical,
                "measured_as": cell.measured_as,
                "unsupported": cell.unsupported,
            }
        )
        + "\n"
        for cell in plan
    )


_to_text = json.JSONEncoder(sort_keys=True).encode


def plan_from_jsonl(text: str, where: str) -> tuple[PlannedCell, ...]:
    """The inverse of `plan_to_jsonl`; ``where`` names the file in messages."""
    return tuple(
        _cell_from_line(line, f"{where}:{number}")
        for number, line in enumerate(text.splitlines(), start=1)
    )


def _cell_from_line(line: str, where: str) -> PlannedCell:
    try:
        data = json.loads(line)
        check_schema(data, where)
        fields: dict[str, Any] = {name: data[name] for name in data if name != "schema"}
        key = key_from_json(fields.pop("key"))
        return PlannedCell(key=key, **fields)
    except UnknownSchema as error:
        raise UsageError(str(error)) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{where}: not a line of a plan (foreign or damaged): {error}; start a new run"
        ) from error


def asked_by(case: CaseInfo, route: Route) -> bool:
    """Whether a run that has a case and a route brings the two together."""
    crossed = case.cross or not route.row.crosses
    return route.lane in case.lanes and case.fits(route) and crossed


def _cells(
    case: CaseInfo,
    subjects: Sequence[SubjectSpec],
    captures: Sequence[str],
    first: Mapping[tuple[str, Route], str],
    environment: Environment,
) -> Iterator[PlannedCell]:
    if Lane.GRAPH in case.lanes:
        for capture in (case.capture,) if case.capture else captures:
            for subject in subjects:
                for route in subject.routes:
                    if asked_by(case, route):
                        yield _planned(case, capture, subject, route, first, environment)
    if Lane.PACKAGE in case.lanes:
        for subject in subjects:
            for package in subject.packages:
                if package.builder == SEGMENT or case.real_engines:
                    yield from _of_package(case, subject, package, environment)


def _of_package(
    case: CaseInfo, subject: SubjectSpec, package: PackageSpec, environment: Environment
) -> Iterator[PlannedCell]:
    for route in package.routes:
        if not asked_by(case, route):
            continue
        key = CellKey(
            case.name,
            case.capture or CAPTURES[0],
            subject.subject,
            route,
            lane=package.lane,
            builder=package.builder,
            executor=package.executor,
            environment=environment,
        )
        # No two packages are the same, whatever inliner they share: each is measured as itself.
        yield PlannedCell(
            key, hypothetical=False, measured_as=subject.subject, unsupported=package.unavailable
        )


def _planned(
    case: CaseInfo,
    capture: str,
    subject: SubjectSpec,
    route: Route,
    first: Mapping[tuple[str, Route], str],
    environment: Environment,
) -> PlannedCell:
    measured_as = subject.subject
    if subject.inliner_id and not subject.unavailable:
        measured_as = first[subject.inliner_id, route]
    return PlannedCell(
        key=CellKey(case.name, capture, subject.subject, route, environment=environment),
        hypothetical=route in subject.hypothetical_routes,
        measured_as=measured_as,
        unsupported=subject.unavailable,
    )


def _first_of_each_inliner(subjects: Sequence[SubjectSpec]) -> dict[tuple[str, Route], str]:
    # Keyed by route as well: of two subjects with one inliner, the first may lack a route.
    first: dict[tuple[str, Route], str] = {}
    for subject in subjects:
        if subject.inliner_id and not subject.unavailable:
            for route in subject.routes:
                first.setdefault((subject.inliner_id, route), subject.subject)
    return first


def _refuse_unknown_routes(routes: Collection[str] | None) -> None:
    unknown = sorted(set(routes or ()) - set(Route))
    if unknown:
        raise UsageError(
            f"unknown route {', '.join(unknown)}; there are {', '.join(sorted(Route))}"
        )


def _refuse_twins(plan: Sequence[PlannedCell]) -> None:
    # By id, not by key: ids replace "/" and ":", so two keys could fall on one file name.
    seen: dict[str, CellKey] = {}
    for cell in plan:
        other = seen.setdefault(cell.key.cell_id, cell.key)
        if other is not cell.key:
            raise UsageError(f"one cell is asked for twice: {cell.key} and {other}")
